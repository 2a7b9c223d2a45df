"""Derivatives where what decides on the side of a kink contains another one, and jumps as that one switches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from runtime_models import needs_core

import chaplygin as cg

pytestmark = needs_core

T = cg.time
x, y = cg.coordinates("x y")
v, w = cg.rate(x), cg.rate(y)
k, c = cg.parameters("k c", positive=True)
HALF = sp.Rational(1, 2)
PULSE = sp.sign(sp.sin(T + c))
EXACT: dict[str, Any] = {"method": "vern9", "rtol": 1e-13, "atol": 1e-13}
NUMBERS = {"k": 0.7, "c": 0.5, "x": 0.2, "x_dot": 0.9}

FORCES = {
    "a sign of a sign": k * sp.sign(PULSE + x / 10),
    "one that follows another": k * sp.sign(PULSE - HALF),
    "a part of a pulse": 0.3 - k * sp.Max(PULSE * v, 0),
    "three deep": k * sp.sign(2 * sp.sign(sp.sign(x - c) + HALF) + v),
    "a size": k * sp.Abs(PULSE - x),
    "one that another keeps at zero": k * sp.sign((x - c) * sp.Heaviside(sp.sin(2 * T + c))),
    "a condition": sp.Piecewise((k, sp.Abs(sp.sign(x - c) + x / 3) < 1), (c, True)),
}


def differences(
    model: Any, numbers: dict[str, float], by: str, quantity: str = "x", t1: float = 7.0
) -> list[float]:
    """Those on the left and on the right, of the fourth order."""

    def final(step: float) -> float:
        moved = {**numbers, by: numbers[by] + step}
        sol = model.integrate(
            (0, t1), {s: moved[s] for s in model.states}, {p: moved[p] for p in model.parameters}, **EXACT
        )
        assert sol.status >= 0, sol.message
        return float(sol[quantity][-1])

    weights = [-25, 48, -36, 16, -3]
    return [float(np.dot(weights, [final(i * h) for i in range(5)])) / (12 * h) for h in (-1e-4, 1e-4)]


def check(
    model: Any, numbers: dict[str, float], by: str, expected: float, quantity: str = "x", t1: float = 7.0
) -> None:
    start = {s: numbers[s] for s in model.states}, {p: numbers[p] for p in model.parameters}
    tight = {"rtol": 1e-11, "atol": 1e-11}
    sol = model.integrate((0, t1), *start, sensitivities=[by], **tight)
    assert sol.status >= 0, (by, sol.message)
    assert sol.sensitivity[quantity, by][-1] == pytest.approx(expected, abs=1e-6), by
    ens = cg.ensemble(model, (0, t1), *start, n=2, sensitivities=[by], **tight)
    assert ens.sensitivity[quantity, by][1] == sol.sensitivity[quantity, by][-1]
    found = model.gradient(cg.final(quantity), (0, t1), *start, by=[by], **tight)
    assert found[by] == pytest.approx(expected, abs=1e-6), by


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", list(FORCES))
def test_a_kink_inside_a_kink(name: str) -> None:
    system = cg.System(
        "nested",
        coordinates=[x],
        kinetic=v**2 / 2,
        potential=x**2 / 2,
        forces={v: FORCES[name]},
        example={k: 0.7, c: 0.5},
    )
    model = system.compile()
    for by in NUMBERS:
        left, right = differences(model, NUMBERS, by)
        assert left == pytest.approx(right, abs=1e-5)
        check(model, NUMBERS, by, left)


@pytest.mark.parametrize("force", [FORCES["one that follows another"], k * PULSE], ids=["nested", "alone"])
def test_a_push_that_turns_around(force: Any) -> None:
    """x'' is k, then -k from t* = pi - c on: dx/dc = -2 k (t - t*). Tight steps end at t* with hardly any length."""
    model = cg.System("pushed", coordinates=[x], kinetic=v**2 / 2, forces={v: force}).compile()
    start = (0, 4), {"x": 0, "x_dot": 0}, {"k": 0.7, "c": 0.5}
    sol = model.integrate(*start, sensitivities=["c", "k"], **EXACT)
    switched = np.pi - 0.5
    rest = 4 - switched
    expected = [-1.4 * rest, switched**2 / 2 + switched * rest - rest**2 / 2]
    assert sol.sensitivity.y[0, :, -1] == pytest.approx(expected, abs=1e-9)
    found = model.gradient(cg.final("x"), *start, by=["c", "k"], **EXACT)
    assert [found["c"], found["k"]] == pytest.approx(expected, abs=1e-9)

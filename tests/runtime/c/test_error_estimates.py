"""The error estimate of vern9 where forces change within a small part of a step, against SciPy at a tight tolerance."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import chaplygin as cg
from chaplygin.codegen.methods import PAIRS

VERN9 = PAIRS["vern9"]
BEFORE_END = {s: c for s, c in enumerate(VERN9.c) if s == 0 or (s >= 7 and c < 1.0)}
BLIND = dataclasses.replace(
    VERN9,
    name="blind",
    error={
        7: [
            7.5e-6 / math.prod(c - other for other in BEFORE_END.values() if other != c)
            if s in BEFORE_END
            else 0.0
            for s, c in enumerate(VERN9.c)
        ]
    },
)
"""vern9 with a divided difference over the nodes before the end of a step, at equal error as efficient."""
STARTS = np.linspace(0.8, 1.2, 12)
NUMBERS = {"friction": 0.3, "width": 1e-3, "force": 1.0, "jump": 0.01}
T_END = 12.0


@pytest.fixture(scope="module")
def rough() -> Any:
    """x'' = F(t) - x - friction tanh(x'/width), with F(t) = force cos(t/2) + 1 / (1 + exp(-(sin t - 0.3)/jump))."""
    x = cg.coordinates("x")
    friction, width, force, jump = parameters = cg.parameters("friction width force jump", positive=True)
    v, t = cg.rate(x), cg.time
    push = force * sp.cos(t / 2) + 1 / (1 + sp.exp(-(sp.sin(t) - sp.Rational(3, 10)) / jump))
    system = cg.System(
        "rough",
        coordinates=[x],
        kinetic=v**2 / 2,
        potential=x**2 / 2,
        forces={v: push - friction * sp.tanh(v / width)},
        example=dict(zip(parameters, NUMBERS.values(), strict=True)) | {x: 1, v: 0},
    )
    return system.compile("lagrange", methods=[BLIND])


@pytest.fixture(scope="module")
def expected() -> NDArray[np.float64]:
    """The end states of all starts, integrated as one system."""
    friction, width, force, jump = NUMBERS.values()

    def field(t: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        x, v = y.reshape(2, -1)
        push = force * np.cos(t / 2) + 1 / (1 + np.exp(-(np.sin(t) - 0.3) / jump))
        return np.concatenate([v, push - x - friction * np.tanh(v / width)])

    start = np.concatenate([STARTS, np.zeros_like(STARTS)])
    found = solve_ivp(field, (0, T_END), start, method="DOP853", rtol=3e-13, atol=1e-14)
    return np.asarray(found.y[:, -1]).reshape(2, -1)


def worst(model: Any, expected: NDArray[np.float64], method: str, tolerance: float) -> float:
    """The largest error of all starts, in units of the tolerance."""
    ends = cg.ensemble(
        model,
        (0, T_END),
        {"x": STARTS, "x_dot": 0.0},
        NUMBERS,
        method=method,
        rtol=tolerance,
        atol=tolerance,
    ).y
    return float(np.abs(ends - expected).max() / tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-5, 1e-7, 1e-9])
def test_steep_forces_are_seen(rough: Any, expected: Any, tolerance: float) -> None:
    assert worst(rough, expected, "vern9", tolerance) < 200


def test_an_estimate_that_is_blind_to_the_end_of_a_step_misses_them(rough: Any, expected: Any) -> None:
    assert worst(rough, expected, "blind", 1e-9) > 1e5

"""Quantities that rest on a kink and are released where their push passes zero: saturations, end stops.

Between the zeros of the push a sin(w t)^n the rate v is what it was, plus an integral in closed form, at most lim.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any, NamedTuple

import pytest
import sympy as sp
from slopes import check_slopes

import chaplygin as cg

x = cg.coordinates("x")
v = cg.rate(x)
lim, a, w = cg.parameters("lim a w", positive=True)
METHODS = ("dop853", "tsit5", "vern7", "vern9")
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
SINE = sp.sin(w * cg.time)
FORCES = {  # by the push
    "saturation": lambda push: sp.Piecewise((0, (v >= lim) & (SINE > 0)), (push, True)),
    "two stops": lambda push: sp.Piecewise(
        (0, (v >= lim) & (SINE > 0)), (0, (v <= -lim) & (SINE < 0)), (push, True)
    ),
    "branches": lambda push: sp.Piecewise(
        (sp.Min(push, 0), v >= lim), (sp.Max(push, 0), v <= -lim), (push, True)
    ),
}


@cache
def model(kind: str, power: int) -> Any:
    force = FORCES[kind](a * SINE**power)
    return cg.System("released", coordinates=[x], kinetic=v**2 / 2, forces={v: force}).compile("lagrange")


class Run(NamedTuple):
    """The end of a run from rest: v, its derivatives by lim and a, and by how much it is closest to missing a stop."""

    v: float
    by_lim: float
    by_a: float
    near: float


def integral(power: int, t: float) -> float:
    """Of sin(t)^power."""
    c = math.cos(t)
    return {1: -c, 3: -c + c**3 / 3, 5: -c + 2 * c**3 / 3 - c**5 / 5}[power]


def exact(kind: str, power: int, stop: float, size: float, rate: float, end: float) -> Run:
    value = by_lim = by_a = t = 0.0
    near, half = math.inf, 0
    while t < end:
        after, side = min((half + 1) * math.pi / rate, end), (-1) ** half
        part = (integral(power, rate * after) - integral(power, rate * t)) / rate
        value, by_a = value + size * part, by_a + part
        if side > 0 or kind != "saturation":
            near = min(near, abs(value - side * stop))
            if side * value > stop:
                value, by_lim, by_a = side * stop, side, 0.0
        t, half = after, half + 1
    return Run(value, by_lim, by_a, near)


def drawn(kind: str, seed: int) -> tuple[int, tuple[float, ...], Run]:
    """The power, lim, a, w and the end of a run that stops and is released, and touches no stop."""
    draw = random.Random(f"{kind} {seed}")
    while True:
        power = 1 if kind == "branches" else draw.choice([1, 1, 3, 5])
        numbers = draw.uniform(0.2, 0.8), draw.uniform(0.6, 1.6), draw.uniform(0.7, 2), draw.uniform(4, 9)
        found = exact(kind, power, *numbers)
        if found.by_lim != 0 and found.near > 0.02:
            return power, numbers, found


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("method", METHODS)
def test_a_saturation_is_released_where_the_push_is(method: str, tolerance: float) -> None:
    how: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": tolerance, "max_steps": 2000}
    given = (0, 3.2), {"x": 0, "x_dot": 0}, {"lim": 0.5, "a": 1, "w": 1}
    plain = model("saturation", 1).integrate(*given, **how)
    sol = model("saturation", 1).integrate(*given, kinks=True, **how)
    assert (plain.status, sol.status) == (0, 0), sol.message
    assert len(sol.t) <= 2 * len(plain.t)
    assert sol["x_dot"][-1] == pytest.approx(0.5 - 1 - math.cos(3.2), abs=100 * tolerance)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tolerance", [1e-8, 1e-11])
def test_derivatives_of_a_saturation(method: str, tolerance: float) -> None:
    how: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": tolerance, "max_steps": 2000}
    given = (0, 8), {"x": 0, "x_dot": 0}, {"lim": 0.5, "a": 1, "w": 1}
    expected = {"lim": 1, "a": -1 - math.cos(8)}  # -0.8544999662
    check_slopes(model("saturation", 1), "x_dot", expected, *given, **how, abs=1e-7)


@pytest.mark.parametrize("kind", list(FORCES))
@pytest.mark.sample(1)
def test_random_stops(kind: str) -> None:
    """Runs with kinks take at most twice the steps of those without, and give derivatives."""
    for seed in range(67):
        draw, (power, numbers, ends) = random.Random(seed), drawn(kind, seed)
        tolerance = 10.0 ** -draw.randint(5, 12)
        how: dict[str, Any] = {"method": draw.choice(METHODS), "max_steps": 5000}
        given = (0, numbers[3]), {"x": 0, "x_dot": 0}, dict(zip(("lim", "a", "w"), numbers, strict=False))
        plain, sol = (
            model(kind, power).integrate(*given, kinks=kinks, rtol=tolerance, atol=tolerance, **how)
            for kinks in (False, True)
        )
        assert (plain.status, sol.status) == (0, 0), (seed, sol.message)
        assert len(sol.t) <= 2 * len(plain.t), seed
        assert sol["x_dot"][-1] == pytest.approx(ends.v, abs=100 * tolerance), seed
        fine = min(tolerance, 1e-9)
        sol = model(kind, power).integrate(*given, sensitivities=["lim", "a"], rtol=fine, atol=fine, **how)
        assert sol.status == 0, (seed, sol.message)
        assert sol.sensitivity.y[1, :, -1] == pytest.approx([ends.by_lim, ends.by_a], abs=1e-7), seed

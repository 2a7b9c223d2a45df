"""Derivatives where a kink is at its zero without crossing it: it touches it where an event occurs, or rests there."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
import pytest
import sympy as sp
from slopes import check_slopes

import chaplygin as cg

x, y, q = cg.coordinates("x y q")
v, w, u = cg.rate(x), cg.rate(y), cg.rate(q)
k, c, e = cg.parameters("k c e", positive=True)
END, HALF = 5, sp.Rational(1, 2)


@cache
def model() -> Any:
    """A bead on a circle with drag, and a mass that its passage through x = 0 throws back. y < 1 except at the top."""
    system = cg.System(
        "thrown",
        coordinates=[x, y, q],
        kinetic=(v**2 + w**2 + u**2) / 2,
        holonomic=[(x**2 + y**2 - 1) / 2],
        forces={v: -c * v, w: -c * w, u: sp.Piecewise((k, y < 1), (-k, True))},
        events=[cg.Event(x, reset={u: -e * u}, name="passage")],
        example={x: 0.6, y: 0.8},
    )
    return system.compile("multipliers")


def thrown(angle: float, speed: float, k: Any, c: Any, e: Any) -> Any:
    """q at the end: x is zero where angle - speed (1 - exp(-c t)) / c, the angle from the top, is a multiple of pi."""
    t, place, rate = mpmath.mpf(0), mpmath.mpf("0.1"), mpmath.mpf("0.2")
    way = mpmath.mpf(angle)
    while True:
        left = 1 - c * way / speed
        met = -mpmath.log(left) / c if left > 0 else mpmath.inf
        step = min(met, END) - t
        place, rate = place + rate * step + k * step**2 / 2, rate + k * step
        if met > END:
            return place
        t, way, rate = met, way + mpmath.pi, -e * rate


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", ["tsit5", "vern9", "dop853"])
@pytest.mark.parametrize("i", range(8))
def test_an_event_at_the_top_of_a_circle(i: int, method: str) -> None:
    angle, speed = 0.6 + 0.08 * i + 0.01 * i**2, 1 + 0.3 * i
    start = {
        "x": -float(mpmath.sin(angle)), "y": float(mpmath.cos(angle)), "q": 0.1,
        "x_dot": speed * float(mpmath.cos(angle)), "y_dot": speed * float(mpmath.sin(angle)), "q_dot": 0.2,
    }  # fmt: skip
    numbers = {"k": 0.7, "c": 0.1, "e": 0.3}
    given: tuple[Any, ...] = (0, END), start, numbers
    options: dict[str, Any] = {"method": method, "rtol": 1e-11, "atol": 1e-11}
    sol = model().integrate(*given, sensitivities=list(numbers), **options)
    assert sol.status == 0, sol.message
    for n, name in enumerate(numbers):
        by = tuple(int(j == n) for j in range(3))
        expected = mpmath.diff(lambda *p: thrown(angle, speed, *p), tuple(numbers.values()), by)
        assert sol.sensitivity["q", name][-1] == pytest.approx(float(expected), abs=2e-6, rel=2e-7), name


def test_a_kink_that_rests_until_a_push() -> None:
    """The foot sticks, y rests, and from e on y'' = c - k sign(3 v + w): dy/de = -(c - k) (t - e)."""
    push = sp.Piecewise((c, cg.time > e), (0, True))
    system = cg.System(
        "resting",
        coordinates=[x, y],
        kinetic=(v**2 + w**2) / 2,
        forces={w: push - k * sp.sign(3 * v + w)},
        contacts=[cg.Coulomb("foot", slip=v, normal=1, mu=HALF)],
    )
    resting = system.compile()
    given: tuple[Any, ...] = (0, 2), dict.fromkeys(resting.states, 0.0), {"k": 0.3, "c": 0.7, "e": 0.5}
    expected = {"k": -(1.5**2) / 2, "c": 1.5**2 / 2, "e": -0.4 * 1.5}
    check_slopes(resting, "y", expected, *given, rtol=1e-11, atol=1e-11, abs=1e-9)


def test_fixed_steps_that_end_at_kinks() -> None:
    """x'' = k sign(t - c) + e min(t - c, 0), from rest to t = 2, for c = 1; steps are exact on both sides."""
    force = k * sp.sign(cg.time - c) + e * sp.Min(cg.time - c, 0)
    model = cg.System("stepped", coordinates=[x], kinetic=v**2 / 2, forces={v: force}).compile()
    given: tuple[Any, ...] = (0, 2), {"x": 0, "x_dot": 0}, {"k": 0.7, "c": 1, "e": 0.5}
    options: dict[str, Any] = {"method": "rk4", "first_step": 0.125}
    expected = [-1.0, -2 * 0.7 - 0.5 * 3 / 2, -5 / 6]
    sol = model.integrate(*given, sensitivities=["k", "c", "e"], **options)
    assert sol.sensitivity.y[0, :, -1] == pytest.approx(expected, abs=1e-10)
    found = model.gradient(cg.final("x"), *given, by=["k", "c", "e"], **options)
    assert [found[name] for name in "kce"] == pytest.approx(expected, abs=1e-6)

"""Derivatives through kinks at which the right-hand side goes on, and its Jacobian jumps, as at the ends of a slack.

Others are at their zero without being crossed: where an event occurs, or at rest.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from slopes import check_slopes
from unit_masses import unit_masses

import chaplygin as cg

END, START, HALF = 7.3, {"x": 0, "x_dot": 1}, 0.5
METHODS = ("dop853", "vern9", "vern7", "tsit5")


@cache
def slack() -> Any:
    x, (k, L) = cg.coordinates("x"), cg.parameters("k L", positive=True)
    potential = k * sp.Max(0, sp.Abs(x) - L) ** 2 / 2
    return unit_masses("slack", [x], potential=potential).compile("lagrange")


@cache
def switched() -> Any:
    x, k = cg.coordinates("x"), cg.parameters("k", positive=True)
    v = cg.rate(x)
    return unit_masses("switched", [x], forces={v: -k * sp.sign(x)}).compile("lagrange")


def place(k: float, L: Any) -> Any:
    """x at the end: freely over the slack, then half a period of the spring, and back."""
    with mpmath.workdps(30):
        w, t, side = mpmath.sqrt(k), mpmath.mpf(END) + L, 1
        while t >= 2 * L + mpmath.pi / w:
            t, side = t - 2 * L - mpmath.pi / w, -side
        return side * (t - L if t < 2 * L else L + mpmath.sin(w * (t - 2 * L)) / w)


def slope(k: float) -> float:
    with mpmath.workdps(15):  # half of what `place` has, for the differences
        return float(mpmath.diff(lambda L: place(k, L), mpmath.mpf(HALF)))


@cache
def pushed() -> Any:
    x, k = cg.coordinates("x"), cg.parameters("k", positive=True)
    v = cg.rate(x)
    return unit_masses("pushed", [x], forces={v: -k}).compile("lagrange")


def near(k: float, rtol: float) -> float:
    """30 times the tolerance, and the error of kinks that are late by 4 spacings of the time.

    At the ends of the slack, at the times t, dx/dL = s is about 2 t in size. So late, s' misses k (s - 1) times that,
    which moves s at the end by END - t times as much, since the slack has no force.
    """
    late = 4 * np.finfo(float).eps
    kinks = np.arange(HALF, END, HALF)
    return float(30 * rtol + np.sum(2 * kinks * k * late * kinks * (END - kinks)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [50, 5e4, 1e6, 1e7])
def test_slack(k: float, method: str) -> None:
    model, numbers = slack(), {"k": k, "L": HALF}
    for rtol in (1e-6, 1e-8, 1e-10, 1e-12, 1e-13):
        how = {"method": method, "rtol": rtol, "atol": rtol, "max_steps": 20000}
        sol = model.integrate((0, END), START, numbers, sensitivities=["L"], **how)
        assert sol.status == 0
        assert abs(sol["x"][-1] - float(place(k, mpmath.mpf(HALF)))) < near(k, rtol)
        assert abs(sol.sensitivity["x", "L"][-1] - slope(k)) < near(k, rtol)
        back = model.gradient(cg.final("x"), (0, END), START, numbers, by=["L"], **how)
        assert abs(back["L"] - slope(k)) < near(k, rtol)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [50, 1e6])
def test_without_control(k: float, method: str) -> None:
    """A stage beyond a kink has the other Jacobian, which the error of the state does not show."""
    for rtol in (1e-6, 1e-10):
        how = {"method": method, "rtol": rtol, "atol": rtol, "sensitivity_control": False}
        sol = slack().integrate((0, END), START, {"k": k, "L": HALF}, sensitivities=["L"], **how)
        assert abs(sol.sensitivity["x", "L"][-1] - slope(k)) < near(k, rtol)


def test_periodic() -> None:
    """The period is 4 L / v + 2 pi / w, and changes with the speed alone: both multipliers are 1."""
    orbit = slack().periodic(
        {"x": 0, "x_dot": 1}, 2.05, {"k": 5e4, "L": HALF}, keep=["x", "x_dot"], rtol=1e-11
    )
    assert abs(orbit.period - (4 * HALF + 2 * np.pi / np.sqrt(5e4))) < 1e-9
    assert np.allclose(orbit.multipliers, 1, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [50, 1e6])
def test_a_force_that_jumps(k: float, method: str) -> None:
    """x = X(t sqrt(k)), so that dx/dk = t v / (2 k); the steps go to the kinks as well without derivatives."""
    for rtol in (1e-8, 1e-12, 1e-13):
        how = {"method": method, "rtol": rtol, "atol": rtol, "kinks": True}
        sol = switched().integrate((0, 0.4), {"x": -1, "x_dot": 0}, {"k": k}, sensitivities=["k"], **how)
        plain = switched().integrate((0, 0.4), {"x": -1, "x_dot": 0}, {"k": k}, **how)
        assert sol.status == plain.status == 0
        expected = 0.4 * sol["x_dot"][-1] / (2 * k)
        assert abs(sol.sensitivity["x", "k"][-1] - expected) < 1e3 * (rtol + 1e-12) * abs(expected) + 1e-13
        between = 2 * np.sqrt(2 / k)
        smooth = pushed().integrate(
            (0, between), {"x": 0, "x_dot": np.sqrt(2 * k)}, {"k": k}, method=method, rtol=rtol, atol=rtol
        )
        assert plain.n_steps <= 2 * smooth.n_steps * (0.4 / between + 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", [1e-6, 1e-10])
def test_a_slide_ends_at_once(rtol: float, method: str) -> None:
    """x = 1 - k t^2 / 2 meets x + c v = 0 at t = sqrt(c^2 + 2 / k) - c, whose other side leads back, since t < c."""
    x, (k, c) = cg.coordinates("x"), cg.parameters("k c", positive=True)
    v = cg.rate(x)
    forces = {v: -k * sp.sign(x + c * v)}
    model = unit_masses("slides", [x], forces=forces).compile("lagrange")
    how: dict[str, Any] = {"method": method, "rtol": rtol, "atol": rtol, "max_steps": 200}
    sol = model.integrate((0, 2), {"x": 1, "x_dot": 0}, {"k": 2, "c": 1}, sensitivities=["k"], **how)
    assert sol.status == -9
    assert sol.t[-1] == pytest.approx(np.sqrt(2) - 1, abs=10 * rtol)


@pytest.mark.parametrize("method", METHODS)
def test_a_terminal_event_where_a_force_jumps(method: str) -> None:
    """A block under dry friction stops at t = v / k, after v^2 / 2 k."""
    x, k = cg.coordinates("x"), cg.parameters("k", positive=True)
    v = cg.rate(x)
    stop = cg.Event(v, terminal=True, name="stop")
    system = unit_masses("stops", [x], forces={v: -k * sp.sign(v)}, events=[stop])
    for rtol in (1e-6, 1e-8, 1e-10):
        sol = system.compile().integrate(
            (0, 9), {"x": 0, "x_dot": 2}, {"k": 0.5}, sensitivities=["k"], method=method, rtol=rtol, atol=rtol
        )
        assert sol.status == 1
        assert sol.t[-1] == pytest.approx(4, abs=rtol)
        assert sol.sensitivity["x", "k"][-1] == pytest.approx(-8, abs=10 * rtol)


@pytest.mark.parametrize("method", METHODS)
def test_ensembles_and_steppers(method: str) -> None:
    model, numbers = slack(), {"k": 1e6, "L": HALF}
    how = {"method": method, "rtol": 1e-10, "atol": 1e-10, "sensitivities": ["L"]}
    expected = model.integrate((0, END), START, numbers, **how).sensitivity["x", "L"][-1]
    many = cg.ensemble(model, (0, END), START, numbers, n=3, t_eval=[END], **how)
    assert (many.sensitivity["x", "L"] == expected).all()
    run = model.stepper(START, numbers, **how)
    run.advance(END)
    assert run.sensitivity["x", "L"] == pytest.approx(slope(1e6), abs=near(1e6, 1e-10))


x, y, q = cg.coordinates("x y q")
v, w, u = cg.rate(x), cg.rate(y), cg.rate(q)
k, c, e = cg.parameters("k c e", positive=True)
LAST, MU = 5, sp.Rational(1, 2)


@cache
def model() -> Any:
    """A bead on a circle with drag, and a mass that its passage through x = 0 throws back. y < 1 except at the top."""
    system = unit_masses(
        "thrown",
        [x, y, q],
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
        step = min(met, LAST) - t
        place, rate = place + rate * step + k * step**2 / 2, rate + k * step
        if met > LAST:
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
    given: tuple[Any, ...] = (0, LAST), start, numbers
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
    system = unit_masses(
        "resting",
        [x, y],
        forces={w: push - k * sp.sign(3 * v + w)},
        contacts=[cg.Coulomb("foot", slip=v, normal=1, mu=MU)],
    )
    resting = system.compile()
    given: tuple[Any, ...] = (0, 2), dict.fromkeys(resting.states, 0.0), {"k": 0.3, "c": 0.7, "e": 0.5}
    expected = {"k": -(1.5**2) / 2, "c": 1.5**2 / 2, "e": -0.4 * 1.5}
    check_slopes(resting, "y", expected, *given, rtol=1e-11, atol=1e-11, abs=1e-9)


def test_fixed_steps_that_end_at_kinks() -> None:
    """x'' = k sign(t - c) + e min(t - c, 0), from rest to t = 2, for c = 1; steps are exact on both sides."""
    force = k * sp.sign(cg.time - c) + e * sp.Min(cg.time - c, 0)
    model = unit_masses("stepped", [x], forces={v: force}).compile()
    given: tuple[Any, ...] = (0, 2), {"x": 0, "x_dot": 0}, {"k": 0.7, "c": 1, "e": 0.5}
    options: dict[str, Any] = {"method": "rk4", "first_step": 0.125}
    expected = [-1.0, -2 * 0.7 - 0.5 * 3 / 2, -5 / 6]
    sol = model.integrate(*given, sensitivities=["k", "c", "e"], **options)
    assert sol.sensitivity.y[0, :, -1] == pytest.approx(expected, abs=1e-10)
    found = model.gradient(cg.final("x"), *given, by=["k", "c", "e"], **options)
    assert [found[name] for name in "kce"] == pytest.approx(expected, abs=1e-6)

"""Starts and resets on kinks where a contact has no slip velocity, and events that meet where a kink is crossed."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from slopes import check_slopes
from unit_masses import unit_masses

import chaplygin as cg

LIMIT = 0.2


@cache
def falling(guard: str) -> Any:
    """A block, m = N = 1, pushed by F sign(y) while y falls from 0 with the acceleration 1."""
    x, y = cg.coordinates("x y")
    force, mu = cg.parameters("F mu")
    v, w = cg.rate(x), cg.rate(y)
    push = {"y": sp.sign(y), "w": sp.sign(w), "branch": sp.Piecewise((0, y >= 0), (-1, True))}[guard]
    return unit_masses(
        f"on_kink_{guard}",
        [x, y],
        potential=y,
        forces={v: force * push},
        contacts=[cg.Coulomb("c", slip=v, normal=1, mu=mu)],
    ).compile()


REST = {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}


@pytest.mark.parametrize("guard", ["y", "w", "branch"])
@pytest.mark.parametrize("method", ["vern9", "dop853", "tsit5", "rk4"])
@pytest.mark.parametrize("force", [1.0, 0.3, 0.19])
def test_a_contact_breaks_at_once_if_the_branch_ahead_breaks_it(
    guard: str, method: str, force: float
) -> None:
    """The force is -F from t = 0 on: the block slides with -(F - mu), x(2) = -2 (F - mu), or sticks for F < mu."""
    how: dict[str, Any] = {"method": method} | ({"step": 1e-2} if method == "rk4" else {})
    run = falling(guard).integrate((0, 2), REST, {"F": force, "mu": LIMIT}, max_steps=5000, **how)
    assert run.status == 0
    assert run["x"][-1] == pytest.approx(-2 * max(force - LIMIT, 0), rel=1e-12)
    assert [mode.contacts["c"] for mode in run.modes] == ["slip-" if force > LIMIT else "stick"]
    assert np.abs(run["friction_c"]).max() <= LIMIT * (1 + 1e-12)


def test_the_same_bits_in_lanes_and_steppers() -> None:
    forces = np.array([1.0, 0.3, 0.19, 0.6, 2.0])
    start = {name: np.zeros(5) for name in REST}
    model = falling("y")
    runs = cg.ensemble(model, (0, 2), start, {"F": forces, "mu": LIMIT}, lanes=4)
    assert (runs.status == 0).all()
    for i, force in enumerate(forces.tolist()):
        one = model.integrate((0, 2), REST, {"F": force, "mu": LIMIT})
        stepper = model.stepper(REST, {"F": force, "mu": LIMIT})
        assert one.y[:, -1].tolist() == runs.y[:, i].tolist() == stepper.advance(2.0).tolist()


@cache
def crossing(inside: bool = False) -> Any:
    """A block, m = N = 1, mu = 0.3, pushed by 0.1, and by 2 F more where y > b; a reset at t = c leads to y = b.

    `inside`: where y > sign(z); the reset, from z = -1 to 1, moves this kink onto the state.
    """
    x, y, z = cg.coordinates("x y z")
    force, b, c = cg.parameters("F b c")
    v, kink = cg.rate(x), sp.sign(z) if inside else b
    return unit_masses(
        "crossing",
        [x, y, z][: 2 + inside],
        forces={v: force * (1 + sp.sign(y - kink)) + sp.Rational(1, 10)},
        contacts=[cg.Coulomb("floor", slip=v, normal=1, mu=sp.Rational(3, 10))],
        events=[cg.Event(cg.time - c, reset={y: 1, z: 1} if inside else {y: b}, name="lift")],
    ).compile()


METHODS = ["dop853", "tsit5", "vern9", "rodas5p", "auto"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinks", [False, True])
@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_a_start_within_rounding_of_a_kink(speed: float, kinks: bool, method: str) -> None:
    """The block slides with 2 F - 0.2 from t = 0 on, or it never does: from one spacing on both sides of b."""
    model = crossing()
    for b in (0.7, 0.0):
        for beside in (-1.0, 1.0):
            start = {"x": 0.0, "x_dot": 0.0, "y": float(np.nextafter(b, beside)), "y_dot": speed}
            run = model.integrate((0, 2), start, {"F": 0.5, "b": b, "c": 9}, method=method, kinks=kinks)
            assert run.status == 0, run.message
            assert run["x"][-1] == pytest.approx(1.6 if speed > 0 else 0.0, abs=1e-9)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_derivatives_from_within_rounding_of_a_kink(speed: float, reset: bool) -> None:
    """x(2) = (F - 0.1) (2 - t)^2, where t = 0 at a start on the kink, or t = c after a reset."""
    model, span = crossing(), 2.0 - 0.5 * reset
    for b in (0.7, 0.0):
        y0 = b - 2 if reset else float(np.nextafter(b, -speed))
        start = {"x": 0, "x_dot": 0, "y": y0, "y_dot": speed}
        given = (0, 2), start, {"F": 0.5, "b": b, "c": 0.5 if reset else 9.0}
        expected = {"F": span**2 * (speed > 0)} | ({"c": -0.8 * span * (speed > 0)} if reset else {})
        sol = check_slopes(model, "x", expected, *given, abs=1e-7)
        assert sol["x"][-1] == pytest.approx(0.4 * span**2 * (speed > 0), abs=1e-7)


@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_derivatives_from_a_reset_onto_a_kink_that_another_inside_of_it_has_moved(speed: float) -> None:
    """x(2) = (F - 0.1) (2 - c)^2 where y rises from y = 1, else 0: 0.1 moves nothing, nor does F + 0.1, on the kink."""
    start = {"x": 0, "y": -3, "z": -1, "x_dot": 0, "y_dot": speed, "z_dot": 0}
    sol = crossing(inside=True).integrate((0, 2), start, {"F": 0.15, "c": 1}, sensitivities=["F", "c"])
    assert sol.status == 0, sol.message
    assert sol["x"][-1] == pytest.approx(0.05 * (speed > 0), abs=1e-7)
    assert sol.sensitivity["x", "F"][-1] == pytest.approx(float(speed > 0), abs=1e-7)
    assert sol.sensitivity["x", "c"][-1] == pytest.approx(-0.1 * (speed > 0), abs=1e-7)


def test_a_reset_onto_a_kink_has_the_same_bits_in_lanes_and_steppers() -> None:
    speeds = np.array([1.0, -1.0, 1.0, -1.0, 0.5])
    model, numbers = crossing(), {"F": 0.5, "b": 0.7, "c": 0.5}
    runs = cg.ensemble(model, (0, 2), {"x": 0, "x_dot": 0, "y": 0.1, "y_dot": speeds}, numbers, lanes=4)
    assert (runs.status == 0).all()
    for i, speed in enumerate(speeds.tolist()):
        start = {"x": 0.0, "x_dot": 0.0, "y": 0.1, "y_dot": speed}
        one = model.integrate((0, 2), start, numbers)
        stepper = model.stepper(start, numbers)
        assert one.y[:, -1].tolist() == runs.y[:, i].tolist() == stepper.advance(2.0).tolist()
        assert one["x"][-1] == pytest.approx(0.9 if speed > 0 else 0.0, abs=1e-7)


@pytest.mark.parametrize("given", [{"kinks": True}, {"sensitivities": ["g"]}], ids=str)
@pytest.mark.parametrize("speed", [5e-324, -5e-324])
def test_a_rest_within_the_least_number_of_a_kink(speed: float, given: dict[str, Any]) -> None:
    """It lasts: the moment in which a motion with this speed would change the state has no end."""
    x = cg.coordinates("x")
    g = cg.parameters("g")
    v = cg.rate(x)
    model = unit_masses("resting", [x], potential=x**2 / 2, forces={v: g - v - sp.Max(v, 0)}).compile()
    run = model.integrate((0, 9), {"x": 0.5, "x_dot": speed}, {"g": 0.5}, **given)
    assert run.status == 0, run.message
    assert run.y[:, -1] == pytest.approx([0.5, 0.0], abs=1e-15)


x, y = cg.coordinates("x y")
v, w = cg.rate(x), cg.rate(y)
a, b, g, c, d, p, q, e, h = cg.parameters("a b g c d p q e h")
AFTER = 0.2


@cache
def model() -> Any:
    """x'' = a + b sign(x - c) and y'' = g meet x = c, y = d, x' = p and y' = q at one time."""
    events = [
        cg.Event(v - p, reset={w: w + h}, name="first"),
        cg.Event(y - d, reset={w: -e * w}, name="second"),
        cg.Event(w - q, reset={y: y + h * w}, name="third"),
    ]
    return unit_masses("met", [x, y], forces={v: a + b * sp.sign(x - c), w: g}, events=events).compile()


@pytest.mark.parametrize("asked", [{"kinks": True}, {"sensitivities": ["e", "h"]}], ids=str)
@pytest.mark.parametrize("method", ["dop853", "tsit5", "vern7", "vern9"])
def test_events_that_meet_on_a_kink(method: str, asked: dict[str, Any]) -> None:
    chosen = random.Random(method)
    options: dict[str, Any] = {"method": method, "rtol": 1e-11, "atol": 1e-11, **asked}

    def some(least: float, most: float) -> float:
        return chosen.choice([-1, 1]) * chosen.uniform(least, most)

    for _ in range(15):
        a, b, g, c, d = some(0.4, 1), some(0.1, 0.3), some(0.1, 0.4), some(0, 1), some(0, 1)
        p, q, e = some(0.7, 2), some(0.6, 2), chosen.uniform(0.3, 0.9)
        h = q / 2  # of this sign: y turns, and does not come back so soon
        numbers = dict(zip("abgcdpqeh", (a, b, g, c, d, p, q, e, h), strict=True))
        met, side = chosen.uniform(0.3, 0.9), 1 if p > 0 else -1
        before, after = a - b * side, a + b * side
        start = {
            "x": c - p * met + before * met**2 / 2, "x_dot": p - before * met,
            "y": d - q * met + g * met**2 / 2, "y_dot": q - g * met,
        }  # fmt: skip
        sol = model().integrate((0, met + AFTER), start, numbers, **options)
        assert [len(times) for times in sol.t_events] == [1, 1, 1], numbers
        turned = -e * (q + h)
        place, rate = d + h * turned + turned * AFTER + g * AFTER**2 / 2, turned + g * AFTER
        expected = [c + p * AFTER + after * AFTER**2 / 2, place, p + after * AFTER, rate]
        assert sol.y[:, -1] == pytest.approx(expected, abs=1e-8), numbers
        if "sensitivities" in asked:
            by_e, by_h = -(q + h) * (h + AFTER), turned - e * (h + AFTER)
            assert sol.sensitivity["y", "e"][-1] == pytest.approx(by_e, abs=1e-7), numbers
            assert sol.sensitivity["y", "h"][-1] == pytest.approx(by_h, abs=1e-7), numbers

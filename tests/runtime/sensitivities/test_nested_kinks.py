"""Derivatives where what decides on the side of a kink contains another one, and jumps as that one switches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from slopes import check_slopes
from unit_masses import unit_masses

import chaplygin as cg

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
    check_slopes(model, quantity, {by: expected}, (0, t1), *start, rtol=1e-11, atol=1e-11, abs=1e-6)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", list(FORCES))
def test_a_kink_inside_a_kink(name: str) -> None:
    system = unit_masses(
        "nested", [x], potential=x**2 / 2, forces={v: FORCES[name]}, example={k: 0.7, c: 0.5}
    )
    model = system.compile()
    for by in NUMBERS:
        left, right = differences(model, NUMBERS, by)
        assert left == pytest.approx(right, abs=1e-5)
        check(model, NUMBERS, by, left)


@pytest.mark.parametrize("force", [FORCES["one that follows another"], k * PULSE], ids=["nested", "alone"])
def test_a_push_that_turns_around(force: Any) -> None:
    """x'' is k, then -k from t* = pi - c on: dx/dc = -2 k (t - t*). Tight steps end at t* with hardly any length."""
    model = unit_masses("pushed", [x], forces={v: force}).compile()
    start = (0, 4), {"x": 0, "x_dot": 0}, {"k": 0.7, "c": 0.5}
    switched = np.pi - 0.5
    rest = 4 - switched
    expected = {"c": -1.4 * rest, "k": switched**2 / 2 + switched * rest - rest**2 / 2}
    check_slopes(model, "x", expected, *start, **EXACT, abs=1e-9)


GUARDS = {
    "a pulse in time": (PULSE - HALF, 0, v + k),
    "a sign of x": (sp.sign(x - c) + x / 10, 1, -k * v),
    "a sign of x beside v": (v / 4 + sp.sign(x - c) / 2, 1, -k * v),
    "a sign of v": (sp.sign(v) - HALF, 0, v / 2 + k / 9),
    "a condition": (sp.Piecewise((-1, x < c), (v + x, True)), 1, k * v),
    "a pulse of x": (x * sp.Heaviside(sp.sin(2 * T + c)) - HALF / 4, 0, v + k),
    "a sign of a sign": (sp.sign(sp.sign(x - c) + v / 9 + HALF), 1, -k * v),
    "whole steps": (sp.floor(2 * x / c) - HALF, 1, k * v),
    "one of the force too": (sp.sign(x - c / 2) + x / 10, 1, -k * v),
    "a size, without a jump": (sp.Abs(x - c) - HALF / 8, 1, k * v),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", list(GUARDS))
def test_an_event_whose_guard_jumps_with_a_kink_inside(name: str) -> None:
    """It happens with the kink: its time changes as that of the kink does, whatever the slope of the guard is."""
    guard, direction, after = GUARDS[name]
    event = cg.Event(guard, direction=direction, reset={v: after}, name="kicked")
    force = k * sp.cos(T) / 7 - c * v / 5 + (sp.sign(x - c / 2) / 3 if name.startswith("one") else 0)
    model = unit_masses("carried", [x], potential=x**2 / 2, forces={v: force}, events=[event]).compile()
    start = (0, 5), {s: NUMBERS[s] for s in model.states}, {p: NUMBERS[p] for p in model.parameters}

    def final(by: str, step: float) -> Any:
        moved = {**NUMBERS, by: NUMBERS[by] + step}
        given = {s: moved[s] for s in model.states}, {p: moved[p] for p in model.parameters}
        sol = model.integrate((0, 5), *given, **EXACT)
        return np.array([sol["x"][-1], sol.t_events[0][0]])

    h = 1e-4
    expected = [
        (8 * (final(by, h) - final(by, -h)) - final(by, 2 * h) + final(by, -2 * h)) / (12 * h)
        for by in NUMBERS
    ]
    of_x, of_time = np.transpose(expected)
    sol = check_slopes(model, "x", dict(zip(NUMBERS, of_x)), *start, rtol=1e-11, atol=1e-11, abs=1e-6)
    assert sol.sensitivity.events["kicked"].t[0] == pytest.approx(of_time, abs=1e-6)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_wall_that_is_a_jump_of_a_guard(terminal: bool) -> None:
    """x = v t up to x = c, at t* = c / v, then c - k (v t - c); the slope of the guard by v is far from that."""
    event = cg.Event(sp.sign(x - c) + v / 2, direction=1, reset={v: -k * v}, terminal=terminal, name="wall")
    model = unit_masses("walled", [x], forces={v: 0}, events=[event]).compile()
    start = (0, 2), {"x": 0, "x_dot": 0.9}, {"k": 0.7, "c": 0.5}
    expected = [0, 0, 1] if terminal else [-0.7 * 2, -(0.9 * 2 - 0.5), 1.7]
    sol = check_slopes(
        model, "x", dict(zip(("x_dot", "k", "c"), expected)), *start, ended=(int(terminal),), abs=1e-9
    )
    by_time = np.array([-0.5 / 0.81, 0, 1 / 0.9])
    assert sol.sensitivity.events["wall"].t[0] == pytest.approx(by_time, abs=1e-9)
    assert sol.sensitivity.events["wall"]["x", "c"] == pytest.approx([1])


def test_many_jumps_of_a_guard_in_a_step() -> None:
    """Kinks that go on may be passed, but not those that carry an event: v grows by k at each of 40 pulses."""
    event = cg.Event(sp.sign(sp.sin(20 * sp.pi * (T + c / 10))) - HALF, direction=1, reset={v: v + k})
    model = unit_masses("pulses", [x], forces={v: 0}, events=[event]).compile()
    start = (0, 4), {"x": 0, "x_dot": 1}, {"k": 0.7, "c": 0.5}
    times = 0.1 * np.arange(1, 41) - 0.05
    sol = check_slopes(model, "x", {"k": np.sum(4 - times), "c": 0.7 * 40 / 10}, *start, abs=1e-8)
    assert sol.t_events[0] == pytest.approx(times, abs=1e-9)


def test_a_reset_that_moves_the_state_over_a_kink_inside_a_guard() -> None:
    """No crossing of the guard: x = t up to c, then c + (1 + k) (t - c), to the end. It had ended at c."""
    kick = cg.Event(T - c, reset={v: v + k})
    fast = cg.Event(sp.sign(v - sp.Rational(6, 5)) + x / 10, direction=1, terminal=True)
    model = unit_masses("kicked", [x], forces={v: 0}, events=[kick, fast]).compile()
    start = (0, 2), {"x": 0, "x_dot": 1}, {"k": 0.7, "c": 0.5}
    sol = check_slopes(model, "x", {"k": 1.5, "c": -0.7}, *start, abs=1e-9)
    assert (sol.status, model.integrate(*start).status) == (0, 0)


def struck(name: str, *events: cg.Event) -> Any:
    """x'' = k sign(y), with events."""
    return unit_masses(name, [x, y], forces={v: k * sp.sign(y)}, events=events).compile()


HITS = cg.Event(x - 4 * sp.sign(y), reset={v: 5}, name="hits")


def test_a_reset_that_carries_a_guard_over_zero_by_a_kink_inside_of_it_is_no_crossing() -> None:
    """x(2) = 0.2 - k c^2/2 - k c (2 - c) + k (2 - c)^2/2, as x' = 0.1 at first, and x'' = -k before c, then k."""
    model = struck("carried_by_a_reset", cg.Event(T - c, reset={y: 1}, name="lifts"), HITS)
    start = {"x": 0, "y": -1, "x_dot": 0.1, "y_dot": 0}, {"k": 0.15, "c": 1}
    plain = model.integrate((0, 2), *start)
    sol = model.integrate((0, 2), *start, sensitivities=["k", "c"])
    for run in (plain, sol):
        assert [len(times) for times in run.t_events] == [1, 0]
        assert run["x"][-1] == pytest.approx(0.05, abs=1e-7)
    assert sol.sensitivity["x", "k"][-1] == pytest.approx(-1, abs=1e-7)
    assert sol.sensitivity["x", "c"][-1] == pytest.approx(-0.3, abs=1e-7)


def test_a_reset_where_a_kink_is_zero_to_rounding_inside_of_another_event() -> None:
    """y is -3e-17 at t = 1, where both occur in the order of declaration: from x = 0.025 on v = 5, and then -5."""
    model = struck("resets_on_a_kink", HITS, cg.Event(y, reset={v: -v}, name="turns"))
    start = {"x": 0, "y": -1, "x_dot": 0.1, "y_dot": 1}, {"k": 0.15}
    assert model.integrate((0, 2), *start)["x"][-1] == pytest.approx(0.025 - 5 + 0.075, abs=1e-7)
    sol = model.integrate((0, 2), *start, sensitivities=["k"])
    assert sol.status == 0, sol.message  # they do not accumulate

"""Guards that jump over zero, as v + sign(v) does: their events are those of a smooth guard with the same surface.

Every time and state is that of a closed form."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.runtime import Model

X = cg.coordinates("x")
V = cg.rate(X)
JUMPS = {
    "v + sign(v)": V + sp.sign(V),
    "sign": sp.Piecewise((1, V > 0), (-1, True)),
    "apart": sp.Piecewise((V + 2, V > 0), (3 * V - 1, True)),
    "x + sign(x)": X + sp.sign(X),
}
RESETS = {"-v/2": -V / 2, "-v": -V, "|v|/2": sp.Abs(V) / 2}
TURN = math.atan(0.3)
"""When the velocity of x'' = -x from x = 1, x' = 0.3 is zero."""


@functools.cache
def built(guard: str, reset: str, potential: Any, direction: int = 0) -> Model:
    event = cg.Event(
        JUMPS[guard], direction=direction, reset={V: RESETS.get(reset) or sp.sympify(reset) * V}, name="e"
    )
    return unit_masses("jumping", [X], potential=potential, events=[event]).compile()


def spring(guard: str, reset: str, direction: int = 0) -> Model:
    return built(guard, reset, X**2 / 2, direction)


def ball(reset: str, direction: int = 0) -> Model:
    return built("x + sign(x)", reset, 10 * X, direction)


@pytest.mark.sample(5)
@pytest.mark.parametrize("method", ["dop853", "tsit5", "vern9", "auto"])
@pytest.mark.parametrize("direction", [0, -1])
@pytest.mark.parametrize("reset", RESETS)
@pytest.mark.parametrize("guard", ["v + sign(v)", "sign", "apart"])
def test_a_reset_that_changes_rounding_alone_is_one_event(
    guard: str, reset: str, direction: int, method: str
) -> None:
    sol = spring(guard, reset, direction).integrate(
        (0, 12), [1.0, 0.3], method=method, rtol=1e-11, atol=1e-11
    )
    turns = TURN + math.pi * np.arange(4)
    assert sol.status == 0
    assert sol.t_events[0] == pytest.approx(turns if direction == 0 else turns[::2], abs=1e-8)
    size, phase = math.hypot(1, 0.3), 12 - TURN
    assert sol.y[:, -1] == pytest.approx([size * math.cos(phase), -size * math.sin(phase)], abs=1e-8)


@pytest.mark.parametrize("reset", RESETS)
def test_the_top_of_a_throw_is_one_event(reset: str) -> None:
    sol = built("v + sign(v)", reset, 2 * X).integrate((0, 2), [0.0, 1.0], method="dop853")
    assert sol.status == 0
    assert sol.t_events[0] == pytest.approx([0.5], abs=1e-12)
    assert sol.y[:, -1] == pytest.approx([-2, -3], abs=1e-9)


@pytest.mark.parametrize("method", ["dop853", "tsit5"])
@pytest.mark.parametrize("reset", ["-v", "-1/1"])
def test_a_bounce_at_a_jump_goes_back(reset: str, method: str) -> None:
    sol = spring("x + sign(x)", reset).integrate((0, 7), [1.0, 0.0], method=method, rtol=1e-11, atol=1e-11)
    assert sol.status == 0
    assert sol.t_events[0] == pytest.approx([math.pi / 2, 3 * math.pi / 2], abs=1e-8)
    assert sol.y[:, -1] == pytest.approx([math.cos(7), -math.sin(7)], abs=1e-8)


@pytest.mark.parametrize("method", ["dop853", "tsit5"])
@pytest.mark.parametrize("direction", [0, -1])
@pytest.mark.parametrize("e", ["1/2", "1/1000", "0"])
def test_a_ball_over_a_floor_with_a_jump_comes_to_rest(e: str, direction: int, method: str) -> None:
    """The limit of its bounces, as of those over a smooth floor."""
    sol = ball(f"-{e}", direction).integrate((0, 5), [1.0, 0.0], method=method)
    part, fall = float(sp.Rational(e)), math.sqrt(0.2)
    rest = fall * (1 + part) / (1 - part)
    assert sol.status == -9
    assert sol.t_reached == pytest.approx(rest, rel=1e-9)
    assert np.abs(sol.y[:, -1]).max() < 1e-6
    hits = fall * (1 + 2 * part * (1 - part ** np.arange(3)) / (1 - part))
    n = 1 if part == 0.0 else 3
    assert sol.t_events[0][:n] == pytest.approx(hits[:n], rel=1e-9)
    assert sol.y[0].min() > -1e-9


def test_a_reset_that_changes_the_velocity_counts() -> None:
    """x'' = -10 from v = 1: v is zero every 0.1, and 0.1 from where it is after a reset, which adds 1."""
    event = cg.Event(JUMPS["v + sign(v)"], direction=-1, reset={V: 1 - V / 2}, name="e")
    model = unit_masses("again", [X], potential=10 * X, events=[event]).compile()
    sol = model.integrate((0, 1.05), [0.0, 1.0])
    assert sol.status == 0
    assert sol.t_events[0] == pytest.approx(0.1 * np.arange(1, 11), abs=1e-11)


@pytest.mark.parametrize("force", [0.0, -3.0])
def test_the_end_of_a_slip_is_one_event(force: float) -> None:
    """Friction of 1 brakes a mass from x' = 1; it then sticks, or is pulled back by the rest of the force."""
    F = cg.inputs("F")
    model = unit_masses(
        "braked",
        [X],
        forces={V: F},
        contacts=[cg.Coulomb("floor", slip=V, normal=1, mu=1)],
        events=[cg.Event(JUMPS["v + sign(v)"], reset={V: -V / 2}, name="e")],
    ).compile()
    sol = model.integrate((0, 2), [0.0, 1.0], inputs={"F": force})
    stop = 1 / (1 - force)
    back = 2 - stop if force else 0.0
    assert sol.status == 0
    assert sol.t_events[0] == pytest.approx([stop], abs=1e-12)
    assert sol.y[:, -1] == pytest.approx([stop / 2 - back**2, -2 * back], abs=1e-9)


@pytest.mark.parametrize("way", ["stepper", "restored", "pushed"])
@pytest.mark.parametrize("case", ["spring", "ball"])
def test_steppers_have_the_same_events(case: str, way: str) -> None:
    """Also those that stop at an event, and go on from a copy or with inputs that are set again."""
    F = cg.inputs("F")
    guard, reset, potential = (
        (JUMPS["v + sign(v)"], -V / 2, X**2 / 2)
        if case == "spring"
        else (JUMPS["x + sign(x)"], -V / 2, 10 * X)
    )
    event = cg.Event(guard, reset={V: reset}, name="e")
    model = unit_masses("stepped", [X], potential=potential, forces={V: F}, events=[event]).compile()
    start, end = ([1.0, 0.3], 5.0) if case == "spring" else ([1.0, 0.0], 1.2)
    sol = model.integrate((0, end), start, inputs={"F": 0.0})
    run = model.stepper(start, inputs={"F": 0.0})
    found: list[float] = []
    for t in [*sol.t_events[0], end]:
        run.advance(float(t))
        found += [float(when) for when, _ in run.events]
        if way == "restored":
            snapshot, run = run.save(), model.stepper(start, inputs={"F": 0.0})
            run.restore(snapshot)
        elif way == "pushed":
            run.set_inputs(F=0.0)
    expected = [TURN, TURN + math.pi] if case == "spring" else list(math.sqrt(0.2) * np.array([1, 2, 2.5]))
    assert found == pytest.approx(expected, abs=1e-6)
    assert list(sol.t_events[0]) == pytest.approx(expected, abs=1e-6)
    assert run.y == pytest.approx(sol.y[:, -1], abs=1e-7)


@pytest.mark.parametrize("case", ["spring", "ball"])
def test_lanes_have_the_bits_of_single_runs(case: str) -> None:
    model = spring("v + sign(v)", "-v/2") if case == "spring" else ball("-1/2")
    x0 = np.linspace(0.7, 1.3, 9)
    start = {"x": x0, "x_dot": 0.3 * x0 if case == "spring" else 0.0 * x0}
    options = {"method": "dop853", "t_eval": [0.0, 3.0]}
    many = cg.ensemble(model, (0, 3), start, {}, n=9, threads=1, **options)
    for i in range(9):
        sol = model.integrate((0, 3), [float(start["x"][i]), float(start["x_dot"][i])], {}, **options)
        assert many.status[i] == sol.status == (0 if case == "spring" else -9)
        assert many.t_events["e"][i].tolist() == sol.t_events[0].tolist()
        if case == "spring":
            assert sol.t_events[0] == pytest.approx([TURN], abs=1e-7)
            assert many.y[:, -1, i].tolist() == sol.y[:, -1].tolist()


def test_flights_that_do_not_shrink_have_no_limit() -> None:
    """A sawtooth of slope 1 whose fourth tooth ends at rest under a force: the motion goes straight on, at t = 4."""
    k = cg.coordinates("k")
    last = k * (k - 1) * (k - 2) / 6
    tooth = cg.Event(X - 1, reset={X: last, V: V * (1 - last), k: k + 1}, name="tooth")
    model = unit_masses(
        "sawtooth", [X, k], forces={V: k * (k - 1) * (k - 2) * (k - 3)}, events=[tooth]
    ).compile()
    sol = model.integrate((0, 9), [0.0, 0.0, 1.0, 0.0], method="rk4", step=0.25)
    assert sol.t_events[0] == pytest.approx([1, 2, 3, 4], abs=1e-12)
    assert sol.status == -9
    assert sol.t_reached == pytest.approx(4, abs=1e-12)
    assert "t = 4" in sol.message

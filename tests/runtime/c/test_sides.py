"""What happens at one instant: sides of guards, events at the start, accumulation; every number from a closed form."""

from __future__ import annotations

import functools
import math
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import sympy as sp
from guard_reference import Guard, Problem, follow
from scipy import stats
from scipy.optimize import brentq
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.errors import KernelError
from chaplygin.runtime import Model

G = 9.81
FALL = math.sqrt(2 / G)
PRECISE = {"rtol": 1e-11, "atol": 1e-11}


@functools.cache
def ball(direction: int = -1, terminal: bool = False) -> Model:
    """A ball over a floor at height 0."""
    y, e = cg.coordinates("y"), cg.parameters("e")
    w = cg.rate(y)
    hit = cg.Event(y, direction=direction, terminal=terminal, reset={w: -e * w}, name="hit")
    return unit_masses("ball", [y], potential=G * y, events=[hit]).compile()


@functools.cache
def stopped(direction: int = 1, terminal: bool = False, speed: float = 0.0) -> Model:
    """A mass under a force F, and a stop at x = 1 that leaves it a speed."""
    x, F = cg.coordinates("x"), cg.inputs("F")
    v = cg.rate(x)
    stop = cg.Event(x - 1, direction=direction, terminal=terminal, reset={v: speed}, name="stop")
    return unit_masses("stopped", [x], forces={v: F}, events=[stop]).compile()


def advance(run: Any, t: float) -> list[tuple[float, str]]:
    """The events of an advance that may end with an error."""
    with suppress(KernelError):
        run.advance(t)
    return [(float(time), name) for time, name in run.events]


# ---- a ball ----


@pytest.mark.sample(12)
@pytest.mark.parametrize("e", [0.0, 1e-3, 0.1, 0.3, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("method", ["dop853", "tsit5", "vern9", "auto", None])
def test_a_ball_comes_to_rest(e: float, method: str | None) -> None:
    sol = ball().integrate((0, 30), [1.0, 0.0], {"e": e}, method=method)
    rest = FALL * (1 + e) / (1 - e)
    assert sol.status == -9
    assert sol.t_reached == pytest.approx(rest, rel=1e-6)
    assert np.abs(sol.y[:, -1]).max() < 1e-6
    hits = FALL * (1 + 2 * e * (1 - e ** np.arange(12)) / (1 - e))
    (found,) = sol.t_events
    resolved = [t for t in hits if t < rest - 1e-5] or [FALL]
    assert found[: len(resolved)] == pytest.approx(resolved, rel=1e-6)
    assert (sol.y[0] > -1e-9).all()
    if e == 0.0:
        assert found == pytest.approx([FALL])


def test_the_message_names_the_event_and_what_to_do() -> None:
    sol = ball().integrate((0, 3), [1.0, 0.0], {"e": 0.0})
    assert "accumulate" in sol.message
    assert "hit" in sol.message
    assert "terminal" in sol.message


def test_two_thousand_balls() -> None:
    e = stats.uniform(0, 0.5)
    start = (0, 3), {"y": 1.0, "y_dot": 0.0}, {"e": e}
    ens = cg.ensemble(ball(), *start, n=2000, seed=3)
    assert (ens.status == -9).all()
    drawn = ens.draws["e"]
    assert ens.t == pytest.approx(FALL * (1 + drawn) / (1 - drawn), rel=1e-6)
    assert np.abs(ens["y"]).max() < 1e-6
    study = cg.study(ball(), *start, n=2000, seed=3, collect={"hits": cg.events("hit")})
    assert len(study.failed) == 2000


def test_the_bouncing_ball_of_the_catalogue() -> None:
    found = cg.example("bouncing_ball")
    sol = found.system.compile().integrate((0, 3), found.initial, found.parameters | {"e": 0.1})
    assert sol.status == -9
    assert sol.t_reached == pytest.approx(FALL * 1.1 / 0.9, rel=1e-6)


@pytest.mark.parametrize("e", [0.0, 0.1, 0.5])
def test_at_rest_on_the_floor_the_ball_accumulates_at_the_start(e: float) -> None:
    sol = ball().integrate((0, 3), [0.0, 0.0], {"e": e})
    assert (sol.status, sol.t_reached) == (-9, 0.0)
    assert sol.t_events[0].tolist() == [0.0]
    assert sol.y[:, -1].tolist() == [0.0, 0.0]
    run = ball().stepper([0.0, 0.0], {"e": e})
    assert advance(run, 1.0) == [(0.0, "hit")]
    assert (run.status, run.t) == (-9, 0.0)
    ens = cg.ensemble(ball(), (0, 3), {"y": np.array([0.0, 1.0, 0.0]), "y_dot": 0.0}, {"e": e})
    assert ens.status.tolist() == [-9] * 3
    assert ens.t[::2].tolist() == [0.0, 0.0]


def test_falling_from_no_height_the_ball_bounces() -> None:
    sol = ball().integrate((0, 3), [0.0, -2.0], {"e": 0.5})
    assert sol.status == -9
    assert sol.t_reached == pytest.approx(4 / G, rel=1e-6)  # flights 2 / G, 1 / G ...
    assert sol.t_events[0][:3] == pytest.approx([0.0, 2 / G, 3 / G], abs=1e-9)


def test_rising_from_the_floor_is_no_event() -> None:
    sol = ball().integrate((0, 0.5), [0.0, 3.0], {"e": 0.5})
    assert sol.status == 0
    assert sol.t_events[0].tolist() == []
    assert sol["y"][-1] == pytest.approx(1.5 - G / 8, abs=1e-9)


def test_backward_in_time() -> None:
    """Seen backward, the ball falls from 1 as well."""
    sol = ball().integrate((0, -3), [1.0, 0.0], {"e": 0.1})
    assert sol.status == -9
    assert sol.t_reached == pytest.approx(-FALL * 1.1 / 0.9, rel=1e-6)
    sol = ball().integrate((0, -3), [0.0, 2.0], {"e": 0.5})
    assert sol.t_events[0][:2] == pytest.approx([0.0, -2 / G], abs=1e-9)


def test_without_a_direction_an_arriving_start_is_no_event() -> None:
    """The ball passes through the floor at the start, and bounces where it arrives from above or below later."""
    sol = ball(direction=0).integrate((0, 2), [0.0, -2.0], {"e": 0.5})
    assert sol.status == 0
    assert sol.t_events[0].tolist() == []
    assert sol["y"][-1] == pytest.approx(-4 - 2 * G, rel=1e-9)


@pytest.mark.parametrize("start", [[1.0, 0.0], [0.0, 0.0], [0.0, -1.0]])
def test_a_terminal_event_ends_the_run_whatever_its_reset_leaves(start: list[float]) -> None:
    sol = ball(terminal=True).integrate((0, 3), start, {"e": 0.0})
    assert (sol.status, sol.success) == (1, True)
    assert sol.t_reached == pytest.approx(FALL if start[0] else 0.0, abs=1e-9)
    assert sol.y[:, -1].tolist() == pytest.approx([0.0, 0.0], abs=1e-12)
    assert len(sol.t_events[0]) == 1


# ---- grounds ----


@functools.cache
def over_sine() -> Model:
    """A mass over a ground at A sin W t, whose speed it takes."""
    y, A, W = cg.coordinates("y"), *cg.parameters("A W")
    w, ground = cg.rate(y), A * sp.sin(W * cg.time)
    hit = cg.Event(y - ground, direction=-1, reset={w: sp.diff(ground, cg.time)}, name="hit")
    return unit_masses("over_sine", [y], potential=G * y, events=[hit]).compile()


def test_a_ground_that_falls_away_lets_the_mass_fly_on() -> None:
    a, rate = 0.2, 20.0
    ground = [lambda t: a * math.sin(rate * t), lambda t: a * rate * math.cos(rate * t)]
    first = brentq(lambda t: 1 - G * t**2 / 2 - ground[0](t), 0.38, 0.41, xtol=1e-14)

    def gap(t: float) -> float:
        since = t - first
        return ground[0](first) + ground[1](first) * since - G * since**2 / 2 - ground[0](t)

    assert -G + a * rate**2 * math.sin(rate * first) > 0
    assert min(gap(t) for t in np.linspace(first + 0.01, 0.57, 200)) > 0
    second = brentq(gap, 0.57, 0.6, xtol=1e-14)
    assert -G + a * rate**2 * math.sin(rate * second) < 0  # there the ground rises ever faster
    sol = over_sine().integrate((0, 0.5), [1.0, 0.0], {"A": a, "W": rate}, **PRECISE)
    assert sol.status == 0
    assert sol.t_events[0] == pytest.approx([first], abs=1e-9)
    assert sol["y"][-1] == pytest.approx(gap(0.5) + ground[0](0.5), abs=1e-8)
    sol = over_sine().integrate((0, 3), [1.0, 0.0], {"A": a, "W": rate}, **PRECISE)
    assert sol.status == -9
    assert sol.t_events[0] == pytest.approx([first, second], abs=1e-9)
    assert sol.t_reached == pytest.approx(second, abs=1e-9)


@functools.cache
def over_spring() -> Model:
    """A ball over a heavy ground on a spring."""
    y, z, e, k = *cg.coordinates("y z"), *cg.parameters("e k")
    w, s = cg.rate(y), cg.rate(z)
    hit = cg.Event(y - z, direction=-1, reset={w: s - e * (w - s)}, name="hit")
    return unit_masses("over_spring", [y, z], potential=G * y + k * z**2 / 2, events=[hit]).compile()


@pytest.mark.sample(6)
@pytest.mark.parametrize("e", [0.0, 0.1, 0.3, 0.5, 0.7, 0.8])
@pytest.mark.parametrize("k", [4.0, 9.0, 25.0])
def test_a_ground_on_a_spring(e: float, k: float) -> None:
    """Against the power series of the reference."""
    for height in (0.6, 1.0):
        start = {"y": height, "w": 0.0, "z": 0.05, "s": 0.1}
        rates = {"y": {"w": 1}, "w": {"one": -G}, "z": {"s": 1}, "s": {"z": -k}}
        hit = Guard({"y": 1, "z": -1}, -1, {"w": {"w": -e, "s": 1 + e}})
        right = follow(Problem(rates, start, [hit], 9.0))
        sol = over_spring().integrate((0, 9), [height, 0.05, 0.0, 0.1], {"e": e, "k": k}, **PRECISE)
        assert sol.status == right.status == -9
        assert sol.t_reached == pytest.approx(right.t, rel=1e-6)
        assert (sol["y"] - sol["z"] > -1e-9).all()


# ---- a stop ----


def test_a_mass_that_is_pressed_against_its_stop() -> None:
    sol = stopped().integrate((0, 3), [0.0, 0.0], inputs={"F": 5})
    assert sol.status == -9
    assert sol.t_reached == pytest.approx(math.sqrt(2 / 5), rel=1e-9)
    assert sol.y[:, -1] == pytest.approx([1.0, 0.0], abs=1e-12)
    assert len(sol.t_events[0]) == 1


@pytest.mark.parametrize("direction", [1, 0])
def test_a_mass_that_its_stop_throws_back_is_free(direction: int) -> None:
    """The force changes its sign before the mass arrives: it stops dead, and is pulled back."""
    sol = stopped(direction).integrate(
        (0, 3), [0.0, 2.0], inputs={"F": ([0.0, 0.25], [0.0, -1.0])}, **PRECISE
    )
    arrives = 0.25 + 2 - math.sqrt(4 - 2 * 0.5)
    assert sol.status == 0
    assert sol.t_events[0] == pytest.approx([arrives], abs=1e-9)
    assert sol.y[:, -1] == pytest.approx([1 - (3 - arrives) ** 2 / 2, arrives - 3], abs=1e-8)


def test_stopped_once_and_driven_on() -> None:
    """A small speed through the stop is a model of its own."""
    sol = stopped(speed=0.125).integrate((0, 2), [0.0, 0.0], inputs={"F": 5}, **PRECISE)
    t = 2 - math.sqrt(2 / 5)
    assert sol.status == 0
    assert len(sol.t_events[0]) == 1
    assert sol["x"][-1] == pytest.approx(1 + t / 8 + 5 * t**2 / 2, abs=1e-8)


@pytest.mark.parametrize("force", [5.0, -5.0])
@pytest.mark.parametrize("way", ["stepper", "restored", "samples", "ensemble"])
def test_a_mass_at_rest_on_its_stop_is_pushed_through_it_or_away(force: float, way: str) -> None:
    """It arrives at t = 1 and rests; at t = 2 the force begins."""
    start = [0.0, 1.0]
    samples = {"F": ([0.0, 2.0], [0.0, force])}
    if way == "samples":
        sol = stopped().integrate((0, 3), start, inputs=samples)
        status, t, y, events = sol.status, sol.t_reached, sol.y[:, -1], sol.t_events[0].tolist()
    elif way == "ensemble":
        ens = cg.ensemble(stopped(), (0, 3), {"x": np.zeros(5), "x_dot": 1.0}, inputs=samples, lanes=1)
        status, t, y, events = ens.status[3], ens.t[3], ens.y[:, 3], ens.t_events["stop"][3].tolist()
    else:
        run = stopped().stepper(start)
        events = [time for time, _ in advance(run, 2.0)]
        if way == "restored":
            snapshot = run.save()
            run = stopped().stepper([0.3, 0.0])
            run.restore(snapshot)
        run.set_inputs(F=force)
        events += [time for time, _ in advance(run, 3.0)]
        status, t, y = run.status, run.t, run.y
    if force > 0:
        assert (status, t) == (-9, 2.0)
        assert events == pytest.approx([1.0, 2.0], abs=1e-9)
        assert y == pytest.approx([1.0, 0.0], abs=1e-12)
    else:
        assert (status, t) == (0, 3.0)
        assert events == pytest.approx([1.0], abs=1e-9)
        assert y == pytest.approx([-1.5, -5.0], abs=1e-8)


def test_a_mass_that_starts_at_rest_on_its_stop_is_pushed_through() -> None:
    run = stopped().stepper([1.0, 0.0])
    assert advance(run, 2.0) == []
    run.set_inputs(F=5.0)
    with pytest.raises(KernelError, match="events accumulate"):
        run.advance(3.0)
    assert (run.t, *run.y) == (2.0, 1.0, 0.0)


@pytest.mark.parametrize("force", [1.0, -1.0])
@pytest.mark.parametrize(("direction", "resets"), [(0, True), (1, False), (-1, False)])
def test_a_mark_on_which_a_mass_rests_from_the_start_has_no_side(
    direction: int, resets: bool, force: float
) -> None:
    """x = 1 until t = 1, then 1 + F (t - 1)^2 / 2, without an event."""
    x, load = cg.coordinates("x"), cg.inputs("load")
    v = cg.rate(x)
    mark = cg.Event(x - 1, direction=direction, reset={v: -v} if resets else None, name="mark")
    system = unit_masses("marked", [x], forces={v: load}, events=[mark])
    sol = system.compile().integrate((0, 4), {"x": 1, "x_dot": 0}, inputs={"load": ([0, 1], [0, force])})
    assert sol.status == 0
    assert not len(sol.t_events[0])
    assert sol["x"][-1] == pytest.approx(1 + 4.5 * force, abs=1e-9)


def test_a_mass_that_starts_at_rest_on_its_stop_is_pulled_off() -> None:
    run = stopped().stepper([1.0, 0.0])
    assert advance(run, 2.0) == []
    run.set_inputs(F=-5.0)
    assert advance(run, 3.0) == []
    assert run.y == pytest.approx([-1.5, -5.0], abs=1e-8)


def test_a_load_that_grows_from_zero() -> None:
    """The first derivative of the gap that is not zero is the third."""
    samples = {"F": ([0.0, 2.0, 4.0], [0.0, 0.0, 3.0], "linear")}
    sol = stopped().integrate((0, 3), [0.0, 1.0], inputs=samples)
    assert (sol.status, sol.t_reached) == (-9, pytest.approx(2.0, abs=1e-9))
    assert sol.t_events[0] == pytest.approx([1.0, 2.0], abs=1e-9)


@functools.cache
def block() -> Model:
    """A block with friction, a load, and a stop at x = 1."""
    x, F, f = cg.coordinates("x"), cg.inputs("F"), cg.parameters("f")
    v = cg.rate(x)
    return unit_masses(
        "block",
        [x],
        forces={v: F},
        contacts=[cg.Coulomb("table", slip=v, normal=1, mu=f)],
        events=[cg.Event(x - 1, direction=1, reset={v: 0}, name="stop")],
    ).compile()


@pytest.mark.parametrize("method", ["dop853", "tsit5", "auto"])
def test_a_block_that_rests_on_its_stop_is_pushed_through_by_a_growing_load(method: str) -> None:
    """It arrives with v^2 = 4 - 2 at t = 2 - sqrt 2, and is held until the load F = t - 1 exceeds the friction."""
    samples = {"F": ([0.0, 1.0, 6.0], [0.0, 0.0, 5.0], "linear")}
    sol = block().integrate((0, 6), [0.0, 2.0], {"f": 1.0}, samples, method=method)
    assert sol.status == -9
    assert sol.t_reached == pytest.approx(2.0, abs=1e-6)
    assert sol.y[:, -1] == pytest.approx([1.0, 0.0], abs=1e-9)
    (events,) = sol.t_events
    assert events[0] == pytest.approx(2 - math.sqrt(2), abs=1e-8)
    assert events[1:] == pytest.approx(2.0, abs=1e-6)
    assert len(events) >= 2


def test_a_block_that_rests_on_its_stop_is_pulled_away_by_a_growing_load() -> None:
    samples = {"F": ([0.0, 1.0, 6.0], [0.0, 0.0, -5.0], "linear")}
    sol = block().integrate((0, 3), [0.0, 2.0], {"f": 1.0}, samples, **PRECISE)
    assert sol.status == 0
    assert sol.t_events[0] == pytest.approx([2 - math.sqrt(2)], abs=1e-8)
    assert sol["x"][-1] == pytest.approx(1 - 1 / 6, abs=1e-7)  # x'' = -(t - 2)


# ---- collisions ----


@functools.cache
def stopped_beside_a_kink() -> Model:
    """A block on a rough floor, pushed by u + sign(z)/100, beside a mass that stops where y falls through 0."""
    x, y, z = cg.coordinates("x y z")
    u = cg.inputs("u")
    slip, v = cg.rate(x), cg.rate(y)
    return unit_masses(
        "stopped_beside_a_kink",
        [x, y, z],
        forces={slip: u + sp.sign(z - 2) / 100},
        contacts=[cg.Coulomb("floor", slip=slip, normal=1, mu=sp.Rational(3, 10))],
        events=[cg.Event(y, direction=-1, reset={v: 0}, name="stops")],
    ).compile()


@pytest.mark.parametrize("case", range(6))
def test_inputs_that_change_do_not_move_what_rests_on_its_stop(case: int) -> None:
    """The mass rests at some 1e-17, on one side or the other: rounding error of the time at which it has stopped."""
    start = {
        "x": 0.0,
        "y": 0.3 + 0.01 * case,
        "z": 0.0,
        "x_dot": 0.0,
        "y_dot": -0.7 - 0.013 * case,
        "z_dot": 0.0,
    }
    run = stopped_beside_a_kink().stepper(start, inputs={"u": 0.0})
    assert [name for _, name in advance(run, 2.0)] == ["stops"]
    run.set_inputs(u=0.1)
    assert advance(run, 3.0) == []


@functools.cache
def masses() -> Model:
    """A small mass between a wall at 0 and a large one: elastic collisions."""
    x, X, d, M = *cg.coordinates("x X"), *cg.parameters("d M")
    v, V = cg.rate(x), cg.rate(X)
    after = {v: (v * (1 - M) + 2 * M * V) / (1 + M), V: (V * (M - 1) + 2 * v) / (1 + M)}
    return cg.System(
        "masses",
        coordinates=[x, X],
        kinetic=(v**2 + M * V**2) / 2,
        events=[
            cg.Event(x, direction=-1, reset={v: -v}, name="wall"),
            cg.Event(X - x - d, direction=-1, reset=after, name="collision"),
        ],
    ).compile()


@pytest.mark.parametrize("ratio", [1, 100, 10_000, 10**8])
def test_the_digits_of_pi(ratio: int) -> None:
    """Each pair of impacts turns the vector of momenta by twice the angle atan sqrt(m / M)."""
    turn = math.atan(1 / math.sqrt(ratio))
    right = math.ceil(math.pi / turn) - 1
    assert right == int(math.pi * math.sqrt(ratio))
    sol = masses().integrate((0, 50), [1.0, 2.0, 0.0, -1.0], {"M": ratio, "d": 0.0}, max_steps=1_000_000)
    assert sol.status == 0
    wall, collision = (len(t) for t in sol.t_events)
    assert wall + collision == right
    assert sol["X_dot"][-1] == pytest.approx(-math.cos(2 * collision * turn), abs=1e-9)


@pytest.mark.sample(6)
@pytest.mark.parametrize("speeds", [(0.7, -0.8), (0.3, -0.4), (0.3, 0.1), (1e-3, 0.0), (-0.2, -0.2 - 1e-9)])
@pytest.mark.parametrize("at", [0.0, 0.3, 0.7, -1.1])
def test_masses_that_touch_at_the_start_and_approach_collide(at: float, speeds: tuple[float, float]) -> None:
    """Whatever the last bits of their speeds: equal masses change them. The wall is elsewhere."""
    for bit in range(-2, 3):
        v, V = speeds[0], speeds[1] + bit * np.spacing(speeds[1])
        sol = masses().integrate((0, 1), [at + 5, at + 5, v, V], {"M": 1.0, "d": 0.0})
        assert sol.status == 0
        assert sol.t_events[1].tolist() == [0.0]
        assert sol.y[2:, -1] == pytest.approx([V, v], abs=1e-12)


@pytest.mark.parametrize("x", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
def test_masses_that_touch_to_rounding_collide_at_the_start(x: float) -> None:
    """0.4 - 0.3 - 0.1 is not zero, but to rounding."""
    for X in (x + 0.1, round(x + 0.1, 1), np.nextafter(x + 0.1, 0), np.nextafter(x + 0.1, 2)):
        sol = masses().integrate((0, 0.1), [x, X, 0.5, -0.25], {"M": 1.0, "d": 0.1})
        assert sol.status == 0
        assert sol.t_events[1].tolist() == [0.0]
        assert sol.y[2:, -1] == pytest.approx([-0.25, 0.5], abs=1e-12)


@functools.cache
def walls() -> Model:
    """A mass between a wall at 0 and one that comes nearer."""
    x, z, e1, e2 = *cg.coordinates("x z"), *cg.parameters("e1 e2")
    v, w = cg.rate(x), cg.rate(z)
    return unit_masses(
        "walls",
        [x, z],
        events=[
            cg.Event(x, direction=-1, reset={v: -e1 * v}, name="left"),
            cg.Event(z - x, direction=-1, reset={v: w - e2 * (v - w)}, name="right"),
        ],
    ).compile()


@pytest.mark.parametrize("e1", [1.0, 0.9, 0.5, 0.1])
@pytest.mark.parametrize("e2", [0.9, 0.5, 0.1])
def test_impacts_that_take_turns_accumulate_where_the_walls_meet(e1: float, e2: float) -> None:
    for v in (-0.93, 0.31):
        sol = walls().integrate((0, 10), [0.56, 1.0, v, -0.48], {"e1": e1, "e2": e2})
        assert sol.status == -9
        assert sol.t_reached == pytest.approx(1 / 0.48, rel=1e-6)
        assert np.abs(sol.y[:2, -1]).max() < 1e-6
        assert (sol["x"] > -1e-9).all()
        assert (sol["x"] < sol["z"] + 1e-9).all()


# ---- inputs ----


@functools.cache
def relay(direction: int = 1) -> Model:
    """A counter w of the input's changes of sign."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    w = cg.rate(x)
    events = [
        cg.Event(u, direction=1, reset={w: w + 1}, name="up"),
        cg.Event(u, direction=-1, reset={w: w - 100}, name="down"),
    ]
    chosen = events if direction == 0 else [events[(1 - direction) // 2]]
    return unit_masses("relay", [x], events=chosen).compile()


VALUES = [-1.0, 1.0, 2.0, -3.0, 0.5, -0.5]
COUNTS = {1: 2.0, -1: -200.0, 0: -198.0}


@pytest.mark.parametrize("direction", [1, -1, 0])
@pytest.mark.parametrize("way", ["samples", "function", "stepper", "restored", "ensemble"])
def test_an_input_that_jumps_over_zero(direction: int, way: str) -> None:
    model, end = relay(direction), float(len(VALUES))
    times = [float(t) for t in range(len(VALUES))]
    if way == "stepper" or way == "restored":
        run = model.stepper([0.0, 0.0], inputs={"u": 7.0})
        for t, value in zip(times, VALUES, strict=True):
            run.set_inputs(u=value)
            if way == "restored":
                other = model.stepper([0.0, 0.0], inputs={"u": 3.0})
                other.restore(run.save())
                run = other
            run.advance(t + 1)
        count = run["x_dot"]
    else:
        given: Any = (lambda t: VALUES[min(int(t), 5)]) if way == "function" else (times, VALUES)
        if way == "ensemble":
            ens = cg.ensemble(model, (0, end), {"x": np.zeros(9), "x_dot": 0}, inputs={"u": given})
            assert (ens["x_dot"] == ens["x_dot"][0]).all()
            count = ens["x_dot"][0]
        else:
            sol = model.integrate((0, end), [0.0, 0.0], inputs={"u": given})
            assert sol.status == 0
            count = sol["x_dot"][-1]
            crossings = [
                t
                for t, mine in zip((1.0, 3.0, 4.0, 5.0), (1, -1, 1, -1), strict=True)
                if direction in (0, mine)
            ]
            assert sorted(t for found in sol.t_events for t in found) == pytest.approx(crossings, abs=1e-9)
    assert count == COUNTS[direction]


def test_an_input_that_a_caller_changes_to_and_fro_between_two_advances_has_not_crossed() -> None:
    run = relay(0).stepper([0.0, 0.0], inputs={"u": -1.0})
    run.advance(1.0)
    run.set_inputs(u=1.0)
    run.set_inputs(u=-2.0)
    run.advance(2.0)
    assert run["x_dot"] == 0.0


def test_a_state_that_the_caller_sets_begins_anew() -> None:
    run = ball().stepper([1.0, 0.0], {"e": 0.5})
    run.advance(0.1)
    run.set_state([-1.0, 0.0])
    assert advance(run, 0.2) == []
    assert run["y"] == pytest.approx(-1 - G * 0.1**2 / 2, abs=1e-9)
    run.set_state([0.0, -2.0])
    assert advance(run, 0.3) == [(0.2, "hit")]
    assert run["y_dot"] == pytest.approx(1 - G * 0.1, abs=1e-9)


@pytest.mark.parametrize("jump", [0.3, 0.77, 1.2])
def test_a_jump_of_a_sample_that_changes_no_side_is_no_event(jump: float) -> None:
    """The guard stays below zero, and would not in a polynomial through its values before and after the jump."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    near = cg.Event(x + u - 1, name="near")
    model = unit_masses("near", [x], potential=x**2 / 2, events=[near]).compile()
    samples = {"u": ([0.0, jump, jump + 0.1], [-4.0, 1 - 1e-3 - math.cos(jump), -4.0])}
    for method in ("dop853", "tsit5", "vern9", "rodas5p"):
        sol = model.integrate((0, 2), [1.0, 0.0], inputs=samples, method=method)
        assert sol.t_events[0].tolist() == []


# ---- functions as events ----


def test_a_function_that_is_zero_at_the_start_has_the_side_of_its_slope() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    for start in ([0.0, 1.0], [0.0, -1.0]):
        sol = model.integrate((0, 4), start, {"m": 1, "k": 1}, events=lambda t, y: y[0])
        assert sol.t_events[0] == pytest.approx([math.pi], abs=1e-7)


def test_a_run_that_goes_on_after_its_terminal_event_does_not_fall_through_the_floor() -> None:
    y = cg.coordinates("y")
    w = cg.rate(y)
    floor = cg.Event(y, direction=-1, terminal=True, reset={w: 0}, name="floor")
    system = unit_masses("lander", [y], potential=G * y, events=[floor])
    run = system.compile().stepper([1.0, 0.0])
    for _ in range(2):
        assert run.advance(3.0) == pytest.approx([0.0, 0.0], abs=1e-15)
        assert (run.status, run.t) == (1, pytest.approx(math.sqrt(2 / G), rel=1e-12))


@functools.cache
def cradle() -> Model:
    """Three equal balls of diameter 1 in a row, elastic."""
    x = cg.coordinates("a b c")
    v = [cg.rate(q) for q in x]
    events = [
        cg.Event(x[i + 1] - x[i] - 1, direction=-1, reset={v[i]: v[i + 1], v[i + 1]: v[i]}) for i in (0, 1)
    ]
    kinetic = sum(w**2 for w in v) / 2
    return cg.System("cradle", coordinates=list(x), kinetic=kinetic, events=events).compile()


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ([0, 2, 3, 1, 0, 0], [1, 2, 5, 0, 0, 1]),
        ([0, 1, 3, 0, 0, -1], [-2, 1, 2, -1, 0, 0]),
        ([0, 1, 2, 1, 0, 0], [0, 1, 5, 0, 0, 1]),
        ([0, 1.5, 3, 1, 0, -1], [-2, 1.5, 5, -1, 0, 1]),
    ],
)
def test_an_impact_goes_on_through_balls_that_touch(start: list[float], end: list[float]) -> None:
    """Equal elastic balls exchange their speeds, one pair after the other at one time."""
    sol = cradle().integrate((0, 3), start)
    assert sol.status == 0
    assert sol.y[:, -1] == pytest.approx(end, abs=1e-12)


@pytest.mark.parametrize("e", [0.1, 0.5, 0.9])
def test_impacts_accumulate_with_sensitivities_too(e: float) -> None:
    """The last of them are so slow that they would count as tangential."""
    y, factor = cg.coordinates("y"), cg.parameters("e")
    w = cg.rate(y)
    bounce = cg.Event(y, direction=-1, reset={w: -factor * w})
    model = unit_masses("fading", [y], potential=G * y, events=[bounce]).compile()
    sol = model.integrate((0, 30), [1.0, 0.0], {"e": e}, sensitivities=["e"])
    fall = math.sqrt(2 / G)
    assert (sol.status, sol.t_reached) == (-9, pytest.approx(fall * (1 + e) / (1 - e), abs=1e-6))


@pytest.mark.parametrize("direction", [1, 0, -1])
@pytest.mark.parametrize("power", ["x*|x|", "x**3"])
def test_an_odd_power_crosses_zero_once(power: str, direction: int) -> None:
    """x = sin(t + phase) is zero at multiples of pi; the rounding error of x there is not a second crossing."""
    x = cg.coordinates("x")
    event = cg.Event(x**3 if power == "x**3" else x * sp.Abs(x), direction=direction, name="zero")
    system = unit_masses("odd", [x], potential=x**2 / 2, events=[event])
    model = system.compile()
    for phase in np.linspace(0.1, 1.5, 40):
        start = {"x": np.sin(phase), "x_dot": np.cos(phase)}
        zeros = np.arange(1, 6) * np.pi - phase
        counted = (direction * np.cos(zeros + phase) >= 0).sum()
        for tolerance in (1e-6, 1e-9, 1e-12):
            for method in ("tsit5", "dop853"):
                sol = model.integrate((0, 17 - phase), start, method=method, rtol=tolerance, atol=tolerance)
                assert len(sol.t_events[0]) == counted


FLAT: dict[str, tuple[Any, Any, Any]] = {
    "time": (lambda at: sp.Max(at["t"], 0), lambda b: 1 + b, lambda b: 1.0),
    "falls": (lambda at: -sp.Max(at["t"], 0), lambda b: 1 + b, lambda b: 1.0),
    "branches": (
        lambda at: sp.Piecewise((0, at["t"] < 0), (sp.sin(at["t"]), True)),
        lambda b: 1 + b,
        lambda b: 1.0,
    ),
    "position": (
        lambda at: sp.Max(at["x"], 0),
        lambda b: math.acos(-b),
        lambda b: 1 / math.sin(math.acos(-b)),
    ),
    "speed": (lambda at: sp.Max(at["v"], 0), math.asin, lambda b: 1 / math.cos(math.asin(b))),
}


@pytest.mark.parametrize("kind", FLAT)
@pytest.mark.sample(2)
def test_a_guard_that_is_zero_before_it_leaves_occurs_where_it_leaves(kind: str) -> None:
    """x = -cos t, kicked by 1/3 when a guard that is zero up to then leaves zero."""
    made, when, slope = FLAT[kind]
    x = cg.coordinates("x")
    v, b = cg.rate(x), cg.parameters("b")
    guard = made({"t": cg.time - 1 - b, "x": x - b, "v": v - b})
    event = cg.Event(guard, direction=-1 if kind == "falls" else 1, reset={v: v + sp.Rational(1, 3)})
    model = unit_masses("kicked", [x], potential=x**2 / 2, events=[event]).compile()
    start = {"x": -1.0, "x_dot": 0.0}
    for value in np.linspace(0.05, 0.95, 6):
        t, given = when(value), {"b": value}
        expected = -math.cos(4) + math.sin(4 - t) / 3
        change = -math.cos(4 - t) / 3 * slope(value)
        for method in ("tsit5", "dop853", "vern9"):
            sol = model.integrate((0, 4), start, given, method=method, sensitivities=["b"], **PRECISE)
            assert sol.status == 0, sol.message
            assert sol.t_events[0] == pytest.approx([t], abs=1e-9)
            assert sol["x"][-1] == pytest.approx(expected, abs=1e-9)
            assert sol.sensitivity["x", "b"][-1] == pytest.approx(change, abs=1e-8)
        plain = model.integrate((0, 4), start, given, **PRECISE)
        assert plain.t_events[0] == pytest.approx([t], abs=1e-9)
        many = cg.ensemble(model, (0, 4), {**start, "x": np.full(9, -1.0)}, given, **PRECISE)
        np.testing.assert_array_equal(many["x"], np.full(9, plain["x"][-1]))
        found = model.gradient(cg.final("x"), (0, 4), start, given, by=["b"], **PRECISE)
        assert found["b"] == pytest.approx(change, abs=1e-8)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["reset", "logged", "terminal"])
@pytest.mark.parametrize("direction", [0, -1])
def test_a_guard_within_rounding_of_zero_still_arrives_after_the_reset_of_another_event(
    direction: int, kind: str
) -> None:
    """y - 1000 is zero 2e-12 after x, which its rounding errors do not resolve, but the steps do."""
    x, y = cg.coordinates("x y")
    v, w = cg.rate(x), cg.rate(y)
    does: dict[str, Any] = {"reset": {"reset": {w: -w / 2}}, "logged": {}, "terminal": {"terminal": True}}[
        kind
    ]
    bounce = cg.Event(x, direction=-1, reset={v: -v}, name="bounce")
    late = cg.Event(y - 1000, direction=direction, name="late", **does)
    model = unit_masses("late", [x, y], events=[bounce, late]).compile()
    sol = model.integrate((0, 1), [0.5, 1000.5 + 2e-12, -1.0, -1.0], max_step=0.01)
    assert sol.status == (1 if kind == "terminal" else 0)
    assert [len(t) for t in sol.t_events] == [1, 1]
    assert sol.t_reached == pytest.approx(0.5 if kind == "terminal" else 1, abs=1e-11)
    after = {"reset": 1000.25, "logged": 999.5, "terminal": 1000.0}[kind]
    assert sol["y"][-1] == pytest.approx(after, abs=1e-10)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["reset", "logged", "terminal"])
def test_a_guard_that_another_event_turns_back_at_zero_only_touches_it(kind: str) -> None:
    """x rises to 0, where the reset of another event makes it fall: by whatever rounding errors, it was not above."""
    x, y = cg.coordinates("x y")
    v, w = cg.rate(x), cg.rate(y)
    does: dict[str, Any] = {"reset": {"reset": {w: 2 * w}}, "logged": {}, "terminal": {"terminal": True}}[
        kind
    ]
    turns = cg.Event(y, reset={v: -v}, name="turns")
    falls = cg.Event(x, direction=-1, name="falls", **does)
    model = unit_masses("met", [x, y], events=[turns, falls]).compile()
    rng = np.random.default_rng(5)
    for t, a, b in rng.uniform(0.3, 1.0, (20, 3)):
        sol = model.integrate((0, 2), [-a * t, -b * t, a, b], max_step=rng.choice([0.05, 0.1, 0.3, 2.0]))
        assert [len(times) for times in sol.t_events] == [1, 0]
        assert sol.y[:, -1] == pytest.approx([a * (t - 2), b * (2 - t), -a, b], abs=1e-12)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["reset", "logged", "terminal"])
@pytest.mark.parametrize("between", [False, True])
def test_a_guard_that_stops_within_rounding_of_zero_occurs_when_it_is_pushed_through(
    between: bool, kind: str
) -> None:
    """y - 1000 comes to rest 2e-12 above zero in the reset of another event, and goes on in that of a third one."""
    x, y = cg.coordinates("x y")
    v, w = cg.rate(x), cg.rate(y)
    does: dict[str, Any] = {"reset": {"reset": {w: w / 2}}, "logged": {}, "terminal": {"terminal": True}}[
        kind
    ]
    events = [
        cg.Event(x, direction=-1, reset={v: -v, w: 0}, name="stops"),
        cg.Event(y - 1000, name="late", **does),
        cg.Event(x - 0.2, direction=1, reset={w: -1}, name="pushes"),
    ]
    if between:
        events.append(cg.Event(x - 0.1, direction=1, reset={v: 2 * v}, name="other"))
    model = unit_masses("pushed", [x, y], events=events).compile()
    sol = model.integrate((0, 1), [0.5, 1000.5 + 2e-12, -1.0, -1.0], max_step=0.01)
    at = 0.65 if between else 0.7
    assert sol.status == (1 if kind == "terminal" else 0)
    assert list(sol.t_events[1]) == pytest.approx([at], abs=1e-11)
    speed = 0.5 if kind == "reset" else 1.0
    assert sol["y"][-1] == pytest.approx(1000 - speed * (sol.t_reached - at), abs=1e-10)


def test_a_guard_that_crosses_where_a_kink_is_crosses_no_more_than_once() -> None:
    """x - z falls through zero where x, and the x + y of a kink, do; the reset of another event turns it there."""
    x, y, z = cg.coordinates("x y z")
    v, w, u = cg.rate(x), cg.rate(y), cg.rate(z)
    model = unit_masses(
        "once",
        [x, y, z],
        forces={u: sp.sign(x + y) / 2, w: sp.sign(x + y) / 3},
        events=[cg.Event(x, reset={v: -v / 2}, name="kicks"), cg.Event(x - z, name="logs")],
    ).compile()
    rng, most = np.random.default_rng(5), 0
    for t, a, b, c in rng.uniform(0.2, 1.0, (40, 4)):
        w0, u0 = -b - t / 3, -a * c / 2 - t / 2
        start = [a * t, -w0 * t - t**2 / 6, -u0 * t - t**2 / 4, -a, w0, u0]
        sol = model.integrate((0, t + 0.05), start, kinks=True, rtol=1e-11, atol=1e-11)
        assert list(sol.t_events[0]) == pytest.approx([t], abs=1e-11)
        most = max(most, sum(abs(at - t) < 1e-9 for at in sol.t_events[1]))
    assert most == 1


def test_a_guard_that_leaves_a_kink_with_the_value_of_a_rounding_error_has_not_jumped() -> None:
    """A reset turns back the motion where x falls through zero on a kink, which it then crosses again at once."""
    x, y, z = cg.coordinates("x y z")
    v, w, u = cg.rate(x), cg.rate(y), cg.rate(z)
    c, d, e = cg.parameters("c d e")
    side = sp.sign(x + y + 3 * z / 4 - c)
    falls = cg.Event(x - d, direction=-1, name="falls")
    kicks = cg.Event(z - x - e, reset={v: -3 * v / 4, u: 2 * u}, name="kicks")
    model = unit_masses(
        "left",
        [x, y, z],
        forces={w: -sp.Rational(7, 12) * side, u: sp.Rational(5, 6) + sp.Rational(3, 2) * side},
        events=[falls, kicks],
    ).compile()
    rng = np.random.default_rng(3)
    for _ in range(40):
        t, start = rng.uniform(0.1, 0.4), rng.uniform(-2, 2, 3)
        speed = np.array([-1 / 12, -5 / 21, 23 / 12]) * rng.uniform(0.8, 1.2, 3)
        met = start + speed * t + np.array([0, 7 / 12, -2 / 3]) * t**2 / 2
        at = {"c": met @ [1, 1, 0.75], "d": met[0], "e": met[2] - met[0]}
        sol = model.integrate((0, t + 0.1), [*start, *speed], at, kinks=True, rtol=1e-11, atol=1e-11)
        assert list(sol.t_events[1]) == pytest.approx([t], abs=1e-11)
        assert len(sol.t_events[0]) <= 1

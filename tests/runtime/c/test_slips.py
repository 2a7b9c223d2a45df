"""Events on slip velocities: they occur where a slip ends, and while the contact sticks their guards are rounding."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import sympy as sp
from slopes import check_slopes

import chaplygin as cg
from chaplygin.runtime import Model

T = cg.time
x, y = cg.coordinates("x y")
v, w = cg.rate(x), cg.rate(y)
a, s = cg.parameters("a s")
GUARDS = {
    "v": v,
    "-v/7": -v / 7,
    "v (1 + x^2)": v * (1 + x**2),
    "v + sign(v)": v + sp.sign(v),
    "v |v|": v * sp.Abs(v),
    "v^3": v**3,
    "tanh(3 v)": sp.tanh(3 * v),
}

# ---- a block on a floor with the friction 1, under the force a t: it comes to rest, sticks and leaves ----


@functools.cache
def block(guard: str, direction: int = 0, turns: bool = False) -> Model:
    """y counts the events; w stays 0."""
    reset = {y: y + 1, v: -v} if turns else {y: y + 1}
    event = cg.Event(GUARDS[guard], direction=direction, reset=reset, name="stop")
    system = cg.System(
        "block",
        coordinates=[x, y],
        kinetic=(v**2 + w**2) / 2,
        forces={v: a * T},
        contacts=[cg.Coulomb("floor", slip=v, normal=1, mu=1)],
        events=[event],
    )
    return system.compile()


SPEED, END = sp.Rational(3, 4), 4
FORCES = (sp.Rational(1, 2), -sp.Rational(1, 2))


def closed(force: Any) -> tuple[Any, Any]:
    """The time of the stop, and x at the end.

    v = s + a t^2 / 2 - t is zero first at 1, or at 2 (sqrt(7/4) - 1); from |a t| = 1 on it is a (t - 1/|a|)^2 / 2.
    """
    stop = (1 - sp.sqrt(1 - 2 * a * s)) / a
    return stop, s * stop + a * stop**3 / 6 - stop**2 / 2 + a * (END - sp.sign(force) / a) ** 3 / 6


def number(of: Any, force: Any) -> float:
    return float(of.subs({a: force, s: SPEED}))


def start(force: Any) -> Any:
    return (0, END), {"x": 0.0, "x_dot": float(SPEED), "y": 0.0, "y_dot": 0.0}, {"a": float(force)}


@pytest.mark.sample(8)
@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("direction", [0, 1, -1])
@pytest.mark.parametrize("force", FORCES)
@pytest.mark.parametrize("guard", list(GUARDS))
def test_an_event_on_a_slip_occurs_where_it_ends(guard: str, force: Any, direction: int, turns: bool) -> None:
    """Not while the block sticks, nor where it slips again, in the same direction or in the other."""
    model = block(guard, direction, turns)
    stop, x1 = (number(of, force) for of in closed(force))
    falls = -1 if guard == "-v/7" else 1
    expected = [stop] if direction * falls <= 0 else []
    for method, tolerance in (("tsit5", 1e-5), ("dop853", 1e-9), ("vern9", 1e-12), ("auto", 1e-8)):
        sol = model.integrate(*start(force), method=method, rtol=tolerance, atol=tolerance)
        assert sol.status == 0, sol.message
        assert sol.t_events[0] == pytest.approx(expected, abs=10 * tolerance)
        assert sol["x"][-1] == pytest.approx(x1, abs=10 * tolerance)
        assert sol["y"][-1] == len(expected)


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("force", FORCES)
@pytest.mark.parametrize("guard", ["v", "-v/7", "v (1 + x^2)", "v + sign(v)"])
@pytest.mark.sample(1)
def test_derivatives_of_a_block_that_sticks(guard: str, force: Any, turns: bool) -> None:
    model, options = block(guard, turns=turns), {"rtol": 1e-11, "atol": 1e-11}
    expected = {name: number(closed(force)[1].diff(by), force) for name, by in (("a", a), ("x_dot", s))}
    sol = check_slopes(model, "x", expected, *start(force), **options, rel=1e-8)
    assert sol.sensitivity.y[1, :, -1] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_in_lanes_and_steppers_and_as_functions_too() -> None:
    model, (span, initial, parameters) = block("v"), start(FORCES[0])
    alone = model.integrate(span, initial, parameters)
    ens = cg.ensemble(model, span, {**initial, "x": np.zeros(9)}, parameters)
    assert ens.status.tolist() == [0] * 9
    assert (ens["x"] == alone["x"][-1]).all()
    assert ens["y"].tolist() == [1.0] * 9
    run, stops = model.stepper(initial, parameters), []
    for t in np.linspace(0.1, END, 40):
        other = model.stepper(initial, parameters)
        other.restore(run.save())
        run = other
        run.advance(t)
        stops += [float(time) for time, name in run.events if name == "stop"]
    assert stops == pytest.approx([1.0], abs=1e-6)
    assert run["y"] == 1.0
    sol = model.integrate(span, initial, parameters, events=lambda t, q: q[2])
    assert sol.t_events[-1] == pytest.approx([1.0], abs=1e-6)


# ---- a block that sticks and slips again and again, on a floor or on a belt ----


@functools.cache
def driven(guard: str, belt: Any) -> Model:
    slip = v - belt
    force = sp.Rational(13, 10) * sp.cos(7 * T / 3) + sp.Rational(3, 10) * sp.cos(13 * T / 10)
    system = cg.System(
        "driven",
        coordinates=[x],
        kinetic=v**2 / 2,
        potential=x**2,
        forces={v: force},
        contacts=[cg.Coulomb("floor", slip=slip, normal=1, mu=0.6 + 0.5 * sp.exp(-20 * slip**2))],
        events=[cg.Event(GUARDS[guard].xreplace({v: slip}), name="stop")],
    )
    return system.compile()


@pytest.mark.sample(6)
@pytest.mark.parametrize("belt", [0, sp.Rational(3, 10)])
@pytest.mark.parametrize("guard", list(GUARDS))
def test_every_slip_that_ends_is_an_event(guard: str, belt: Any) -> None:
    model, start = driven(guard, belt), {"x": np.linspace(-1, 1, 5), "x_dot": 0.7}
    for method, tolerance in (("tsit5", 1e-4), ("dop853", 1e-8)):
        options: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": tolerance}
        ens = cg.ensemble(model, (0, 20), start, **options)
        for i, x0 in enumerate(start["x"]):
            sol = model.integrate((0, 20), {"x": x0, "x_dot": 0.7}, **options)
            slips = [mode.t_end for mode in sol.modes[:-1] if mode.contacts["floor"] != "stick"]
            assert sol.status == 0, sol.message
            assert len(slips) > 8
            assert sol.t_events[0].tolist() == slips
            assert (ens["x"][i], ens["x_dot"][i]) == (sol["x"][-1], sol["x_dot"][-1])


def test_an_event_whose_threshold_jumps_with_the_slip_occurs_in_stick() -> None:
    """y - 2 in slip and y - 1 in stick, with y = 1.5 - t/2: at t = 1."""
    x, y, n = cg.coordinates("x y n")
    v, w, q = (cg.rate(each) for each in (x, y, n))
    force, mu = cg.parameters("F mu")
    guard = y - sp.Piecewise((2, v > 0), (1, True))
    model = cg.System(
        "threshold",
        coordinates=[x, y, n],
        kinetic=(v**2 + w**2 + q**2) / 2,
        forces={v: force},
        contacts=[cg.Coulomb("sole", slip=v, normal=1, mu=mu)],
        events=[cg.Event(guard, direction=0, reset={n: n + 1}, name="passes")],
    ).compile()
    start = {"x": 0, "y": 1.5, "n": 0, "x_dot": 0, "y_dot": -0.5, "n_dot": 0}
    sol = model.integrate((0, 2), start, {"F": 0.1, "mu": 0.5})
    assert sol["n"][-1] == 1
    assert sol.t_events[0] == pytest.approx([1], abs=1e-12)

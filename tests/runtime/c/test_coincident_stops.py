"""Slips that begin, and slips that stop within the step's error of another event: no mode is lost or invented.

Blocks on springs with dry friction move along arcs of harmonic motion, so times and states are known in closed form.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import chaplygin as cg

MASS, GRAVITY = 1.0, 9.81
NEAR = np.concatenate([-np.logspace(-14, -2, 13), [0.0], np.logspace(-14, -6, 9)])
METHODS = ("tsit5", "dop853", "vern7", "vern9", "rodas5p")


class Block:
    """x'' = -w^2 x - mu g sgn x', from (x, x'), as a chain of half oscillations; x' > 0 at first."""

    def __init__(self, stiffness: float, mu: float, x: float, speed: float) -> None:
        rate, shift = math.sqrt(stiffness / MASS), mu * MASS * GRAVITY / stiffness
        self.stops = [math.atan2(speed, rate * (x + shift)) / rate]
        self.turns = [math.hypot(x + shift, speed / rate) - shift]
        while abs(self.turns[-1]) > shift:  # the spring breaks it loose again
            self.stops.append(self.stops[-1] + math.pi / rate)
            self.turns.append(2.0 * math.copysign(shift, self.turns[-1]) - self.turns[-1])


@cache
def block(more: bool) -> Any:
    """A block, with one or two events without effect."""
    x = cg.coordinates("x")
    v = cg.rate(x)
    m, k, mu, g, t1, t2 = cg.parameters("m k mu g t1 t2", positive=True)
    events = [cg.Event(cg.time - t1, name="first")]
    if more:
        events.append(cg.Event(cg.time - t2, name="second"))
    system = cg.System(
        "block",
        coordinates=[x],
        kinetic=m * v**2 / 2,
        potential=k * x**2 / 2,
        contacts=[cg.Coulomb("floor", slip=v, normal=m * g, mu=mu)],
        events=events,
        example={m: 1.0, k: 20.0, mu: 0.3, g: 9.81, t1: 1.0, **({t2: 2.0} if more else {}), x: 0.1, v: 0.0},
    )
    return system.compile("lagrange")


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("later", [None, 0.05])
def test_an_event_beside_a_stop(method: str, tolerance: float, later: float | None) -> None:
    """The events have lower indices than the contact, so they are searched for and handled first."""
    exact = Block(20.0, 0.3, 0.2, 2.0)
    model = block(later is not None)
    given = {"m": MASS, "k": 20.0, "mu": 0.3, "g": GRAVITY}
    settings = {"method": method, "rtol": tolerance, "atol": tolerance}
    start = {"x": 0.2, "x_dot": 2.0}
    alone = block(False).integrate((0, 1), start, {**given, "t1": 50.0}, **settings)
    stop = alone.modes[1].t_start
    for distance in NEAR:
        times = (
            {"t1": stop + distance}
            if later is None
            else {"t1": stop + distance, "t2": stop + distance + later}
        )
        run = model.integrate((0, 3), start, {**given, **times}, **settings)
        assert run.success, (distance, run.message)
        assert [mode.contacts["floor"] for mode in run.modes] == ["slip+", "slip-", "stick"], distance
        changes = [mode.t_start for mode in run.modes[1:]]
        np.testing.assert_allclose(
            changes, exact.stops, rtol=0, atol=30 * tolerance + 1e-12, err_msg=str(distance)
        )
        assert abs(run["x"][-1] - exact.turns[-1]) < 30 * tolerance + 1e-12
        assert [len(found) for found in run.t_events[: len(times)]] == [1] * len(times)


@cache
def two_blocks() -> Any:
    """Two independent blocks."""
    x, y = cg.coordinates("x y")
    v, w = cg.rate(x), cg.rate(y)
    m, k1, k2, mu, g = cg.parameters("m k1 k2 mu g", positive=True)
    system = cg.System(
        "two_blocks",
        coordinates=[x, y],
        kinetic=m * (v**2 + w**2) / 2,
        potential=k1 * x**2 / 2 + k2 * y**2 / 2,
        contacts=[cg.Coulomb("a", slip=v, normal=m * g, mu=mu), cg.Coulomb("b", slip=w, normal=m * g, mu=mu)],
        example={m: 1.0, k1: 20.0, k2: 3.0, mu: 0.3, g: 9.81, x: 0.1, y: 0.1, v: 0.0, w: 0.0},
    )
    return system.compile("lagrange")


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("method", METHODS)
def test_two_unequal_blocks_stop_together(method: str, tolerance: float) -> None:
    """Both stick from then on: the forces on both stay below the friction limit."""
    parameters = {"m": MASS, "k1": 20.0, "k2": 60.0, "mu": 0.6, "g": GRAVITY}
    first = Block(20.0, 0.6, 0.05, 1.0)
    (stop,) = first.stops
    rate = math.sqrt(60.0)
    speed = 0.6 * GRAVITY / rate * math.tan(rate * stop)  # from y = 0: the second one stops at that time too
    assert Block(60.0, 0.6, 0.0, speed).stops == pytest.approx([stop], rel=1e-14)
    for distance in np.concatenate([NEAR / 10, -NEAR / 10]):
        second = Block(60.0, 0.6, 0.0, speed + distance)
        run = two_blocks().integrate(
            (0, 2), {"x": 0.05, "y": 0.0, "x_dot": 1.0, "y_dot": speed + distance}, parameters,
            method=method, rtol=tolerance, atol=tolerance,
        )  # fmt: skip
        modes = [tuple(mode.contacts.values()) for mode in run.modes]
        assert run.success, run.message
        assert modes[0] == ("slip+", "slip+")
        assert modes[-1] == ("stick", "stick")
        assert modes[1:-1] in ([], [("stick", "slip+")], [("slip+", "stick")]), (distance, modes)
        assert abs(run.modes[-1].t_start - max(stop, *second.stops)) < 30 * tolerance + 1e-12
        assert abs(run["x"][-1] - first.turns[-1]) < 30 * tolerance + 1e-12
        assert abs(run["y"][-1] - second.turns[-1]) < 30 * tolerance + 1e-12


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("method", METHODS)
def test_a_slip_begins(method: str, tolerance: float) -> None:
    """The slip velocity grows as t^2 when a contact breaks loose: below the error of the interpolant's slope."""
    entry = cg.example("two_mass_chain")
    model = entry.system.compile(entry.forms[0])
    given = (entry.t_span, entry.initial, entry.parameters)
    exact = model.integrate(*given, method="vern9", rtol=1e-13, atol=1e-13)
    run = model.integrate(*given, method=method, rtol=tolerance, atol=tolerance)
    assert run.success, run.message
    assert [mode.contacts for mode in run.modes] == [mode.contacts for mode in exact.modes]
    times = [[mode.t_start for mode in sol.modes] for sol in (run, exact)]
    np.testing.assert_allclose(*times, rtol=0, atol=30 * tolerance + 1e-11)
    np.testing.assert_allclose(run.y[:, -1], exact.y[:, -1], rtol=0, atol=30 * tolerance + 1e-11)

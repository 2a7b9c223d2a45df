"""The last row of a failed run is the state that it has reached, which a stepper has too, with and without `t_eval`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import sympy as sp

import chaplygin as cg

START = {"x": 1.0, "x_dot": np.sqrt(20.0)}
TIMES = [None, [], [0.0, 0.1, 0.15, 1.0], np.linspace(0, 1, 101), [0.1], [0.0]]


@functools.cache
def blowing() -> Any:
    """x'' = 40 x^3 without energy: x' = sqrt(20) x^2, x = 1 / (1 - sqrt(20) t), which is infinite at 0.2236."""
    x = cg.coordinates("x")
    system = cg.System("blowing", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=-10 * x**4)
    return system.compile()


@pytest.mark.parametrize("times", TIMES, ids=repr)
def test_the_last_row_is_the_last_state(times: Any) -> None:
    model = blowing()
    run = model.stepper(START, (), max_steps=20, rtol=1e-10, atol=1e-10)
    with pytest.raises(cg.KernelError):
        run.advance(1.0)
    sol = model.integrate((0, 1), START, (), t_eval=times, max_steps=20, rtol=1e-10, atol=1e-10)
    assert sol.status == -4
    assert sol.t[-1] == sol.t_reached == run.t
    assert sol.y[:, -1].tobytes() == run.y.tobytes()
    np.testing.assert_allclose(sol.y[0], 1 / (1 - np.sqrt(20.0) * sol.t), rtol=1e-7)
    inside = np.array([t for t in (times if times is not None else []) if t < run.t])
    if times is not None:
        np.testing.assert_array_equal(sol.t[:-1], inside)
        ens = cg.ensemble(model, (0, 1), START, (), n=2, t_eval=times, max_steps=20, rtol=1e-10, atol=1e-10)
        assert ens.y.shape == (2, len(times), 2)
        np.testing.assert_array_equal(ens.y[:, : len(inside), 1], sol.y[:, :-1])
        assert np.isnan(ens.y[:, len(inside) :]).all()


def test_a_start_without_a_derivative_is_a_row() -> None:
    x = cg.coordinates("x")
    law = cg.System(
        "roots", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, forces={cg.rate(x): sp.sqrt(x)}
    ).compile()
    for times in (None, [0.5]):
        sol = law.integrate((0, 1), {"x": -1.0, "x_dot": 2.0}, (), t_eval=times)
        assert (sol.status, sol.t.tolist(), sol.y.tolist()) == (-2, [0.0], [[-1.0], [2.0]])


def test_the_row_is_not_doubled_where_a_time_was_asked_for() -> None:
    end = blowing().integrate((0, 1), START, (), max_steps=20).t_reached
    sol = blowing().integrate((0, 1), START, (), t_eval=[0.1, end], max_steps=20)
    assert sol.t.tolist() == [0.1, end]


def test_with_the_tangents_of_the_last_state() -> None:
    model = blowing()
    sol = model.integrate((0, 1), START, (), t_eval=[0.1], max_steps=20, sensitivities=["x"])
    full = model.integrate((0, 1), START, (), max_steps=20, sensitivities=["x"])
    assert sol.t[-1] == full.t[-1]
    assert sol.sensitivity["x", "x"][-1] == full.sensitivity["x", "x"][-1]


def test_accumulating_events_and_a_reset() -> None:
    y, e = cg.coordinates("y"), cg.parameters("e", positive=True)
    w = cg.rate(y)
    floor = cg.Event(y, direction=-1, reset={w: -e * w})
    ball = cg.System("ball", coordinates=[y], kinetic=w**2 / 2, potential=9.81 * y, events=[floor]).compile()
    start, numbers = {"y": 1.0, "y_dot": 0.0}, {"e": 0.5}
    run = ball.stepper(start, numbers)
    with pytest.raises(cg.KernelError):
        run.advance(3.0)
    for times in (None, [0.0, 1.0, 2.0]):
        sol = ball.integrate((0, 3), start, numbers, t_eval=times)
        assert sol.status == -9
        assert (sol.t[-1], sol.y[:, -1].tolist()) == (run.t, run.y.tolist())
        np.testing.assert_array_equal(sol.t_events[0], ball.integrate((0, 3), start, numbers).t_events[0])
        # the flights end where their geometric series does: t1 (1 + 2 e / (1 - e))
        assert sol.t[-1] == pytest.approx(np.sqrt(2 / 9.81) * 3, abs=2e-3)

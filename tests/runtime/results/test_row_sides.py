"""Outputs before and after a jump are of its two sides: inputs, branches and modes. Coulomb: |friction| <= mu |N|."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit_masses import unit_masses

import chaplygin as cg

LIMIT = 0.2


@cache
def block() -> Any:
    """A block, m = 1, N = 1, that an input pushes."""
    x, mu, u = cg.coordinates("x"), cg.parameters("mu"), cg.inputs("u")
    v = cg.rate(x)
    contact = cg.Coulomb("c", slip=v, normal=1, mu=mu)
    return unit_masses("row_block", [x], forces={v: u}, contacts=[contact]).compile()


@cache
def fall(branches: str) -> Any:
    """A block that is pushed by what depends on the sign of a height y, while y falls with the acceleration 1."""
    x, y = cg.coordinates("x y")
    mu = cg.parameters("mu")
    v = cg.rate(x)
    force = {"sign": sp.sign(y) - 1, "piecewise": 2 * sp.Piecewise((0, y >= 0), (-1, True))}[branches]
    return unit_masses(
        f"row_{branches}",
        [x, y],
        potential=y,
        forces={v: force},
        contacts=[cg.Coulomb("c", slip=v, normal=1, mu=mu)],
        outputs={"side": sp.sign(y)},
    ).compile()


INPUTS: dict[str, Any] = {
    "held": ([0, 1], [0, 1.0]),
    "linear": ([0, 1, 1, 2], [0.1, 0.1, 1.0, 1.0], "linear"),
    "from one on": lambda t: 1.0 if t >= 1 else 0.0,
    "after one": lambda t: 1.0 if t > 1 else 0.0,
    "with the state": lambda t, y: 1.0 if t >= 1 else 0.0,
}


@pytest.mark.parametrize("kind", INPUTS)
def test_an_input_that_jumps_has_two_values_at_the_jump(kind: str) -> None:
    """The block sticks until t = 1, with the friction -u, then slips with the friction -mu: x(2) = (1 - mu) / 2."""
    run = block().integrate((0, 2), {"x": 0, "x_dot": 0}, {"mu": LIMIT}, inputs={"u": INPUTS[kind]})
    (row,) = np.flatnonzero(np.diff(run.t) == 0)
    assert run.t[row] == pytest.approx(1, abs=1e-15)
    before = 0.1 if kind == "linear" else 0.0
    assert run["u"][row : row + 2].tolist() == pytest.approx([before, 1.0], abs=1e-15)
    assert run["friction_c"][row : row + 2].tolist() == pytest.approx([-before, -LIMIT], abs=1e-15)
    assert np.abs(run["friction_c"]).max() <= LIMIT * (1 + 1e-12)
    assert run["x"][-1] == pytest.approx((1 - LIMIT) / 2, rel=1e-6)
    assert run.evaluate()["friction_c"].tolist() == run["friction_c"].tolist()
    assert run.evaluate()["x"].tolist() == run.y[0].tolist()


@pytest.mark.parametrize("kind", ["held", "linear", "from one on"])
@pytest.mark.parametrize("end", [1.0, 2.0])
def test_one_point_at_a_jump_is_the_one_before_it(kind: str, end: float) -> None:
    """With t_eval, and at the end of a run, for which nothing comes after it."""
    times = np.array([0.0, 0.5, 1.0, 2.0])
    run = block().integrate(
        (0, end), {"x": 0, "x_dot": 0}, {"mu": LIMIT}, inputs={"u": INPUTS[kind]}, t_eval=times[times <= end]
    )
    before = 0.1 if kind == "linear" else 0.0
    assert run["u"][2] == pytest.approx(before)
    assert run["friction_c"][2] == pytest.approx(-before)
    last = block().integrate((0, 1), {"x": 0, "x_dot": 0}, {"mu": LIMIT}, inputs={"u": INPUTS[kind]})
    at_end = (
        -LIMIT if kind == "from one on" else -before
    )  # a function has its new value at the end, and breaks it there
    assert last["friction_c"][-1] == pytest.approx(at_end)


def test_samples_hold_from_their_times_on_where_nothing_jumps() -> None:
    times, values = np.linspace(0, 2, 5), np.array([0.1, -0.1, 0.15, 0.05, -0.15])
    run = block().integrate(
        (0, 2.5), {"x": 0, "x_dot": 0}, {"mu": LIMIT}, inputs={"u": (times, values)}, t_eval=times
    )
    assert run["u"].tolist() == values.tolist()
    assert run["friction_c"].tolist() == (-values).tolist()


@pytest.mark.parametrize("kinks", [False, True])
@pytest.mark.parametrize("branches", ["sign", "piecewise"])
def test_a_branch_that_breaks_a_contact_has_two_values_there(branches: str, kinks: bool) -> None:
    """y falls from 0.1 to 0 at t = sqrt(0.2); then the force -2 breaks the contact: the friction is mu."""
    run = fall(branches).integrate(
        (0, 2), {"x": 0, "y": 0.1, "x_dot": 0, "y_dot": 0}, {"mu": LIMIT}, kinks=kinks
    )
    (row,) = np.flatnonzero(np.diff(run.t) == 0)
    assert run.t[row] == pytest.approx(np.sqrt(0.2), rel=1e-12)
    assert run["friction_c"][row : row + 2].tolist() == pytest.approx([0.0, LIMIT], abs=1e-15)
    assert run["side"][row : row + 2].tolist() == [1.0, -1.0]
    assert np.abs(run["friction_c"]).max() <= LIMIT * (1 + 1e-12)
    assert run["y"].tolist() == run.y[1].tolist()


def test_pictures_and_reruns_have_the_same_sides() -> None:
    from chaplygin.runtime.results.between_points import drawn

    start = {"x": np.zeros(2), "y": 0.1, "x_dot": 0, "y_dot": 0}
    runs = cg.ensemble(fall("piecewise"), (0, 2), start, {"mu": LIMIT})
    again = runs.rerun(1)
    for series in (drawn(again), again):
        assert np.abs(series["friction_c"]).max() <= LIMIT * (1 + 1e-12)
    pushed = block().integrate(
        (0, 2), {"x": 0, "x_dot": 0}, {"mu": LIMIT}, inputs={"u": INPUTS["from one on"]}
    )
    assert np.abs(drawn(pushed)["friction_c"]).max() <= LIMIT * (1 + 1e-12)


def test_a_reset_at_a_jump_of_an_input_has_the_input_of_each_side() -> None:
    """v = t reaches 1 at t = 1, where the input jumps from 3 to 7 and a reset stops the motion."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    v = cg.rate(x)
    stopped = unit_masses(
        "row_stop",
        [x],
        forces={v: 1},
        outputs={"doubled": 2 * u},
        events=[cg.Event(v - 1, direction=1, reset={v: 0}, name="stop")],
    ).compile()
    run = stopped.integrate(
        (0, 1.5), {"x": 0, "x_dot": 0}, inputs={"u": ([0, 1], [3, 7])}, method="rk4", step=0.25
    )
    (row,) = np.flatnonzero(np.diff(run.t) == 0)
    assert run.t[row] == 1
    assert run["doubled"][row : row + 2].tolist() == [6, 14]


def test_a_stepper_has_the_input_for_which_its_modes_are() -> None:
    """At t = 1 the block still sticks, and the input jumps in the next step; one set there chooses the modes anew."""
    run = block().stepper({"x": 0, "x_dot": 0}, {"mu": LIMIT}, {"u": INPUTS["held"]})
    for _ in range(2):
        run.advance(1.0)
        assert (run["u"], run["friction_c"], run.modes) == (0.0, 0.0, {"c": "stick"})
    again = run.__copy__()
    assert (again["u"], again["friction_c"]) == (0.0, 0.0)
    run.advance(1.5)
    assert (run["u"], run["friction_c"], run.modes) == (1.0, -LIMIT, {"c": "slip+"})
    again.set_inputs(u=([0, 1], [0, 1.0]))
    assert (again["u"], again["friction_c"], again.modes) == (1.0, -LIMIT, {"c": "slip+"})

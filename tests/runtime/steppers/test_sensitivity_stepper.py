"""Steppers with sensitivities, against closed forms and bit for bit against runs."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from refusals import refused

import chaplygin as cg

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11, "method": "vern9"}


def test_an_oscillator() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
    run = model.stepper(*start, sensitivities=["k", "x"], **TIGHT)
    sol = model.integrate((0, 3), *start, sensitivities=["k", "x"], **TIGHT)
    np.testing.assert_array_equal(run.advance(3.0), sol.y[:, -1])
    found = run.sensitivity
    np.testing.assert_array_equal(found.y, sol.sensitivity.y[:, :, -1])
    assert found["x", "k"] == pytest.approx(-3 * np.sin(6) / 4, abs=1e-9)
    assert found["energy", "k"] == pytest.approx(0.5, abs=1e-9)
    run.advance_by(1.0)
    assert run.sensitivity["x", "x"] == pytest.approx(np.cos(8), abs=1e-9)
    assert found["x", "x"] == pytest.approx(np.cos(6), abs=1e-9)  # it is that of its time
    assert (run.y.shape, run.parameters, run.model is model) == ((2,), {"m": 1, "k": 4}, True)
    assert run.evaluate() == pytest.approx({"x": run["x"], "x_dot": run["x_dot"], "energy": 2.0})
    with pytest.raises(cg.ArgumentError, match="'d_3' is not a quantity"):
        run["d_3"]
    assert model.stepper(*start, **TIGHT).sensitivity is None


def test_save_copy_and_pickle() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
    run = model.stepper(*start, sensitivities=["k"], **TIGHT)
    run.advance(1.0)
    snapshot, others = run.save(), [copy.copy(run), pickle.loads(pickle.dumps(run))]
    run.advance(2.0)
    for other in others:
        assert other.t == 1.0
        other.advance(2.0)
        np.testing.assert_array_equal(other.sensitivity.y, run.sensitivity.y)
    run.restore(snapshot)
    run.advance(2.0)
    np.testing.assert_array_equal(others[0].sensitivity.y, run.sensitivity.y)
    with pytest.raises(cg.ArgumentError, match="has sensitivities by k, and this run by m"):
        model.stepper(*start, sensitivities=["m"], **TIGHT).restore(snapshot)
    with pytest.raises(cg.ArgumentError, match="has sensitivities by k, and this run by nothing"):
        model.stepper(*start, **TIGHT).restore(snapshot)


def test_an_input_that_changes_on_the_way_and_one_that_is_varied() -> None:
    """m x'' = f + g: dx/df = t^2 / 2m, and dx/dm = -x/m."""
    x = cg.coordinates("x")
    m = cg.parameters("m", positive=True)
    f, g = cg.inputs("f g")
    system = cg.System("pushed", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2, forces={cg.rate(x): f + g})
    model = system.compile("lagrange")
    run = model.stepper({"x": 0, "x_dot": 0}, {"m": 2}, {"f": 1, "g": 0}, sensitivities=["f", "m"])
    run.advance(1.0)
    run.set_inputs(g=3.0)
    run.advance(2.0)
    assert run["x"] == pytest.approx((4 + 3) / 4)  # f 2^2 / 2m, and g (2 - 1)^2 / 2m
    assert run.sensitivity["x", "f"] == pytest.approx(1.0)
    assert run.sensitivity["x", "m"] == pytest.approx(-7 / 8)
    refused("set_inputs: the derivatives are by f", run.set_inputs, f=2.0)
    refused("set_inputs: the derivatives are by f", run.set_inputs, [2.0, 3.0])
    refused(r"f\(t, y\) by y is not known: g", run.set_inputs, g=lambda t, y: t)
    refused("set_state: the derivatives are those of one run", run.set_state, x=0.0)
    refused("set_parameters: the derivatives are those of one run", run.set_parameters, m=1.0)


def test_a_block_that_stops_by_friction() -> None:
    x = cg.coordinates("x")
    mu, g = cg.parameters("mu g", positive=True)
    floor = cg.Coulomb("floor", slip=cg.rate(x), normal=g, mu=mu)
    block = cg.System(
        "block", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, contacts=[floor], outputs={"twice": 2 * x}
    )
    model = block.compile("lagrange")
    run = model.stepper({"x": 0, "x_dot": 2}, {"mu": 0.25, "g": 10}, sensitivities=["mu", "x_dot"], **TIGHT)
    run.advance(0.5)
    run.advance(2.0)
    assert run.modes == {"floor": "stick"}
    assert run.sensitivity["x", "x_dot"] == pytest.approx(0.8, abs=1e-9)  # u / (mu g)
    assert run.sensitivity["twice", "mu"] == pytest.approx(-6.4, abs=1e-8)  # -u^2 / (mu^2 g)

"""Batches with sensitivities, against closed forms and bit for bit against steppers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import sympy as sp
from springs import M, sprung

import chaplygin as cg

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11, "method": "vern9"}


def pulled_spring() -> cg.Model:
    return sprung("pulled", cg.inputs("f"), q=cg.coordinates("q"), mass=M).compile("chetaev")


def test_runs_that_are_advanced_pushed_reset_and_restored() -> None:
    """q = v sin(w t)/w + f (1 - cos w t)/k, w^2 = k/m, in momenta p = m dq/dt, which start with the masses."""
    model, n = pulled_spring(), 40
    masses = np.linspace(0.5, 2, n)
    start = {"q": 0, "q_dot": 1.5}, {"m": masses, "k": 4.0}
    names = ["m", "q_dot"]
    batch = model.batch(*start, {"f": 0.0}, n=n, sensitivities=names, **TIGHT)
    runs = [
        model.stepper({"q": 0, "q_dot": 1.5}, {"m": m, "k": 4.0}, {"f": 0.0}, sensitivities=names, **TIGHT)
        for m in masses
    ]

    def agree(which: Any = slice(None)) -> None:
        found = batch.sensitivity
        assert found is not None
        np.testing.assert_array_equal(
            found.y[..., which], np.stack([r.sensitivity.y for r in runs], -1)[..., which]
        )
        np.testing.assert_array_equal(found["energy", "m"][0], runs[0].sensitivity["energy", "m"])

    w = np.sqrt(4 / masses)
    np.testing.assert_allclose(batch.sensitivity["p_q_dot", "m"], np.full(n, 1.5), rtol=1e-14)
    batch.advance_by(1.0)
    for run in runs:
        run.advance_by(1.0)
    agree()
    np.testing.assert_allclose(batch.sensitivity["q", "q_dot"], np.sin(w) / w, atol=1e-9)
    np.testing.assert_allclose(
        batch.sensitivity["q", "m"], -1.5 / (2 * masses) * (np.cos(w) - np.sin(w) / w), atol=1e-9
    )
    saved = batch.save()
    batch.advance_by(0.5, inputs={"f": masses})
    for run, f in zip(runs, masses):
        run.set_inputs(f=f)
        run.advance_by(0.5)
    agree()
    before = batch.sensitivity.y
    batch.restore(saved)
    batch.advance_by(0.5, inputs={"f": masses})
    np.testing.assert_array_equal(batch.sensitivity.y, before)
    batch.reset([3, 5], initial={"q_dot": [1.0, 2.0]})
    np.testing.assert_allclose(batch.sensitivity["p_q_dot", "m"][[3, 5]], [1.0, 2.0], rtol=1e-14)
    agree([0, 1, 2, 4, *range(6, n)])


def test_threads_do_not_change_a_bit_and_expressions_see_the_states() -> None:
    model, n = pulled_spring(), 100
    start = {"q": 0, "q_dot": np.linspace(1, 2, n)}, {"m": 1.0, "k": 4.0}, {"f": 0.0}
    one, two = (
        model.batch(*start, n=n, sensitivities=["f", "k", "m", "q", "q_dot"], threads=threads)
        for threads in (1, 2)
    )
    for batch in (one, two):
        batch.advance(2.0)
    np.testing.assert_array_equal(one.sensitivity.y, two.sensitivity.y)
    np.testing.assert_allclose(one.sensitivity["q", "f"], (1 - np.cos(4)) / 4, atol=1e-8)
    np.testing.assert_allclose(one.evaluate(cg.coordinates("q") ** 2), one["q"] ** 2)
    assert (
        model.batch(*(dict.fromkeys(names, 1.0) for names in (("q", "q_dot"), "mk", "f")), n=3).sensitivity
        is None
    )


@pytest.mark.parametrize("names", [None, ["m", "q_dot"]])
@pytest.mark.parametrize("again", [lambda b: pickle.loads(pickle.dumps(b)), copy.copy, copy.deepcopy])
def test_a_copy_continues_with_the_same_bits(again: Any, names: list[str] | None) -> None:
    """Both go on alike through a change of inputs and a reset, and neither changes the other."""
    model, n = pulled_spring(), 12
    start = {"q": np.linspace(0, 1, n), "q_dot": 1.5}, {"m": np.linspace(0.5, 2, n), "k": 4.0}, {"f": 0.5}
    batch = model.batch(*start, n=n, t0=0.25, sensitivities=names, **TIGHT)
    batch.advance(1.0)
    batch.reset([2], parameters={"k": 5.0})
    other = again(batch)
    before = batch.y.copy()
    other.set_inputs(f=2.0)
    other.advance_by(0.5)
    np.testing.assert_array_equal(batch.y, before)
    np.testing.assert_array_equal(batch["f"], np.full(n, 0.5))
    batch.set_inputs(f=2.0)
    batch.advance_by(0.5)
    other.reset([7], parameters={"k": 6.0})
    batch.reset([2, 7])
    m, q = np.linspace(0.5, 2, n)[7], 7 / 11
    np.testing.assert_allclose(batch["energy"][7], m * 1.5**2 / 2 + 4 * q**2 / 2, rtol=1e-14)
    np.testing.assert_allclose(other["energy"][7], m * 1.5**2 / 2 + 6 * q**2 / 2, rtol=1e-14)
    batch.reset([7], parameters={"k": 6.0})
    other.reset([2])
    for one in (batch, other):
        one.advance_by(0.5)
    np.testing.assert_array_equal(other.y, batch.y)
    np.testing.assert_array_equal(other.t, batch.t)
    if names is not None:
        tangents = [one.sensitivity.y for one in (batch, other) if one.sensitivity is not None]
        np.testing.assert_array_equal(*tangents)


def test_what_is_refused() -> None:
    model = pulled_spring()
    start = {"q": 0, "q_dot": 1}, {"m": 1.0, "k": 4.0}, {"f": 0.0}
    with pytest.raises(cg.ArgumentError, match="lanes = 2: the lanes hold the directions"):
        model.batch(*start, n=8, sensitivities=["k"], lanes=2)
    with pytest.raises(cg.ArgumentError, match="sensitivities: unknown z"):
        model.batch(*start, n=8, sensitivities=["z"])
    batch = model.batch(*start, n=8, sensitivities=["f"])
    with pytest.raises(cg.ArgumentError, match="set_inputs: the derivatives are by f"):
        batch.advance_by(0.1, inputs={"f": 1.0})
    with pytest.raises(cg.ArgumentError, match=r"has sensitivities by .*, and this run by"):
        model.batch(*start, n=8, sensitivities=["k"]).restore(batch.save())


def test_kinks_are_refused_where_steppers_give_the_derivatives() -> None:
    """x = X(t sqrt(k)) from rest under -k sign(x): dx/dk = t v / (2 k), which is 0 at rest, at 4 / sqrt(2 k)."""
    x, k = cg.coordinates("x"), cg.parameters("k", positive=True)
    v = cg.rate(x)
    system = cg.System("switched", coordinates=[x], kinetic=v**2 / 2, forces={v: -k * sp.sign(x)})
    model, start = system.compile("lagrange"), ({"x": -1, "x_dot": 0}, {"k": 50.0})
    with pytest.raises(
        cg.ArgumentError, match=r"no batch of switched: sensitivities, .* have one at .* = 0; use steppers"
    ):
        model.batch(*start, n=2, sensitivities=["k"])
    assert model.batch(*start, n=2).sensitivity is None
    run = model.stepper(*start, sensitivities=["k"], **TIGHT)
    run.advance(0.4)
    assert abs(run.sensitivity["x", "k"]) < 1e-9

"""Sensitivities of ensembles and batches: closed forms, and the bits of single runs and steppers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy import stats
from springs import M, sprung

import chaplygin as cg

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11, "method": "vern9"}
TIMES = np.linspace(0, 3, 4)


def oscillator_by_k(x: Any, v: Any, m: Any, k: Any, t: Any) -> Any:
    """dx/dk of x = x0 cos w t + v0 / w sin w t, w^2 = k / m."""
    w = np.sqrt(k / m)
    return (-t * x * np.sin(w * t) + v * (t * np.cos(w * t) / w - np.sin(w * t) / w**2)) / (2 * w * m)


def each_alone(model: Any, ensemble: Any, given: Any, names: list[str], **how: Any) -> None:
    """Every trajectory has the bits of its single run with the same sensitivities."""
    for i in range(len(ensemble)):
        initial, parameters, *inputs = (
            {name: np.broadcast_to(value, len(ensemble))[i] for name, value in entries.items()}
            for entries in given
        )
        sol = model.integrate(ensemble.t_span, initial, parameters, *inputs, sensitivities=names, **how)
        at = slice(None) if ensemble.t_eval is not None else -1
        np.testing.assert_array_equal(ensemble.y[..., i], sol.y[:, at])
        np.testing.assert_array_equal(ensemble.sensitivity.y[..., i], sol.sensitivity.y[:, :, at])
        assert ensemble.status[i] == sol.status
        assert ensemble.nfev[i] == sol.nfev


def test_an_oscillator_at_given_times_and_at_the_end() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    k, x = np.linspace(1, 9, 11), np.linspace(-1, 1, 11)
    given = {"x": x, "x_dot": 0.5}, {"m": 2.0, "k": k}
    names = ["k", "x"]
    ens = cg.ensemble(model, (0, 3), *given, t_eval=TIMES, sensitivities=names, **TIGHT)
    assert ens.sensitivity is not None
    assert (ens.sensitivity.names, ens.sensitivity.y.shape) == (("k", "x"), (2, 2, 4, 11))
    t = TIMES[:, None]
    np.testing.assert_allclose(ens.sensitivity["x", "k"], oscillator_by_k(x, 0.5, 2.0, k, t), atol=1e-9)
    np.testing.assert_allclose(ens.sensitivity["x", "x"], np.cos(np.sqrt(k / 2) * t), atol=1e-9)
    np.testing.assert_allclose(ens.sensitivity["energy", "k"], np.broadcast_to(x**2 / 2, (4, 11)), atol=1e-9)
    each_alone(model, ens, given, names, t_eval=TIMES, **TIGHT)
    end = cg.ensemble(model, (0, 3), *given, sensitivities=names, **TIGHT)
    np.testing.assert_array_equal(end.sensitivity["x", "k"], ens.sensitivity["x", "k"][-1])
    np.testing.assert_allclose(end.sensitivity["energy", "k"], x**2 / 2, atol=1e-9)
    plain = cg.ensemble(model, (0, 3), *given, **TIGHT)
    free = cg.ensemble(model, (0, 3), *given, sensitivities=names, sensitivity_control=False, **TIGHT)
    np.testing.assert_array_equal(free.n_steps, plain.n_steps)
    assert (end.n_steps >= plain.n_steps).all()
    assert plain.sensitivity is None


@pytest.mark.slow
def test_threads_chunks_and_processes_do_not_change_a_bit() -> None:
    from chaplygin.generated.chaplygin_sleigh import model
    from chaplygin.runtime.ensembles.job import EnsembleJob
    from chaplygin.runtime.problem.options import RunOptions

    n = 300
    initial = {"phi": 0, "x": 0, "y": 0, "omega": np.linspace(0.1, 2, n), "v": 1, "w": 0}
    given = initial, {"a": np.linspace(0.1, 0.5, n), "b": 0.1, "k": 0.7}
    names = ["a", "b", "k", "omega", "v", "phi"]  # more than a block of directions
    one = cg.ensemble(model, (0, 5), *given, n=n, sensitivities=names, threads=1)
    for how in ({"threads": 2}, {"threads": 2, "chunk": 7}, {"threads": 1, "chunk": 1}):
        other = cg.ensemble(model, (0, 5), *given, n=n, sensitivities=names, **how)
        np.testing.assert_array_equal(other.sensitivity.y, one.sensitivity.y)
        np.testing.assert_array_equal(other.y, one.y)
    few = {key: value[:3] if isinstance(value, np.ndarray) else value for key, value in given[0].items()}
    head = tuple(
        {k: v[:3] if isinstance(v, np.ndarray) else v for k, v in entries.items()} for entries in given
    )
    each_alone(model, cg.ensemble(model, (0, 5), few, *head[1:], n=3, sensitivities=names), head, names)
    job = EnsembleJob.of(model, (0, 5), n, *given, None, None, None, RunOptions(), sensitivities=names)
    rows = pickle.loads(pickle.dumps(job)).run(100, 110).y  # as in another process
    np.testing.assert_array_equal(rows[: len(model.states), 0], one.y[:, 100:110])
    np.testing.assert_array_equal(rows, job.run(0, n).y[:, :, 100:110])


def test_momenta_whose_start_differs_from_trajectory_to_trajectory() -> None:
    """p = m dq/dt and q = q0 cos w t + v0 / w sin w t, by m."""
    model = sprung("pulled", cg.inputs("f"), q=cg.coordinates("q"), mass=M).compile("chetaev")
    masses, v = np.array([1.0, 2.0, 0.5]), np.array([2.0, -1.0, 3.0])
    given = {"q": 0.0, "q_dot": v}, {"m": masses, "k": 4.0}, {"f": np.zeros(3)}
    names = ["m", "q_dot", "f"]
    ens = cg.ensemble(model, (0, 3), *given, t_eval=TIMES, sensitivities=names, **TIGHT)
    w, t = np.sqrt(4 / masses), TIMES[:, None]  # dw/dm = -w / 2m
    by_m = -v / (2 * masses) * (t * np.cos(w * t) - np.sin(w * t) / w)
    np.testing.assert_allclose(ens.sensitivity["q", "m"], by_m, atol=1e-9)
    np.testing.assert_allclose(ens.sensitivity["p_q_dot", "q_dot"], masses * np.cos(w * t), atol=1e-9)
    rate = v * np.cos(w * t) + v * t * w / 2 * np.sin(w * t)  # p = m v cos w t
    np.testing.assert_allclose(ens.sensitivity["p_q_dot", "m"], rate, atol=1e-9)
    np.testing.assert_allclose(ens.sensitivity["q", "f"], (1 - np.cos(w * t)) / 4, atol=1e-9)
    each_alone(model, ens, given, names, t_eval=TIMES, **TIGHT)
    again = ens.rerun(2)
    np.testing.assert_array_equal(again.sensitivity["q", "m"][-1], ens.sensitivity["q", "m"][-1, 2])


def test_a_block_that_stops_by_friction() -> None:
    x = cg.coordinates("x")
    mu, g = cg.parameters("mu g", positive=True)
    floor = cg.Coulomb("floor", slip=cg.rate(x), normal=g, mu=mu)
    model = cg.System("block", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, contacts=[floor]).compile(
        "lagrange"
    )
    u, friction = np.array([2.0, 1.0, 3.0]), np.array([0.25, 0.5, 0.75])
    given = {"x": 0.0, "x_dot": u}, {"mu": friction, "g": 10.0}
    ens = cg.ensemble(model, (0, 2), *given, sensitivities=["mu", "x_dot"], **TIGHT)
    np.testing.assert_allclose(ens["x"], u**2 / (20 * friction), atol=1e-9)
    np.testing.assert_allclose(ens.sensitivity["x", "x_dot"], u / (10 * friction), atol=1e-9)
    np.testing.assert_allclose(ens.sensitivity["x", "mu"], -(u**2) / (20 * friction**2), atol=1e-9)
    each_alone(model, ens, given, ["mu", "x_dot"], **TIGHT)


def test_errors_of_the_sensitivities_control_the_steps_of_each_trajectory() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    given = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": np.array([4.0, 1e-2, 25.0])}
    how: dict[str, Any] = {"rtol": 1e-7, "atol": 1e-7, "method": "vern9", "sensitivity_control": True}
    ens = cg.ensemble(model, (0, 40), *given, sensitivities=["k"], **how)
    each_alone(model, ens, given, ["k"], **how)
    free = cg.ensemble(model, (0, 40), *given, sensitivities=["k"], **{**how, "sensitivity_control": False})
    assert (ens.nfev > free.nfev).any()


def test_draws_and_a_trajectory_that_ends_early() -> None:
    x = cg.coordinates("x")
    gone = cg.Event(x - 5, name="gone", terminal=True)
    system = cg.System("drift", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, events=[gone])
    model = system.compile("lagrange")
    start = {"x": 0.0, "x_dot": stats.uniform(1, 3)}
    ens = cg.ensemble(model, (0, 2), start, n=20, t_eval=[1.0, 2.0], seed=1, sensitivities=["x_dot"])
    assert 0 < (ens.status == 1).sum() < 20
    expected = np.where(ens.draws["x_dot"] > 2.5, [[1.0], [np.nan]], [[1.0], [2.0]])
    np.testing.assert_allclose(ens.sensitivity["x", "x_dot"], expected, atol=1e-12)
    np.testing.assert_allclose(
        ens.sensitivity["energy", "x_dot"], ens.draws["x_dot"] + 0 * expected, atol=1e-12
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lanes": 4}, "lanes = 4: the lanes hold the directions of one trajectory's sensitivities"),
        ({"collect": {"end": cg.final("x")}}, r"collect= belongs to cg.study\(...\)"),
        ({"method": "auto"}, "method 'auto' does not integrate them"),
        ({"sensitivities": ["K"]}, "sensitivities: unknown K; known names are m, k, x, x_dot"),
        ({"sensitivities": []}, "sensitivities is empty"),
        ({"sensitivity_control": 2}, "sensitivity_control"),
        ({"sensitivities": None, "sensitivity_control": False}, "the run has no sensitivities; name them by"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    from chaplygin.generated.harmonic_oscillator import model

    how: dict[str, Any] = {"sensitivities": ["k"], **options}
    refused(message, cg.ensemble, model, (0, 1), {"x": [1, 2, 3], "x_dot": 0}, {"m": 1, "k": 4}, n=3, **how)


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


def test_what_batches_refuse() -> None:
    model = pulled_spring()
    start = {"q": 0, "q_dot": 1}, {"m": 1.0, "k": 4.0}, {"f": 0.0}
    with pytest.raises(cg.ArgumentError, match="lanes = 2: the lanes hold the directions"):
        model.batch(*start, n=8, sensitivities=["k"], lanes=2)
    refused("sensitivities: unknown z", model.batch, *start, n=8, sensitivities=["z"])
    batch = model.batch(*start, n=8, sensitivities=["f"])
    refused("set_inputs: the derivatives are by f", batch.advance_by, 0.1, inputs={"f": 1.0})
    with pytest.raises(cg.ArgumentError, match=r"has sensitivities by .*, and this run by"):
        model.batch(*start, n=8, sensitivities=["k"]).restore(batch.save())


def test_kinks_are_refused_where_steppers_give_the_derivatives() -> None:
    """x = X(t sqrt(k)) from rest under -k sign(x): dx/dk = t v / (2 k), which is 0 at rest, at 4 / sqrt(2 k)."""
    x, k = cg.coordinates("x"), cg.parameters("k", positive=True)
    v = cg.rate(x)
    system = cg.System("switched", coordinates=[x], kinetic=v**2 / 2, forces={v: -k * sp.sign(x)})
    model, start = system.compile("lagrange"), ({"x": -1, "x_dot": 0}, {"k": 50.0})
    words = r"no batch of switched: sensitivities, .* have one at .* = 0; use steppers"
    refused(words, model.batch, *start, n=2, sensitivities=["k"])
    assert model.batch(*start, n=2).sensitivity is None
    run = model.stepper(*start, sensitivities=["k"], **TIGHT)
    run.advance(0.4)
    assert abs(run.sensitivity["x", "k"]) < 1e-9

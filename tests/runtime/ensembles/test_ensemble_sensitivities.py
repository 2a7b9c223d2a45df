"""Sensitivities of ensembles, against closed forms and bit for bit against single runs."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
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
    with pytest.raises(cg.ArgumentError, match=message):
        cg.ensemble(model, (0, 1), {"x": [1, 2, 3], "x_dot": 0}, {"m": 1, "k": 4}, n=3, **how)

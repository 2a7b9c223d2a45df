"""Noise among the inputs: laws against theory, paths that depend on their place alone, and what is refused."""

from __future__ import annotations

import functools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy.linalg import expm, solve_continuous_lyapunov

import chaplygin as cg
from chaplygin.errors import ArgumentError
from chaplygin.runtime import core
from chaplygin.runtime.draws.noise import Paths
from chaplygin.runtime.interface.assumptions import NOT_NEGATIVE, NOT_ZERO
from chaplygin.runtime.studies.manifest import StudyFolderError

SPAN, START = (0, 3), {"x": 0, "x_dot": 0}
GUST = cg.noise.ou(tau=1.0, sigma=2.0, dt=0.1)
A, B = np.array([[0.0, 1.0], [-4.0, -0.4]]), np.array([[0.0], [1.0]])
SWAY = cg.noise.filter(A, B, np.eye(2), dt=0.1)
MANY, SEED = 100_000, 3


@functools.cache
def cart() -> Any:
    x, (F, G) = cg.coordinates("x"), cg.inputs("F G")
    v = cg.rate(x)
    system = cg.System("in_gusts", coordinates=[x], kinetic=v**2 / 2, forces={v: F + G})
    return system.compile()


def paths(noise: Any, until: float = 2.0, count: int = MANY) -> Any:
    return Paths.of(noise, (0.0, until), SEED, 0).at(0, count)


def close_in_law(found: Any, mean: float) -> None:
    """The mean of independent numbers is within four standard errors of theirs."""
    assert abs(found.mean() - mean) <= 4 * found.std() / math.sqrt(found.size) + 1e-12, (found.mean(), mean)


@pytest.mark.parametrize(("j", "episode"), [(0, 0), (1, 0), (7, 3), (2**40, 2**33)])
def test_numbers_are_those_of_philox(j: int, episode: int) -> None:
    key = (5 << 96) + (9 << 64) + 12345
    bits = np.random.Philox(key=key)
    bits.advance(((episode << 128) + (j << 64) - 1) % (1 << 256))  # NumPy counts before it makes a block
    words = bits.random_raw(12)[:10] >> np.uint64(12)
    uniform = (words.astype(float) + 0.5) * 2.0**-52
    runs = np.array([[j, episode]])
    assert (core.noise_numbers(key, runs, 10, False)[0] == uniform).all()
    normal = core.noise_numbers(key, runs, 10, True)[0]
    assert normal == pytest.approx(scipy.stats.norm.ppf(uniform), rel=1e-14)


COVARIANCES = {
    "ou": (GUST, lambda s: 4 * math.exp(-s)),
    "white": (cg.noise.white(0.1, density=0.5), lambda s: 5.0 * (s == 0)),
    "telegraph": (cg.noise.telegraph(0.7, 0.1, (1, 4)), lambda s: 2.25 * math.exp(-1.4 * s)),
    "sway": (SWAY[0], lambda s: (expm(A * s) @ solve_continuous_lyapunov(A, -B @ B.T))[0, 0]),
    "its rate": (SWAY[1], lambda s: (expm(A * s) @ solve_continuous_lyapunov(A, -B @ B.T))[1, 1]),
}


@pytest.mark.parametrize("name", COVARIANCES)
def test_the_covariance_of_a_process_is_its_own_from_the_start(name: str) -> None:
    noise, covariance = COVARIANCES[name]
    found = paths(noise)
    mean = 2.5 if name == "telegraph" else 0.0
    for k in (0, 7, 20):
        close_in_law(found[:, k], mean)
        for step in (0, 1, 5, 13):
            if k + step < found.shape[1]:
                close_in_law((found[:, k] - mean) * (found[:, k + step] - mean), covariance(0.1 * step))


def test_marginals() -> None:
    for noise, law in ((GUST, scipy.stats.norm(0, 2)), (SWAY[0], scipy.stats.norm(0, math.sqrt(5 / 16)))):
        assert scipy.stats.kstest(paths(noise)[:, 20], law.cdf).pvalue > 1e-3
    assert set(np.unique(paths(cg.noise.telegraph(0.7, 0.1, (1, 4))))) == {1.0, 4.0}


@pytest.mark.parametrize("moving", [False, True])
def test_drydens_gusts_have_the_spectra_of_mil_f_8785c(moving: bool) -> None:
    """From the page: sigma and L in feet, h = 500 ft, V = 100 ft/s, the wind at 20 ft 30 ft/s."""
    foot = 0.3048
    high, fast = 500 * foot, 100 * foot
    gusts = cg.noise.dryden((lambda t: high) if moving else high, fast, dt=0.1, wind=30 * foot)
    part = 0.177 + 0.000823 * 500
    lengths = [500 / part**1.2, 500 / part**1.2, 500]
    sigmas = [3 / part**0.4 * foot] * 2 + [3 * foot]
    for i, (length, sigma) in enumerate(zip(lengths, sigmas)):
        found = paths(gusts[i])
        for step in (0, 4, 15):
            s = 0.1 * step * 100 / length  # the inverse transforms of the spectra of the standard
            expected = sigma**2 * math.exp(-s) * (1 if i == 0 else 1 - s / 2)
            close_in_law(found[:, 2] * found[:, 2 + step], expected)
    several = [paths(gust, count=2000) for gust in gusts]
    for i in range(3):
        close_in_law(several[i][:, 5] * several[i - 1][:, 5], 0.0)


def test_a_gust_whose_altitude_rises_has_the_variance_of_each_time() -> None:
    rising = cg.noise.dryden(lambda t: 20 + 100 * t, 30.0, dt=0.02, wind=8.0)
    found = paths(rising[0])
    for k in (0, 50, 100):
        part = 0.177 + 0.000823 * (20 + 2 * k) / 0.3048
        close_in_law(found[:, k] ** 2, (0.8 / part**0.4) ** 2)


def test_a_path_depends_on_its_place_alone() -> None:
    whole = paths(SWAY[0], 3.0, 40)
    assert (Paths.of(SWAY[0], (0.0, 3.0), SEED, 0).at(17, 23) == whole[17:23]).all()
    assert (paths(SWAY[0], 1.0, 40) == whole[:, :11]).all()
    assert (paths(SWAY[0], 3.0, 40) == paths(pickle.loads(pickle.dumps(SWAY))[0], 3.0, 40)).all()
    assert (Paths.of(SWAY[0], (3.0, 0.0), SEED, 0).at(0, 40) == whole).all()
    others = [Paths.of(SWAY[0], SPAN, *key).at(0, 1000)[:, 5] for key in ((3, 0), (4, 0), (3, 1))]
    for i in range(3):
        close_in_law(others[i] * others[i - 1], 0.0)


@pytest.mark.parametrize("method", ["vern9", "rk4", "rodas5p"])
def test_runs_ensembles_and_studies_have_the_same_paths(method: str) -> None:
    inputs = {"F": GUST, "G": SWAY[1]}
    options = {"method": method, **({"step": 0.02} if method == "rk4" else {"rtol": 1e-8})}
    n = 37
    alone = [
        cart().integrate(SPAN, START, None,
                         {"F": GUST.path(SPAN, seed=7, trajectory=i, stream=0),
                          "G": SWAY[1].path(SPAN, seed=7, trajectory=i, stream=1)}, **options)
        for i in range(n)
    ]  # fmt: skip
    last = np.array([sol["x"][-1] for sol in alone])
    assert cart().integrate(SPAN, START, None, inputs, seed=7, **options)["x"][-1] == last[0]
    for way in (
        {"threads": 1, "lanes": 1},
        {"threads": 2, "chunk": 5},
        {"lanes": 4} if method != "rodas5p" else {},
    ):
        ens = cg.ensemble(cart(), SPAN, START, None, inputs, n=n, seed=7, **way, **options)
        assert (ens["x"] == last).all()
    assert ens.draws.seed == 7
    assert ens.rerun(5)["x"][-1] == last[5]
    assert (ens.inputs(5)["F"][1] == GUST.path(SPAN, seed=7, trajectory=5)[1]).all()
    made = {"collect": {"x": cg.final("x")}, "n": n, "seed": 7, **options}
    assert (cg.study(cart(), SPAN, START, None, inputs, **made).results["x"]["x"] == last).all()


@pytest.mark.parametrize("way", [{"lanes": 1, "threads": 1}, {"threads": 2, "chunk": 3}, {"lanes": 4}])
def test_a_run_that_goes_back_in_time_has_the_path_of_the_one_before(way: dict[str, int]) -> None:
    ens = cg.ensemble(cart(), (0, 3), START, None, {"F": GUST, "G": SWAY[0]}, n=9, seed=7)
    back = cg.ensemble(
        cart(), (3, 0), dict(zip(("x", "x_dot"), ens.y)), None, {"F": GUST, "G": SWAY[0]}, n=9, seed=7, **way
    )
    assert back.y == pytest.approx(np.zeros((2, 9)), abs=1e-8)
    assert [back.rerun(i).y[0, -1] for i in range(9)] == back.y[0].tolist()


@pytest.mark.parametrize("dt", [1e-3, 0.3, 2.0, 40.0, 1000.0])
def test_long_steps_keep_the_variance(dt: float) -> None:
    """One step of a stationary process changes no covariance: P = phi P phi^T + L L^T."""
    for a in (
        np.array([[-1000.0]]),
        np.array([[0.0, 1.0], [-40.0, -41.0]]),
        np.array([[0.0, 1.0], [-1.0, -2.0]]),
    ):
        b = np.eye(len(a))[:, -1:]
        law = cg.noise.filter(a, b, np.eye(len(a)), dt).law
        p = solve_continuous_lyapunov(a, -b @ b.T)
        assert law.phi @ p @ law.phi.T + law.gain @ law.gain.T == pytest.approx(
            p, rel=1e-9, abs=1e-9 * p.max()
        )
        assert law.phi == pytest.approx(expm(a * dt), abs=1e-12)


def test_tolerances_and_methods_have_one_path() -> None:
    """The force is known between its samples, so that runs agree to their tolerances."""
    times, values, _ = GUST.path(SPAN, seed=7)
    v = np.concatenate([[0], np.cumsum(np.diff(times) * (values[1:] + values[:-1]) / 2)])
    steps = np.diff(times) * v[:-1] + np.diff(times) ** 2 * (2 * values[:-1] + values[1:]) / 6
    for how in (
        {"rtol": 1e-6},
        {"rtol": 1e-9},
        {"rtol": 1e-12},
        {"method": "tsit5"},
        {"method": "rk4", "step": 0.1},
    ):
        found = cart().integrate(SPAN, START, None, {"F": GUST}, seed=7, **how)["x"][-1]
        assert found == pytest.approx(steps.sum(), rel=1e-9)


def test_processes_that_are_drawn_together() -> None:
    both = {"F": SWAY[0], "G": SWAY[1]}
    ens = cg.ensemble(cart(), SPAN, START, None, both, n=3, seed=1)
    F, G = (ens.inputs(2)[name][1] for name in "FG")
    assert (SWAY[1].path(SPAN, seed=1, trajectory=2, stream=0)[1] == G).all()  # that of F
    assert (SWAY[0].path(SPAN, seed=1, trajectory=2, stream=0)[1] == F).all()


def test_a_study_goes_on_with_the_seed_of_its_folder(tmp_path: Path) -> None:
    how = {"n": 2048, "collect": {"x": cg.moments("x")}, "out": tmp_path / "s"}
    first = cg.study(cart(), SPAN, START, None, {"F": GUST}, **how)
    again = cg.study(cart(), SPAN, START, None, {"F": GUST}, **how)
    assert again.seed == first.seed
    assert again.results["x"].mean == first.results["x"].mean
    with pytest.raises(StudyFolderError):
        cg.study(cart(), SPAN, START, None, {"F": cg.noise.ou(tau=1, sigma=2.5, dt=0.1)}, **how)


def test_brownian_motion() -> None:
    """The integral of white noise after time 3 is normal with variance 3."""
    ens = cg.ensemble(cart(), SPAN, START, None, {"F": cg.noise.white(0.05)}, n=20_000, seed=2)
    close_in_law(ens["x_dot"] ** 2, 3.0)


def test_sensitivities_go_along_a_path() -> None:
    found = cart().integrate(SPAN, START, None, {"F": GUST}, seed=7, sensitivities=["x_dot"])
    assert found.sensitivity["x", "x_dot"][-1] == pytest.approx(3.0, rel=1e-12)


def test_a_value_that_is_not_as_assumed_names_its_trajectory() -> None:
    signal = Paths.of(cg.noise.telegraph(1e-12, 0.5), (0.0, 1.0), SEED, 0)
    first = next(j for j in range(100, 200) if signal.at(j, j + 1).min() < 0)
    with pytest.raises(ArgumentError, match=f"F = -1 in trajectory {first}, but F is declared positive"):
        signal.rows("F", 90, 200).part(10, 110).check("F", NOT_NEGATIVE | NOT_ZERO)


def test_what_is_refused() -> None:
    made = cg.noise
    for wrong, message in (
        (lambda: made.ou(tau=0, sigma=1, dt=1), "tau = 0 must be positive"),
        (lambda: made.ou(tau=1, sigma=-1, dt=1), "sigma = -1 must be positive"),
        (lambda: made.ou(tau=1, sigma=1, dt=math.inf), "dt = inf is not finite"),
        (lambda: made.telegraph(1, 0.1, (2, 2)), "give two different numbers"),
        (lambda: made.filter([[0, 1], [-1, 0]], [[0], [1]], [[1, 0]], 0.1), "the process is not stationary"),
        (lambda: made.filter([[-1]], [1], [[1]], 0.1), r"\(m, m\), \(m, r\) and \(c, m\) are needed"),
        (lambda: made.dryden(1000, 30, 0.1, wind=8), "hold from 3 to 305 m"),
        (lambda: made.dryden(lambda t: -5.0, 30, 0.1, wind=8).path(SPAN, seed=1), "altitude"),
        (lambda: GUST.path(SPAN, seed=None), "seed = None; give an integer"),
        (lambda: cg.choice(np.zeros((0, 2))), "is not a table"),
        (lambda: cg.ensemble(cart(), SPAN, START, None, {"F": ([0, 1], np.ma.masked_equal([[1, 2]] * 2, 2))}, n=2),
         "values of F are not an array of real numbers: they have masked"),
        (lambda: cg.ensemble(cart(), SPAN, START, None, {"F": ([0, 1], np.ones((2, 2)) * 1j)}, n=2),
         "values of F are not an array of real numbers: their type is complex"),
        (lambda: GUST.path(SPAN, seed=1, episode=-1), "episode = -1 must be an integer, 0 or more"),
        (lambda: GUST.path(SPAN, seed=-1), "seed = -1 must be an integer"),
        (lambda: cart().integrate((0, 1e12), START, None, {"F": GUST}, seed=1), "too short for a run"),
        (lambda: cart().integrate(SPAN, START, None, {"F": GUST}, seed=1.5), "seed = 1.5 must be"),
        (lambda: cart().integrate(SPAN, {"x": GUST, "x_dot": 0}), "x"),
        (lambda: cg.ensemble(cart(), SPAN, {"x": GUST, "x_dot": 0}, n=2), "initial: x is noise.ou.*only inputs can"),
        (lambda: cart().gradient(cg.final("x"), SPAN, START, None, {"F": GUST}),
         "F is noise.ou.*draws no path; give that of one run"),
        (lambda: cart().linearize(state=START, inputs={"F": GUST}), "F is noise.ou.*draws no path"),
        (lambda: cart().batch({"x": GUST, "x_dot": 0}, n=2), "x = noise.ou.* is not an array of real numbers"),
        (lambda: cg.rare_event(cart(), SPAN, "x", 100, START, None, {"F": GUST}, above=9), "draws no path"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=message):
            wrong()

"""Kernel densities and functions f(rng) as draws: of the seed and the index alone, with the right laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, Philox
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin.errors import ArgumentError
from chaplygin.generated.harmonic_oscillator import model

DATA = np.concatenate(
    [np.random.default_rng(1).normal(1, 0.1, 60), np.random.default_rng(2).normal(4, 0.3, 20)]
)
WEIGHTS = np.linspace(1, 2, 80)
PAIRS = np.random.default_rng(3).multivariate_normal([1, -2], [[0.04, 0.03], [0.03, 0.09]], 50).T
N = 20_000


def skewed(rng: Generator) -> float:
    return float(rng.gamma(2.0) + rng.standard_normal(3).sum())


def both(rng: Generator) -> Any:
    first = rng.normal()
    return first, first + 0.1 * rng.uniform()


def drawn(initial: Any, n: int = N, **options: Any) -> Any:
    return cg.ensemble(model, (0, 0.1), initial, {"m": 1.0, "k": 4.0}, n=n, **{"seed": 5, **options}).draws


def test_a_kernel_density_has_its_distribution() -> None:
    """Against the integrals of SciPy's density; Kolmogorov and Smirnov's distance at 1 in 10,000."""
    kde = stats.gaussian_kde(DATA, weights=WEIGHTS)
    for sampling in ("random", "sobol", "latin", "antithetic"):
        found = np.sort(drawn({"x": kde, "x_dot": 0.0}, n=4096, sampling=sampling)["x"])
        exact = np.array([kde.integrate_box_1d(-np.inf, x) for x in found[::64]])
        assert np.abs(exact - (np.arange(0, 4096, 64) + 0.5) / 4096).max() < 2.2 / 64


def test_a_kernel_density_by_its_formula() -> None:
    """A point by the first uniform number, in the order of the points, and a normal number by the second."""
    kde = stats.gaussian_kde(DATA, weights=WEIGHTS)
    u = Generator(Philox(key=5)).random((N, 4))
    order = np.argsort(DATA)
    below = np.cumsum((WEIGHTS / WEIGHTS.sum())[order])
    points = DATA[order][np.searchsorted(below, u[:, 0])]
    expected = points + np.sqrt(kde.covariance[0, 0]) * stats.norm.ppf(u[:, 1])
    assert drawn({"x": kde, "x_dot": 0.0})["x"] == pytest.approx(expected, abs=1e-10)


def test_a_kernel_density_of_several_quantities() -> None:
    kde = stats.gaussian_kde(PAIRS)
    found = drawn(cg.jointly(("x", "x_dot"), kde))
    rows = np.array([found["x"], found["x_dot"]])
    wanted = np.cov(PAIRS, bias=True) + kde.covariance
    assert np.cov(rows) == pytest.approx(wanted, rel=0.05)
    assert rows.mean(axis=1) == pytest.approx(PAIRS.mean(axis=1), abs=5 * np.sqrt(np.diag(wanted).max() / N))


def test_functions_have_a_generator_for_each_trajectory() -> None:
    """Its key are the two uniform numbers of the trajectory times 2^53."""
    found = drawn({"x": skewed, "x_dot": 0.0}, n=300)["x"]
    keys = (Generator(Philox(key=5)).random((300, 4))[:, :2] * 2.0**53).astype(np.uint64)
    assert found.tolist() == [skewed(Generator(Philox(key=key))) for key in keys]
    pair = drawn([cg.jointly(("x", "x_dot"), both)], n=300)
    assert pair["x"].tolist() == [both(Generator(Philox(key=key)))[0] for key in keys]
    assert (np.abs(pair["x_dot"] - pair["x"] - 0.05) <= 0.05).all()


@pytest.mark.parametrize("source", [stats.gaussian_kde(DATA), skewed, stats.gaussian_kde(PAIRS), both])
def test_the_bits_depend_on_seed_and_index_alone(source: Any) -> None:
    """Not on threads, chunks or the number of trajectories; also in a study, and by processes' pieces of it."""
    joint = source is both or getattr(source, "d", 1) == 2
    initial = [cg.jointly(("x", "x_dot"), source)] if joint else {"x": source, "x_dot": 0.0}
    whole = drawn(initial, n=9000, threads=1)
    assert drawn(initial, n=9000, threads=2, chunk=100)["x"].tobytes() == whole["x"].tobytes()
    assert drawn(initial, n=8500)["x"].tobytes() == whole["x"][:8500].tobytes()
    found = cg.study(
        model, (0, 0.1), initial, {"m": 1.0, "k": 4.0}, n=9000, seed=5, collect={"end": cg.final("x")}
    )
    assert found.draws is not None
    assert found.draws["x"].tobytes() == whole["x"].tobytes()
    part = found.job.plan.fill({"initial": {}, "parameters": {}, "inputs": {}}, 4096, 5000, 9000)[1]
    assert part["x"].tobytes() == whole["x"][4096:5000].tobytes()
    assert found.rerun(8999).y[0, 0] == whole["x"][8999]


def test_draws_that_break_an_assumption() -> None:
    """m > 0: an error with the probability that the density says, or drawn again."""
    kde = stats.gaussian_kde(DATA - 0.9)
    likely = kde.integrate_box_1d(-np.inf, 0)
    start = {"x": 1.0, "x_dot": 0.0}
    with pytest.raises(ArgumentError, match=rf"m is declared positive, .* probability {likely:.3g}"):
        cg.ensemble(model, (0, 1), start, {"m": kde, "k": 4.0}, n=1000, seed=1)
    for source in (kde, lambda rng: rng.normal()):
        ens = cg.ensemble(model, (0, 1), start, {"m": source, "k": 4.0}, n=1000, seed=1, reject=True)
        assert ens.draws.redrawn > 0
        assert (ens.draws["m"] > 0).all()


def counting() -> Any:
    state = iter(range(10))
    return lambda rng: next(state)


@pytest.mark.parametrize(
    ("initial", "options", "text"),
    [
        (
            {"x": lambda: 1.0, "x_dot": 0},
            {},
            r"initial: x: the function needs no generator; it is called as f\(rng\)",
        ),
        (
            {"x": lambda rng, n: 1.0, "x_dot": 0},
            {},
            r"initial: x: the function needs rng, n; it is called as",
        ),
        (
            {"x": counting(), "x_dot": 0},
            {},
            r"x: the function returns 0.0 and then 1.0 for the same generator",
        ),
        (
            {"x": lambda rng: rng.normal(size=7), "x_dot": 0},
            {},
            r"x: the function returned .* must return one number",
        ),
        (cg.jointly(("x", "x_dot"), skewed), {}, r"jointly\(x, x_dot\): the function returned .* 2 numbers"),
        (cg.jointly(("x", "x_dot"), stats.gaussian_kde(DATA)), {}, "density is of 1 quantities, not of 2"),
        (
            {"x": stats.gaussian_kde(PAIRS), "x_dot": 0},
            {},
            "initial: x: the kernel density is of 2 quantities",
        ),
        ({"x": skewed, "x_dot": 0}, {"sampling": "sobol"}, "sampling='sobol': x is drawn by a function"),
        ({("x", "x_dot"): stats.multivariate_normal([0, 0])}, {}, r"cg.jointly\(\('x', 'x_dot'\), \.\.\.\)"),
        (
            {("x", "x_dot"): np.zeros((2, 9))},
            {"seed": None},
            r"key \('x', 'x_dot'\) has several names.*cg.jointly",
        ),
        ({("x", "x_dot"): stats.norm(), "k": stats.norm()}, {}, r"cg.jointly\(\('x', 'x_dot'\), \.\.\.\)"),
    ],
)
def test_what_cannot_be_drawn_says_why(initial: Any, options: dict[str, Any], text: str) -> None:
    refused(text, drawn, initial, n=9, **options)


def test_what_has_no_quantiles_is_refused_where_they_are_needed() -> None:
    start, numbers = {"x": stats.gaussian_kde(DATA), "x_dot": stats.norm()}, {"m": 1.0, "k": 4.0}
    with pytest.raises(ArgumentError, match="x has no quantiles, since it is drawn by a gaussian_kde"):
        cg.response(model, (0, 1), "x", start, numbers)
    with pytest.raises(ArgumentError, match="x is drawn by a function"):
        cg.rare_event(model, (0, 1), "x", 100, {"x": skewed, "x_dot": 0.0}, numbers, above=9.0)
    found = cg.rare_event(model, (0, 1), "x", 500, start, numbers, above=1.0, seed=1)
    assert 1e-4 < found.p < 1e-2


def test_a_folder_knows_what_was_drawn(tmp_path: Any) -> None:
    from chaplygin.runtime.studies.manifest import StudyFolderError

    def study(x: Any) -> Any:
        start, numbers = {"x": x, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
        collect = {"end": cg.final("x")}
        return cg.study(model, (0, 0.1), start, numbers, n=100, seed=1, collect=collect, out=tmp_path)

    study(stats.gaussian_kde(DATA))
    study(stats.gaussian_kde(DATA))
    for other in (stats.gaussian_kde(DATA, weights=WEIGHTS), skewed):
        refused(r"draws\.sources is", study, other, error=StudyFolderError)

"""Draws of ensembles: quantile functions against mpmath, the stated NumPy formula, sampling, joint distributions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from numpy.random import Generator, Philox
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin.errors import ArgumentError
from chaplygin.runtime.draws import distributions as laws
from chaplygin.runtime.draws.joint import factor
from chaplygin.runtime.draws.uniforms import SAMPLING, Uniforms

N = 500
FIXED = {"phi": 0, "x": 0, "y": 0, "omega": 1, "v": 1}
NUMBERS = {"a": 0.4, "b": 0.15, "k": 0.6}


def sleighs(
    n: int | None = N, initial: Any = FIXED, parameters: Any = NUMBERS, **options: Any
) -> cg.Ensemble:
    from chaplygin.generated.chaplygin_sleigh import model

    return cg.ensemble(model, (0, 1), initial, parameters, n=n, **options)


def probabilities() -> np.ndarray[Any, Any]:
    """Multiples of 2^-53, in the middle and far out on both sides."""
    middle = np.floor(np.linspace(0.001, 0.999, 41) * 2**53) / 2**53
    tails = 2.0 ** -np.arange(2, 54, 3)
    return np.concatenate([middle, tails, 1 - tails])


def normal(u: mp.mpf) -> mp.mpf:
    return mp.sqrt(2) * mp.erfinv(2 * u - 1)


@pytest.mark.parametrize(
    ("source", "exact", "bound", "scale"),
    [
        (stats.uniform(-1, 3), lambda u: -1 + 3 * u, 4e-16, 1),
        (stats.norm(0, 2), lambda u: 2 * normal(u), 1e-15, 0),
        (stats.norm(scale=0.5, loc=0), lambda u: normal(u) / 2, 1e-15, 0),
        (stats.lognorm(0.7, scale=3), lambda u: 3 * mp.exp(mp.mpf(0.7) * normal(u)), 1e-14, 0),
        (stats.expon(scale=4), lambda u: -4 * mp.log(1 - u), 1e-15, 0),
        (stats.weibull_min(1.6, 0, 2), lambda u: 2 * (-mp.log(1 - u)) ** (1 / mp.mpf(1.6)), 1e-14, 0),
        (stats.Normal(mu=0.0, sigma=2.0), lambda u: 2 * normal(u), 1e-15, 0),
        (stats.Uniform(a=-1.0, b=2.0), lambda u: -1 + 3 * u, 4e-16, 1),
        (stats.cauchy(), lambda u: mp.tan(mp.pi * (u - mp.mpf(1) / 2)), 2e-11, 0.05),
        (stats.logistic(), lambda u: mp.log(u / (1 - u)), 2e-11, 0.05),
        (stats.pareto(2.5), lambda u: (1 - u) ** (-1 / mp.mpf(2.5)), 2e-11, 0),
    ],
)
def test_quantiles_in_closed_form(
    source: Any, exact: Callable[[mp.mpf], mp.mpf], bound: float, scale: float
) -> None:
    """The error is relative, and where x = 0 is inside, relative to a scale of the distribution."""
    law = laws.law("x", source, compiled=True)
    assert isinstance(law, laws.Compiled)
    u = probabilities()
    with mp.workdps(40):
        for given, found in zip(u, law.quantile(u)):
            right = exact(mp.mpf(float(given)))
            assert abs(found - right) <= bound * (abs(right) + scale), given


def gamma(x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    a = mp.mpf("2.5")
    return mp.gammainc(a, 0, x, regularized=True), x ** (a - 1) * mp.exp(-x) / mp.gamma(a)


def beta(x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    return mp.betainc(2, 3.5, 0, x, regularized=True), x * (1 - x) ** 2.5 / mp.beta(2, 3.5)


def student(x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    tail = mp.betainc(2.5, 0.5, 0, 5 / (5 + x * x), regularized=True) / 2
    return (tail if x < 0 else 1 - tail), (1 + x * x / 5) ** -3 / (mp.sqrt(5) * mp.beta(0.5, 2.5))


def truncated(x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """A normal distribution between -1 and 2."""
    whole = mp.ncdf(2) - mp.ncdf(-1)
    return (mp.ncdf(x) - mp.ncdf(-1)) / whole, mp.npdf(x) / whole


@pytest.mark.parametrize(
    ("source", "of"),
    [
        (stats.gamma(2.5), gamma),
        (stats.beta(2, 3.5), beta),
        (stats.t(5), student),
        (stats.truncnorm(-1, 2), truncated),
    ],
)
def test_tables_meet_the_distribution_functions(
    source: Any, of: Callable[[mp.mpf], tuple[mp.mpf, mp.mpf]]
) -> None:
    law = laws.law("x", source, compiled=True)
    assert isinstance(law, laws.Compiled)
    assert law.kind == laws.TABLE
    u = probabilities()
    with mp.workdps(50):
        for given, x in zip(u, law.quantile(u)):
            below, density = of(mp.mpf(float(x)))
            assert abs((below - mp.mpf(float(given))) / density) <= 2e-11 * (abs(x) + 0.05), given


@pytest.mark.parametrize(
    "source",
    [
        stats.beta(0.5, 0.05),
        stats.beta(0.05, 0.5, loc=-3, scale=0.7),
        stats.truncnorm(-1, 2, loc=0.1, scale=0.3),
        stats.uniform(0.1, 0.2),
        stats.uniform(-1e9, 1e9 + 0.1),
        stats.gamma(0.3, loc=5),
        stats.arcsine(),
        stats.triang(0.3),
        stats.powerlaw(0.1),
    ],
    ids=lambda source: source.dist.name,
)
@pytest.mark.parametrize("compiled", [True, False])
def test_no_draw_is_out_of_the_support(source: Any, compiled: bool) -> None:
    """Of beta(0.5, 0.05), 8 % of the draws were beyond 1, by 2e-15."""
    law = laws.law("x", source, compiled=compiled)
    lowest, highest = source.support()
    assert law.support == (lowest, highest)
    u = np.concatenate([probabilities(), np.linspace(laws.LOWEST, laws.HIGHEST, 100_001)])
    found = law.quantile(u[:: 1 if compiled else 100])
    assert lowest <= found.min() <= found.max() <= highest


@pytest.mark.parametrize(
    "source", [stats.poisson(3.2), stats.binom(10, 0.3), stats.randint(2, 9), stats.geom(0.4)]
)
def test_discrete_draws(source: Any) -> None:
    law = laws.law("x", source, compiled=True)
    assert isinstance(law, laws.Steps)
    u = probabilities()
    assert (law.quantile(u) == source.ppf(u)).all()


def test_what_no_table_meets_is_left_to_scipy() -> None:
    source = stats.gamma(0.02)  # from 1e-308 to 1 within the middle of the probabilities
    law = laws.law("x", source, compiled=True)
    assert isinstance(law, laws.InSciPy)
    u = np.array([0.2, 0.9])
    assert law.quantile(u) == pytest.approx(source.ppf(u), rel=1e-12)


def test_quantiles_of_wrong_arguments() -> None:
    from chaplygin.runtime.core._core import quantile

    ones = np.ones(2)
    for kind, numbers, u in (
        (99, ones, ones / 2),
        (laws.NORMAL, np.ones(3), ones / 2),
        (laws.TABLE, np.array([-8.5, 4.0, 1.0, 0.0]), ones / 2),
        (laws.NORMAL, ones, np.array([0.5, 1.0])),
        (laws.NORMAL, ones, np.array([0.5, np.nan])),
        (laws.NORMAL, ones, np.ones((2, 2)) / 2),
        (laws.NORMAL, ones, [0.5]),
    ):
        with pytest.raises((ArgumentError, TypeError)):
            quantile(kind, numbers, u)


def test_the_stated_formula_gives_the_draws() -> None:
    ens = sleighs(
        initial={**FIXED, "omega": stats.norm(1, 0.1), "v": stats.expon(scale=2)},
        parameters={**NUMBERS, "k": stats.lognorm(0.2)},
        seed=7,
    )
    u = np.maximum(Generator(Philox(key=7)).random((N, 4))[:, :3], 2.0**-53)
    for name, source, column in (
        ("omega", stats.norm(1, 0.1), 0),
        ("v", stats.expon(scale=2), 1),
        ("k", stats.lognorm(0.2), 2),
    ):
        assert ens.draws[name] == pytest.approx(source.ppf(u[:, column]), rel=1e-13)
    assert (ens.draws.seed, ens.draws.sampling, list(ens.draws)) == (7, "random", ["omega", "v", "k"])
    assert ens.parameters["k"].tolist() == ens.draws["k"].tolist()


def test_draws_run_as_the_same_arrays_do() -> None:
    drawn = sleighs(initial={**FIXED, "v": stats.norm(1, 0.1)}, seed=3, threads=2)
    given = sleighs(initial={**FIXED, "v": drawn.draws["v"]})
    assert drawn.y.tobytes() == given.y.tobytes()
    assert drawn.rerun(5).y[:, -1].tolist() == drawn.y[:, 5].tolist()
    assert given.draws is None


def test_a_longer_study_begins_with_the_shorter_one() -> None:
    initial = {**FIXED, "v": stats.norm(1, 0.1), "omega": stats.gamma(2.5)}
    short, long = (sleighs(n, initial, seed=11).draws for n in (100, 9000))
    assert (short["v"] == long["v"][:100]).all()
    assert (short["omega"] == long["omega"][:100]).all()


def test_seeds() -> None:
    initial = {**FIXED, "v": stats.norm(1, 0.1)}
    first, second = sleighs(initial=initial), sleighs(initial=initial)
    assert first.draws.seed != second.draws.seed
    again = sleighs(initial=initial, seed=first.draws.seed)
    assert (again.draws["v"] == first.draws["v"]).all()


@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize("chunk", [1, 7])
def test_numbers_do_not_depend_on_chunks(sampling: str, chunk: int) -> None:
    count = 60
    whole = Uniforms(5, sampling, count, 5).block(0, count)
    parts = Uniforms(5, sampling, count, 5)
    pieces = [parts.block(i, min(i + chunk, count)) for i in range(0, count, chunk)]
    assert (np.concatenate(pieces, axis=1) == whole).all()
    assert (Uniforms(5, sampling, count, 5).block(41, count) == whole[:, 41:]).all()
    assert ((whole > 0) & (whole < 1)).all()


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000, 4097])
def test_latin_strata_are_all_met_once(count: int) -> None:
    numbers = Uniforms(2, "latin", count, 3).block(0, count)
    for row in numbers:
        assert sorted(np.floor(row * count).astype(int)) == list(range(count))


def test_latin_strata_are_independent_permutations() -> None:
    """Each of the 24 orders of 4 strata is as likely as any other: chi^2 of 23 degrees of freedom below its 0.999."""
    orders: dict[tuple[int, ...], int] = {}
    for seed in range(2400):
        order = tuple(np.floor(Uniforms(seed, "latin", 4, 1).block(0, 4)[0] * 4).astype(int))
        orders[order] = orders.get(order, 0) + 1
    assert sum((count - 100) ** 2 / 100 for count in orders.values()) + 100 * (24 - len(orders)) < 49.7
    first, second = Uniforms(1, "latin", 4000, 2).block(0, 4000)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(4000)


def test_antithetic_pairs_add_to_one() -> None:
    numbers = Uniforms(2, "antithetic", 11, 2).block(0, 11)
    assert numbers[:, 0:10:2] + numbers[:, 1:11:2] == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(("sampling", "gain"), [("sobol", 30), ("halton", 10), ("latin", 3)])
def test_means_of_even_points_are_better(sampling: str, gain: float) -> None:
    """The mean of u1 + u2, by 1024 points: random numbers have an error of sqrt(1/6/1024) = 0.0128."""
    error = [Uniforms(seed, sampling, 1024, 2).block(0, 1024).sum(axis=0).mean() - 1 for seed in range(30)]
    assert np.std(error) < 0.0128 / gain


def test_joint_normals() -> None:
    mean, cov = np.array([1.0, 2.0]), np.array([[0.1, 0.05], [0.05, 0.2]])
    joint = cg.jointly(("omega", "v"), stats.multivariate_normal(mean, cov))
    ens = sleighs(20_000, [{"phi": 0, "x": 0, "y": 0}, joint], seed=4)
    table = np.array([ens.draws["omega"], ens.draws["v"]])
    # four standard errors
    assert np.abs(table.mean(axis=1) - mean).max() < 4 * np.sqrt(0.2 / 20_000)
    assert np.abs(np.cov(table) - cov).max() < 4 * 0.2 * np.sqrt(2 / 20_000)
    z = stats.norm.ppf(np.maximum(Generator(Philox(key=4)).random((20_000, 4))[:, :2], 2.0**-53)).T
    assert table == pytest.approx(mean[:, None] + np.linalg.cholesky(cov) @ z, rel=1e-12)


def test_copulas_keep_margins_and_correlate() -> None:
    joint = cg.jointly(("a", "k"), [stats.norm(0.4, 0.1), stats.gamma(2.5)], [[1, 0.7], [0.7, 1]])
    ens = sleighs(20_000, FIXED, [{"b": 0.1}, joint], seed=4)
    for name, source in (("a", stats.norm(0.4, 0.1)), ("k", stats.gamma(2.5))):
        assert stats.kstest(ens.draws[name], source.cdf).pvalue > 1e-3
    rank = stats.spearmanr(ens.draws["a"], ens.draws["k"])[0]
    assert rank == pytest.approx(6 / np.pi * np.arcsin(0.35), abs=4 / np.sqrt(20_000))


def test_samples_are_drawn_as_columns() -> None:
    samples = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    ens = sleighs(3000, [{"phi": 0, "x": 0, "y": 0}, cg.jointly(("omega", "v"), samples)], seed=4)
    assert (ens.draws["v"] == 10 * ens.draws["omega"]).all()
    counts = np.unique(ens.draws["omega"], return_counts=True)[1]
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("given", ["(k, m)", "(m, k)", "DataFrame", "dict"])
@pytest.mark.parametrize("rows", ["in order", "shuffled", "random"])
def test_rows_of_a_table(given: str, rows: str) -> None:
    """Each row once, in order or shuffled, in chunks as in one piece; or any of them."""
    v = np.arange(20.0)
    table: Any = {"v": v, "omega": v + 100}
    if given == "DataFrame":
        table = pytest.importorskip("pandas").DataFrame(table)
    elif given != "dict":
        table = np.array([v + 100, v]) if given == "(k, m)" else np.array([v + 100, v]).T
    start = [{"phi": 0, "x": 0, "y": 0}, cg.jointly(("omega", "v"), table, rows=rows)]
    draws = sleighs(20, start, seed=4).draws
    found = draws["v"]
    assert (draws["omega"] == found + 100).all()
    assert (sorted(found) == v).all() == (rows != "random")
    assert (found == v).all() == (rows == "in order")
    assert (sleighs(7, start, seed=4).draws["v"] == found[:7]).all()
    if rows != "random":
        refused(r"initial: .*20 samples are fewer than 21 trajectories", sleighs, 21, start, seed=4)


def test_wrong_rows() -> None:
    words = "jointly: rows = 'none': give one of 'random', 'shuffled', 'in order'"
    refused(words, cg.jointly, ("omega", "v"), np.ones((2, 3)), rows="none")
    for joint, more, text in (
        (cg.jointly(("omega", "v"), JOINT.source, rows="shuffled"), {}, "rows = 'shuffled' is for samples"),
        (
            cg.jointly(("omega", "v"), np.ones((2, 9)), rows="in order"),
            {"reject": True},
            "only rows='random'",
        ),
    ):
        refused(text, sleighs, 3, [{"phi": 0, "x": 0, "y": 0}, joint], seed=4, **more)


def test_singular_covariances() -> None:
    matrix = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 9.0]])
    lower = factor("cov", matrix)
    assert lower @ lower.T == pytest.approx(matrix)
    assert (np.triu(lower, 1) == 0).all()


def test_inputs_and_vectors_can_be_drawn() -> None:
    from lane_models import torque_sleigh

    model = torque_sleigh()
    ens = cg.ensemble(
        model,
        (0, 0.1),
        [0, 0, 0, stats.norm(), 1],
        {"m": 1, "a": 0.2, "J": 0.5},
        {"tau": stats.uniform()},
        n=50,
        seed=1,
    )
    assert list(ens.draws) == ["omega", "tau"]
    assert (ens["tau"] == ens.draws["tau"]).all()


def test_draws_again_until_an_assumption_holds() -> None:
    source = stats.norm(1, 0.5)
    ens = sleighs(20_000, parameters={**NUMBERS, "k": source}, seed=7, reject=True)
    assert (ens.draws["k"] > 0).all()
    outside = source.cdf(0)
    assert ens.draws.redrawn == pytest.approx(
        20_000 * outside / (1 - outside), abs=4 * np.sqrt(20_000 * outside)
    )
    assert stats.kstest(ens.draws["k"], stats.truncnorm(-2, np.inf, 1, 0.5).cdf).pvalue > 1e-3
    part = sleighs(9000, parameters={**NUMBERS, "k": source}, seed=7, reject=True)
    assert (part.draws["k"] == ens.draws["k"][:9000]).all()


def test_expressions_follow_from_what_is_drawn_and_given() -> None:
    model = cg.example("chaplygin_sleigh").system.compile("maggi")
    a, b, k, v = sp.symbols("a b k v", real=True)
    tall = np.linspace(0.1, 0.5, N)
    ens = cg.ensemble(
        model,
        (0, 0.1),
        {**FIXED, "v": stats.norm(1, 0.1), "omega": v * k / 2},
        {"k": b + 2 * a, "a": tall, "b": a / 4},
        n=N,
        seed=1,
    )
    assert (ens.parameters["b"] == tall / 4).all()
    assert (ens.parameters["k"] == tall / 4 + 2 * tall).all()
    assert ens.draws["omega"] == pytest.approx(ens.draws["v"] * ens.parameters["k"] / 2, rel=1e-15)
    assert list(ens.draws) == ["v", "b", "k", "omega"]
    alone = cg.ensemble(model, (0, 0.1), FIXED, {**NUMBERS, "b": a / 4}, n=3)
    assert alone.parameters["b"].tolist() == [0.1] * 3


def test_wrong_expressions_are_named() -> None:
    model = cg.example("chaplygin_sleigh").system.compile("maggi")
    a, b, q = sp.symbols("a b q", real=True)
    for parameters, text in (
        (
            {**NUMBERS, "b": 2 * q},
            "parameters: b = 2*q: q is not a state, parameter or input of chaplygin_sleigh",
        ),
        ({**NUMBERS, "b": 2 * a, "a": b}, "follows from itself"),
        ({**NUMBERS, "zz": 2 * a}, "parameters: unknown zz"),
    ):
        refused(re.escape(text), cg.ensemble, model, (0, 1), FIXED, parameters, n=3)


JOINT = cg.jointly(("omega", "v"), stats.multivariate_normal([0, 0]))
REST = {"phi": 0, "x": 0, "y": 0}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"parameters": {**NUMBERS, "k": stats.norm(1, 0.5)}},
            r"parameters: k is declared positive, but \d+ of 500 draws are not .*with probability 0.0228",
        ),
        (
            {"parameters": {**NUMBERS, "k": stats.norm}},
            "parameters: k: the distribution has no parameters yet",
        ),
        (
            {"parameters": {**NUMBERS, "k": stats.norm([1, 2], 1)}},
            r"parameters: k: .*not an array of shape \(2,\)",
        ),
        (
            {"parameters": {**NUMBERS, "k": stats.norm(1, -1)}},
            "parameters: k: the median of the distribution is nan",
        ),
        ({"parameters": {**NUMBERS, "kk": stats.norm(1, 1)}}, "parameters: unknown kk; did you mean k"),
        ({"parameters": {**NUMBERS, "k": JOINT.source}}, r"parameters: k: .*cg\.jointly"),
        ({"initial": [REST, JOINT, 3]}, "initial: 3 stands beside cg.jointly"),
        ({"initial": [{**REST, "v": 1}, JOINT]}, "initial: v is given twice"),
        ({"initial": [REST, cg.jointly(("omega", "v"), np.ones((3, 4)))]}, r"samples have shape \(3, 4\)"),
        ({"initial": [REST, cg.jointly(("omega", "v"), [[1, np.nan], [1, 2]])]}, "initial: jointly.*omega"),
        (
            {"initial": [REST, cg.jointly(("omega", "v"), {"omega": [1], "when": [2], "v": [3]})]},
            r"further columns, when; leave them out, as samples\[\['omega', 'v'\]\] does",
        ),
        (
            {"initial": [REST, cg.jointly(("omega", "v"), stats.multivariate_normal([0, 0, 0]))]},
            "2 names for .* 3",
        ),
        (
            {"initial": [REST, cg.jointly(("omega", "v"), stats.dirichlet([1, 2]))]},
            "only multivariate_normal",
        ),
        ({"initial": [REST, cg.jointly(("omega", "v"), [stats.norm(), stats.norm()])]}, "need correlation="),
        (
            {"initial": [REST, cg.jointly(("omega", "v"), [stats.norm(), stats.norm()], [[1, 2], [2, 1]])]},
            "correlation is not positive semidefinite: its smallest eigenvalue is -1",
        ),
        (
            {"initial": [REST, cg.jointly(("omega", "v"), [stats.norm(), stats.norm()], [[1, 0.5], [0, 1]])]},
            "correlation is not symmetric",
        ),
        ({"initial": [0, 0, 0, stats.norm()]}, "initial has 4 entries; 5 are needed"),
        ({"initial": {**FIXED, "v": stats.norm()}, "n": None}, "n, the number of trajectories, is missing"),
        ({"initial": {**FIXED, "v": stats.norm()}, "seed": -1}, "seed = -1 must be an integer"),
        (
            {"initial": {**FIXED, "v": stats.norm()}, "sampling": "sobbol"},
            "sampling = 'sobbol' .* did you mean sobol",
        ),
        ({"initial": {**FIXED, "v": stats.norm()}, "sampling": "sobol", "reject": True}, "reject=True needs"),
        (
            {"sampling": "sobol"},
            "sampling = 'sobol' is given, but no argument is a distribution, such as scipy.stats",
        ),
        ({"seed": 1.5}, "seed = 1.5 must be an integer"),
        (
            {"parameters": {**NUMBERS, "k": stats.norm(-40, 1)}, "reject": True},
            "still break an assumption after 1000",
        ),
    ],
)
def test_wrong_arguments_are_named(given: dict[str, Any], text: str) -> None:
    refused(text, sleighs, **given)


def test_a_seed_is_taken_where_nothing_is_drawn() -> None:
    np.testing.assert_array_equal(sleighs(seed=3).y, sleighs().y)


def test_names_of_a_joint_distribution() -> None:
    with pytest.raises(ArgumentError, match=re.escape("jointly: names = ('v', 'v') must be different names")):
        cg.jointly(("v", "v"), np.ones((2, 3)))
    with pytest.raises(KeyError, match="'vv' was not drawn; did you mean v"):
        _ = sleighs(initial={**FIXED, "v": stats.norm()}, seed=1).draws["vv"]

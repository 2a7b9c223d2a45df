"""Studies: what is collected equals the same statistics of stored runs, whatever the threads, lanes and order."""

from __future__ import annotations

import functools
import math
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import example, given, settings, strategies as st
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin.errors import ArgumentError, ChaplyginError
from chaplygin.generated import harmonic_oscillator
from chaplygin.runtime import Model
from chaplygin.runtime.statistics.results import MomentsResult, Probability, Quantiles
from chaplygin.runtime.statistics.sketches import BLOCK, Counts, Moments
from chaplygin.runtime.studies.study import Study

N = 2 * BLOCK + 123
TIMES = np.array([0.0, 0.3, 1.0])
x, v, omega = sp.symbols("x v omega", real=True)


@functools.cache
def sleigh() -> Model:
    return cg.example("chaplygin_sleigh").system.compile("maggi")


def arguments(n: int = N, **options: Any) -> dict[str, Any]:
    example = cg.example("chaplygin_sleigh")
    initial = {**example.initial, "omega": stats.norm(1, 0.3), "v": stats.norm(1, 0.2)}
    parameters = {**example.parameters, "k": stats.lognorm(0.2, scale=0.6)}
    return {"t_span": (0, 1), "n": n, "initial": initial, "parameters": parameters, "seed": 5, **options}


def study(**collect: Any) -> Study:
    return cg.study(sleigh(), **arguments(), collect=collect)


@functools.cache
def stored() -> cg.Ensemble:
    return cg.ensemble(sleigh(), **arguments())


@functools.cache
def stored_at_times() -> cg.Ensemble:
    return cg.ensemble(sleigh(), **arguments(), t_eval=TIMES)


def test_columns_are_those_of_an_ensemble() -> None:
    found = study(
        end=cg.final("x", v, "energy"),
        path=cg.series("x", "w", times=TIMES),
        all=cg.table("x", "k", "t", "status", "n_steps"),
    ).results
    for name in ("x", "v", "energy"):
        assert (found["end"][name] == stored()[name]).all(), name
    for name in ("x", "w"):
        assert (found["path"][name] == stored_at_times()[name]).all(), name
    assert (found["all"]["k"] == stored().draws["k"]).all()
    assert (found["all"]["n_steps"] == stored_at_times().n_steps).all()
    assert (found["all"]["t"] == 1).all()
    assert (found["all"]["status"] == 0).all()


def test_moments() -> None:
    found = study(end=cg.moments("x", "omega"), path=cg.moments("x", "y", "v", at=TIMES)).results
    end, path = found["end"], found["path"]
    table = np.array([stored()["x"], stored()["omega"]])
    assert end.count == N
    assert end.covariance == pytest.approx(np.cov(table), rel=1e-12)
    for i, name in enumerate(("x", "omega")):
        assert end.mean[name] == pytest.approx(math.fsum(table[i]) / N, rel=1e-14)
        assert end.std[name] == pytest.approx(table[i].std(ddof=1), rel=1e-12)
        assert end.error[name] == pytest.approx(table[i].std(ddof=1) / math.sqrt(N), rel=1e-12)
        assert (end.minimum[name], end.maximum[name]) == (table[i].min(), table[i].max())
    for m in range(len(TIMES)):
        rows = np.array([stored_at_times()[name][m] for name in ("x", "y", "v")])
        assert path.covariance[m] == pytest.approx(np.cov(rows), rel=1e-11, abs=1e-16)
        assert path.mean["y"][m] == pytest.approx(rows[1].mean(), rel=1e-13)
    assert path.count.tolist() == [N] * 3


def test_quantiles_are_within_their_cells() -> None:
    q = [0.01, 0.5, 0.95]
    found = study(end=cg.quantiles("y", q), path=cg.quantiles("x", q, at=TIMES[1:])).results
    exact = np.quantile(stored()["y"], q, method="inverted_cdf")
    assert found["end"].values == pytest.approx(exact, rel=2**-10)
    rows = stored_at_times()["x"][1:]
    assert found["path"].values == pytest.approx(
        np.quantile(rows, q, axis=1, method="inverted_cdf"), rel=2**-10
    )
    low, high = found["end"].interval()
    assert (low < exact).all()
    assert (exact < high).all()


def test_zeros_have_a_cell_of_their_own_beside_the_smallest_numbers() -> None:
    still = cg.study(
        sleigh(),
        **arguments(20, initial=dict.fromkeys(sleigh().states, 0.0)),
        collect={"q": cg.quantiles("x", [0.1, 0.5])},
    ).results["q"]
    assert still.values.tolist() == [0.0, 0.0]
    draw = np.random.default_rng(2)
    values = np.concatenate(
        [np.zeros(7), -np.zeros(4), draw.choice([-1, 1], 60) * 2.0 ** draw.uniform(-1074, -1015, 60)]
    )
    parts = [Counts.of(part, 10) for part in np.array_split(draw.permutation(values), 5)]
    onward, back = (functools.reduce(Counts.add, some) for some in (parts, parts[::-1]))
    ranks = np.arange(1, len(values) + 1)
    assert onward.ranked(ranks).tobytes() == back.ranked(ranks).tobytes()
    assert onward.ranked(ranks) == pytest.approx(np.sort(values), rel=2**-10, abs=2.0**-1031)
    assert np.count_nonzero(onward.ranked(ranks) == 0) == 11


def test_histograms_and_probabilities() -> None:
    edges = np.linspace(0.5, 1.2, 8)
    found = study(
        h=cg.histogram("x", edges),
        p=cg.probability((x > 1) & (v < 1)),
        later=cg.probability(x > 0.3, at=TIMES),
    )
    values = stored()["x"]
    inside = values[values < edges[-1]]  # NumPy's last bin has both edges
    assert (found.results["h"].counts == np.histogram(inside, edges)[0]).all()
    assert found.results["h"].below == (values < edges[0]).sum()
    assert found.results["h"].above == (values >= edges[-1]).sum()
    assert found.results["p"].count == ((values > 1) & (stored()["v"] < 1)).sum()
    assert found.results["p"].n == N
    assert found.results["later"].count.tolist() == (stored_at_times()["x"] > 0.3).sum(axis=1).tolist()


def test_expressions() -> None:
    found = study(m=cg.moments(v**2 + omega, sp.Symbol("x")), q=cg.quantiles(sp.sin(x), [0.5])).results
    values = stored()["v"] ** 2 + stored()["omega"]
    assert found["m"].mean["omega + v**2"] == pytest.approx(values.mean(), rel=1e-13)
    exact = np.quantile(np.sin(stored()["x"]), [0.5], method="inverted_cdf")
    assert found["q"].values == pytest.approx(exact, rel=2**-10)


COLLECT = {
    "m": cg.moments("x", "y", at=TIMES),
    "q": cg.quantiles("x", [0.1, 0.5]),
    "p": cg.probability(x > 1),
    "end": cg.final("v"),
}


def bits(found: Study) -> list[Any]:
    """Every number of a study."""
    m, q = found.results["m"], found.results["q"]
    tables = [m.covariance, *m.mean.values(), *m.maximum.values(), q.values, found.results["end"]["v"]]
    return [table.tobytes() for table in tables] + [found.results["p"].count]


@pytest.mark.parametrize("options", [{"threads": 2}, {"threads": 4}, {"lanes": 1}, {"lanes": 8}])
def test_the_same_bits_whatever_runs_it(options: dict[str, Any]) -> None:
    from chaplygin.runtime.core._core import widest_lanes

    if options.get("lanes", 1) > widest_lanes():
        pytest.skip("this CPU has no registers of this width")
    once = cg.study(sleigh(), **arguments(), collect=COLLECT, threads=1)
    assert bits(cg.study(sleigh(), **arguments(), collect=COLLECT, **options)) == bits(once)


@pytest.mark.parametrize("size", [1, 7, BLOCK])
def test_trajectories_do_not_depend_on_their_chunk(size: int) -> None:
    job = cg.study(sleigh(), **arguments(), collect={"end": cg.final("x")}).job
    places = [(first, min(first + size, N)) for first in range(BLOCK - 7, BLOCK + 14, size)]
    found = np.hstack([job.ensemble(*place)[0].y for place in places])
    assert found.tobytes() == stored().y[:, BLOCK - 7 :][:, : found.shape[1]].tobytes()


class Backwards(Executor):
    """Runs three tasks, the last one first."""

    _max_workers = 3

    def __init__(self) -> None:
        self.tasks: list[tuple[Future[Any], Any, Any]] = []

    def submit(self, task: Any, /, *given: Any, **more: Any) -> Future[Any]:
        self.tasks.append((Future(), task, given))
        if len(self.tasks) == 3:
            for future, known, found in reversed(self.tasks):
                future.set_result(known(*found))
        return self.tasks[-1][0]


def test_parts_may_come_in_any_order() -> None:
    once = cg.study(sleigh(), **arguments(), collect=COLLECT)
    pool = Backwards()
    assert bits(cg.study(sleigh(), **arguments(), collect=COLLECT, workers=pool)) == bits(once)
    assert len(pool.tasks) == 3


def test_an_executor_runs_the_chunks() -> None:
    once = cg.study(sleigh(), **arguments(), collect=COLLECT)
    with ThreadPoolExecutor(2) as pool:
        assert bits(cg.study(sleigh(), **arguments(), collect=COLLECT, workers=pool)) == bits(once)


@pytest.mark.slow
def test_processes_run_the_chunks() -> None:
    """They load the model and the compiled condition from the cache."""
    once, far = (
        cg.study(sleigh(), **arguments(), collect=COLLECT, **options) for options in ({}, {"workers": 2})
    )
    assert bits(far) == bits(once)


def test_arrays_are_cut_into_chunks() -> None:
    speeds = np.linspace(0.5, 1.5, N)
    options = arguments(initial={**cg.example("chaplygin_sleigh").initial, "v": speeds})
    found = cg.study(sleigh(), **options, collect={"end": cg.final("x")})
    assert (found.results["end"]["x"] == cg.ensemble(sleigh(), **options)["x"]).all()


@pytest.mark.parametrize("kind", [tuple, range, list, np.ma.array, "table"])
def test_numbers_in_anything_that_an_ensemble_takes(kind: Any) -> None:
    """One number for each trajectory, in two chunks."""
    n = BLOCK + 5
    numbers = range(n) if kind is range else np.arange(n) if kind == "table" else kind(range(n))
    start = np.array([numbers, np.zeros(n)]) if kind == "table" else {"x": numbers, "x_dot": 0}
    given = {"n": n, "initial": start, "parameters": [1.0, 4.0]}
    found = cg.study(harmonic_oscillator.model, (0, 1), **given, collect={"end": cg.final("x")})
    assert found.results["end"]["x"] == pytest.approx(np.arange(n) * math.cos(2), rel=1e-6)
    assert found.rerun(n - 1)["x"][-1] == found.results["end"]["x"][n - 1]


def test_a_wrong_number_of_numbers_is_named() -> None:
    options: dict[str, Any] = {"n": 8192, "collect": {"end": cg.final("x")}}
    with pytest.raises(
        ArgumentError, match=r"initial: x has shape \(4096,\); a number or shape \(8192,\) is needed"
    ):
        cg.study(harmonic_oscillator.model, (0, 1), initial={"x": np.ones(4096), "x_dot": 0}, **options)
    with pytest.raises(
        ArgumentError, match=r"parameters has shape \(2, 3\); shape \(2,\) or \(2, 8192\) is needed"
    ):
        cg.study(harmonic_oscillator.model, (0, 1), initial=[1, 0], parameters=np.ones((2, 3)), **options)


def test_rerun_and_draws() -> None:
    found = cg.study(sleigh(), **arguments(), collect={"end": cg.final("x")})
    assert found.draws is not None
    assert (found.draws["omega"] == stored().draws["omega"]).all()
    i = BLOCK + 7
    assert found.rerun(i)["x"][-1] == found.results["end"]["x"][i]
    assert len(found) == N
    assert "8315 ok" in found.summary()
    refused("trajectory 8315 is not in", found.rerun, N)


@functools.cache
def falling() -> Model:
    """A stone that ends on the ground, and passes half of its height: z = h - t^2/2."""
    z, w = cg.coordinates("z"), cg.velocities("w")
    (h,) = (cg.parameters("h", positive=True),)
    events = [cg.Event(z, name="ground", terminal=True), cg.Event(z - h / 2, name="half")]
    return cg.System("stone", kinematics={z: w}, kinetic=w**2 / 2, potential=z, events=events).compile(
        "poincare"
    )


def test_parameters_are_quantities() -> None:
    """By name and as a symbol, together with what follows from them."""
    k = sp.Symbol("k", positive=True)
    found = study(m=cg.moments("x", "k"), q=cg.quantiles(k, [0.5], at=[0.3]), above=cg.probability(k > 0.6))
    draws, x_end = stored().draws, stored()["x"]
    assert draws is not None
    assert found.results["m"].covariance == pytest.approx(np.cov(x_end, draws["k"]), rel=1e-9)
    assert found.results["q"].values == pytest.approx(
        np.quantile(draws["k"], 0.5, method="inverted_cdf"), rel=2**-10
    )
    assert found.results["above"].count == np.count_nonzero(draws["k"] > 0.6)


def test_events_and_terminal_ends() -> None:
    heights = np.array([0.5, 2.0, 30.0])
    found = cg.study(
        falling(),
        (0, 3),
        initial={"z": heights, "w": 0.0},
        parameters={"h": heights},
        collect={
            "ground": cg.first_passage("ground"),
            "half": cg.events("half"),
            "end": cg.final("z", "t"),
            "path": cg.moments("z", at=[0.5, 1.5]),
        },
    )
    ground = np.sqrt(2 * heights)
    assert found.results["ground"][:2] == pytest.approx(ground[:2], rel=1e-9)
    assert math.isnan(found.results["ground"][2])
    assert [len(times) for times in found.results["half"]] == [1, 1, 0]
    assert found.results["half"].t == pytest.approx(np.sqrt(heights[:2]), rel=1e-9)
    assert found.results["end"]["t"] == pytest.approx([ground[0], ground[1], 3], rel=1e-9)
    assert found.results["end"]["z"] == pytest.approx([0, 0, 25.5], abs=1e-9)
    assert found.results["path"].count.tolist() == [3, 2]  # the first stone lies on the ground at 1.5
    assert found.results["path"].mean["z"][1] == pytest.approx((2 + 30) / 2 - 1.5**2 / 2, rel=1e-9)
    assert len(found.failed) == 0


@functools.cache
def explosive() -> Model:
    """x'' = x^3 grows beyond all bounds: x = x0 / (1 - t x0 / sqrt 2) if x' = x^2 / sqrt 2 at the start."""
    q, w = cg.coordinates("q"), cg.velocities("w")
    ten = cg.Event(q - 10, name="ten")
    return cg.System(
        "explosive", kinematics={q: w}, kinetic=w**2 / 2, potential=-(q**4) / 4, events=[ten]
    ).compile("poincare")


def test_failures_do_not_count() -> None:
    starts = np.array([0.1, 2.0, 0.2, 3.0])
    options: dict[str, Any] = {
        "initial": {"q": starts, "w": starts**2 / math.sqrt(2)},
        "rtol": 1e-10,
        "atol": 1e-12,
    }
    collect = {"m": cg.moments("q", at=[0.1, 1.0]), "end": cg.final("q"), "all": cg.table("status")}
    collect["ten"] = cg.events("ten")
    found = cg.study(explosive(), (0, 2), **options, collect=collect)
    assert found.failed.tolist() == [1, 3]
    assert found.results["m"].count.tolist() == [2, 2]
    assert [len(times) for times in found.results["ten"]] == [0, 0, 0, 0]  # the failures passed 10
    exact = starts / (1 - 2 * starts / math.sqrt(2))
    assert found.results["end"]["q"][[0, 2]] == pytest.approx(exact[[0, 2]], rel=1e-7)
    assert np.isnan(found.results["end"]["q"][[1, 3]]).all()
    assert (found.results["all"]["status"][[1, 3]] < 0).all() or np.isnan(
        found.results["all"]["status"]
    ).any()
    with pytest.raises(ChaplyginError, match="trajectory 1 failed"):
        cg.study(explosive(), (0, 2), **options, collect=collect, on_failure="raise")


def test_failures_make_statistics_nan_on_request() -> None:
    """Of two trajectories, one fails: as NumPy does with a NaN. Without failures nothing changes."""
    collect = {
        "m": cg.moments("q", at=[0.1, 1.0]),
        "q": cg.quantiles("q", [0.1, 0.9]),
        "h": cg.histogram("q", [0, 1]),
        "p": cg.probability(sp.Symbol("q", real=True) > 0.1),
        "end": cg.final("q"),
    }

    def found(starts: list[float]) -> dict[str, Any]:
        initial = {"q": np.array(starts), "w": np.array(starts) ** 2 / math.sqrt(2)}
        return cg.study(explosive(), (0, 2), initial=initial, collect=collect, on_failure="nan").results

    one = found([0.2, 2.0])
    assert one["m"].count.tolist() == [1, 1]
    table = np.array([0.2, np.nan])
    for numbers, expected in (
        (one["m"].mean["q"], [table.mean()] * 2),
        (one["m"].std["q"], [table.std()] * 2),
        (one["m"].maximum["q"], [table.max()] * 2),
        (one["m"].covariance.ravel(), [np.cov(table)] * 2),
        (one["q"].values, np.quantile(table, [0.1, 0.9])),
        (one["q"].interval()[0], np.quantile(table, [0.1, 0.9])),
        (one["h"].counts, [np.nan]),
        (one["h"].density, [np.nan]),
        ([one["p"].p, *one["p"].interval()], [np.nan] * 3),
    ):
        assert np.isnan(expected).all()
        assert np.isnan(numbers).all()
    assert np.isfinite(one["end"]["q"]).tolist() == [True, False]
    both = found([0.2, 0.3])
    assert both["p"].count == 2
    assert both["m"].mean["q"][1] == pytest.approx(np.mean([q / (1 - q / math.sqrt(2)) for q in (0.2, 0.3)]))


def test_unlikely_draws_are_allowed_and_likely_ones_refused_at_the_start() -> None:
    example = cg.example("chaplygin_sleigh")
    options = arguments(parameters={**example.parameters, "k": stats.norm(1, 0.25)})
    with pytest.raises(ArgumentError, match=r"k is declared positive.*probability 3.17e-05, in about 0.263"):
        cg.study(sleigh(), **options, collect={"end": cg.final("x")})
    again = cg.study(sleigh(), **options, collect={"end": cg.final("x")}, reject=True)
    assert np.isfinite(again.results["end"]["x"]).all()


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (3, "collect: e = 3 is not an entry; give cg.final"),
        (cg.final("xx"), "collect: e: 'xx' is not a quantity of .*did you mean x"),
        (cg.moments("x", at=[0.5, 2]), "collect: e: times"),
        (cg.moments("x", at=[]), "collect: e: at least one time"),
        (cg.moments("x", "x"), "collect: e: x, x must be different quantities"),
        (cg.quantiles("x", [0, 0.5]), r"collect: e: q = \[0, 0.5\] must be numbers between 0 and 1"),
        (cg.histogram("x", [1, 1, 2]), "collect: e: edges must be"),
        (cg.probability("x"), "collect: e: 'x' is not a condition"),
        (cg.probability(sp.Symbol("zz") > 1), "collect: e: .*'zz' is not a quantity of the model"),
        (cg.moments(sp.Symbol("zz") + 1), "collect: e: .*'zz' is not a quantity of the model"),
        (cg.first_passage("floor"), "collect: e: 'floor' is not an event of chaplygin_sleigh; it has none"),
    ],
)
def test_wrong_entries_are_named(entry: Any, text: str) -> None:
    refused(text, study, e=entry)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"collect": {}}, "collect must be a dict of entries"),
        ({"on_failure": "ignore"}, "on_failure = 'ignore': give one of 'exclude', 'raise', 'nan'"),
        ({"workers": "two"}, "workers = 'two' must be a number of processes, a dask.distributed.Client"),
        ({"workers": 2, "threads": 2}, "threads are those of this process"),
        ({"t_eval": [0.5]}, r"t_eval= belongs to cg.ensemble\(...\): times belong to the entries of collect"),
        ({"chunk": 7}, r"chunk= belongs to cg.ensemble\(...\)"),
        ({"executor": None}, r"executor= belongs to cg.ensemble\(...\): a study has workers="),
        ({"sensitivities": ["k"]}, r"sensitivities= belongs to cg.ensemble\(...\)"),
        ({"workers": 2, "collect": None}, "collect must be a dict of entries"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], text: str) -> None:
    refused(text, cg.study, sleigh(), **{**arguments(), "collect": {"end": cg.final("x")}, **options})


@pytest.mark.parametrize("name", ["collect", "until", "workers", "out", "on_failure"])
def test_an_ensemble_names_what_belongs_to_a_study(name: str) -> None:
    refused(rf"^{name}= belongs to cg.study\(...\)", cg.ensemble, sleigh(), **arguments(), **{name: None})


def test_entries_need_names() -> None:
    refused("moments: name at least one quantity", cg.moments)


numbers = st.lists(st.floats(allow_nan=False, width=64), min_size=1, max_size=60)


@given(numbers, numbers, st.floats(0, 1))
@example([-5e-324] * 4, [1.0], 0.0)
@settings(max_examples=200, deadline=None)
def test_counts_add_and_rank(first: list[float], second: list[float], q: float) -> None:
    """The number of any rank lies in the cell of the exact one: a relative error below 2^-10, subnormals apart."""
    both = Counts.of(np.array(first), 10).add(Counts.of(np.array(second), 10))
    whole = Counts.of(np.array(first + second), 10)
    assert both.keys.tolist() == whole.keys.tolist()
    assert both.counts.tolist() == whole.counts.tolist()
    rank = max(1, math.ceil(q * both.total))
    exact = sorted(first + second)[rank - 1]
    with np.errstate(invalid="ignore", over="ignore"):
        found = float(both.ranked([rank])[0])
    assert found == exact or abs(found - exact) <= max(2**-10 * abs(exact), 2.0**-1031)


SIZES = st.floats(1e-6, 1e6) | st.floats(-1e6, -1e-6) | st.just(0.0)  # their squares are normal numbers


@given(st.lists(SIZES, min_size=2, max_size=50), st.integers(0, 50))
@settings(max_examples=100, deadline=None)
def test_moments_add(values: list[float], cut: int) -> None:
    table = np.array(values)[None, None]
    use = np.ones((1, len(values)), dtype=bool)
    cut = min(cut, len(values))
    total = Moments.of(table[..., :cut], use[:, :cut]).add(Moments.of(table[..., cut:], use[:, cut:]))
    exact = [sp.Rational(value) for value in values]
    mean = sum(exact) / len(exact)
    products = float(sum((value - mean) ** 2 for value in exact))
    scale = float(max(abs(value) for value in exact))
    assert total.mean[0, 0] == pytest.approx(float(mean), abs=1e-14 * scale * len(values))
    assert total.products[0, 0, 0] == pytest.approx(products, rel=1e-9, abs=1e-13 * scale**2 * len(values))


def test_wilson_intervals_cover() -> None:
    """95 of 100 intervals contain the probability: 0.1 of 60 trials, over all counts with their binomial weights."""
    counts = np.arange(61)
    low, high = Probability(counts, np.full(61, 60)).interval()
    covered = stats.binom.pmf(counts, 60, 0.1)[(low < 0.1) & (high > 0.1)].sum()
    assert 0.93 < covered < 0.97
    # E. B. Wilson, J. Amer. Statist. Assoc. 22 (1927): the ends solve |p - q| = z sqrt(q (1 - q) / n)
    z = stats.norm.ppf(0.975)
    for end in (low[7], high[7]):
        assert abs(7 / 60 - end) == pytest.approx(z * math.sqrt(end * (1 - end) / 60), rel=1e-12)


def end(start: dict[str, Any], n: int, seed: int, **collect: Any) -> dict[str, Any]:
    """Results at the end of a motion x = x0 cos 2t + v0 sin 2t / 2 over a quarter of a turn: x = v0 / 2."""
    quarter = (0, math.pi / 4)
    return cg.study(spring(), quarter, start, {"m": 1, "k": 4}, n=n, seed=seed, collect=collect).results


@functools.cache
def spring() -> Model:
    return cg.example("harmonic_oscillator").system.compile()


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 400])
def test_intervals_cover(n: int) -> None:
    """Between 93 and 97 of 100 studies of a fixed size have the true value in their interval of 95 %."""
    start = {"x": 0, "x_dot": stats.norm(20, 2)}
    x_end = stats.norm(10, 1)
    q = [0.3, 0.5, 0.8]
    inside: dict[str, int] = dict.fromkeys(["mean", "p", *map(str, q)], 0)
    for seed in range(1000):
        found = end(start, n, seed, m=cg.moments("x"), p=cg.probability(x > 11), q=cg.quantiles("x", q))
        low, high = (each["x"] for each in found["m"].interval())
        inside["mean"] += low < 10 < high
        low, high = found["p"].interval()
        inside["p"] += low < x_end.sf(11) < high
        for each, low, high in zip(q, *found["q"].interval()):
            inside[str(each)] += low < x_end.ppf(each) < high
    assert all(930 <= count <= 970 for count in inside.values()), inside


@pytest.mark.slow
def test_intervals_of_means_of_few_numbers_cover() -> None:
    """Student's t: with the normal quantile 90 of 100 intervals of 8 numbers would have the mean."""
    start = {"x": 0, "x_dot": stats.norm(20, 2)}
    inside = 0
    for seed in range(1000):
        low, high = end(start, 8, seed, m=cg.moments("x"))["m"].interval()
        inside += low["x"] < 10 < high["x"]
    assert 930 <= inside <= 970


def test_intervals_of_quantiles_are_exact() -> None:
    """The quantile q lies between the order statistics l and u of n numbers with the probability P(l <= B < u)."""
    for n in (5, 20, 100, 1000):
        ranks = Quantiles(
            "rank", np.array([0.01, 0.2, 0.5, 0.95]), None, (Counts.of(np.arange(1.0, n + 1), 10),)
        )
        for q, low, high in zip(ranks.q, *ranks.interval()):
            below = stats.binom(n, q)
            first = 0 if np.isinf(low) else round(low)
            last = n + 1 if np.isinf(high) else round(high)
            # On each side 2.5 % at most are left out, and the next order statistic inwards leaves out more.
            assert below.cdf(first - 1) <= 0.025 < below.cdf(first)
            assert below.sf(last - 1) <= 0.025 < below.sf(last - 2)


def test_intervals_of_means_are_students() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    found = MomentsResult.of(("x",), None, Moments.of(values[None, None], np.ones((1, 4), dtype=bool)))
    low, high = found.interval(0.9)
    exact = stats.t(3, values.mean(), values.std(ddof=1) / 2).interval(0.9)
    assert (low["x"], high["x"]) == pytest.approx(exact, rel=1e-12)

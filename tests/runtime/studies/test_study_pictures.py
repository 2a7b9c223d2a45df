"""Pictures of studies and ensembles: what is drawn equals NumPy's statistics of stored runs."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin.errors import MissingExtraError
from chaplygin.generated.harmonic_oscillator import model as oscillator
from chaplygin.runtime.statistics.convergence import marked, marks
from chaplygin.runtime.statistics.results import Probability
from chaplygin.runtime.statistics.sketches import BLOCK
from chaplygin.runtime.studies.study import Study

pytest.importorskip("matplotlib")
N = 2 * BLOCK + 123
TIMES = np.array([0.0, 0.3, 1.0])
EDGES = np.linspace(0.2, 1.2, 11)
Z = stats.norm.ppf(0.975)
x = sp.symbols("x", real=True)


def arguments(**options: Any) -> dict[str, Any]:
    example = cg.example("chaplygin_sleigh")
    initial = {**example.initial, "omega": stats.norm(1, 0.3), "v": stats.norm(1, 0.2)}
    parameters = {**example.parameters, "k": stats.lognorm(0.2, scale=0.6)}
    return {"t_span": (0, 1), "n": N, "initial": initial, "parameters": parameters, "seed": 5, **options}


@functools.cache
def model() -> Any:
    return cg.example("chaplygin_sleigh").system.compile("maggi")


@functools.cache
def study() -> Study:
    collect = {
        "fan": cg.quantiles("x", [0.05, 0.5, 0.95], at=TIMES),
        "band": cg.moments("y", at=TIMES),
        "p": cg.probability(x > 0.8),
        "mean": cg.moments("x"),
        "bins": cg.histogram("x", EDGES),
        "sketch": cg.quantiles("x", [0.1, 0.9]),
        "end": cg.final("x", "y"),
    }
    return cg.study(model(), **arguments(), collect=collect)


@functools.cache
def stored() -> cg.Ensemble:
    return cg.ensemble(model(), **arguments())


@functools.cache
def stored_at_times() -> cg.Ensemble:
    return cg.ensemble(model(), **arguments(), t_eval=TIMES)


@pytest.fixture
def ax() -> Any:
    from matplotlib.figure import Figure

    return Figure().subplots()


def band(ax: Any, i: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the upper ends of a filled band, by its x."""
    points = ax.collections[i].get_paths()[0].vertices
    at = np.unique(points[:, 0])
    rows = [points[points[:, 0] == t, 1] for t in at]
    return np.array([row.min() for row in rows]), np.array([row.max() for row in rows])


def test_a_fan_has_quantiles_or_the_standard_deviation(ax: Any) -> None:
    found = study().plot.fan("fan", ax=ax)
    assert found is ax
    exact = np.quantile(stored_at_times()["x"], [0.05, 0.5, 0.95], axis=1, method="inverted_cdf")
    line = ax.lines[0]
    assert line.get_xdata().tolist() == TIMES.tolist()
    assert line.get_ydata() == pytest.approx(exact[1], rel=2**-10)
    for drawn, wanted in zip(band(ax), exact[[0, 2]]):
        assert drawn == pytest.approx(wanted, rel=2**-10)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("t [s]", "x [m]")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["5 % to 95 %", "median"]


def test_a_fan_of_moments(ax: Any) -> None:
    study().plot.fan("y", ax=ax)
    rows = stored_at_times()["y"]
    low, high = band(ax)
    assert ax.lines[0].get_ydata() == pytest.approx(rows.mean(axis=1), rel=1e-12)
    assert high - low == pytest.approx(2 * rows.std(axis=1, ddof=1), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("entry", "error"), [("end", 0), ("sketch", 2**-9), ("bins", 0)])
def test_a_histogram(ax: Any, entry: str, error: float) -> None:
    shown = study().plot.histogram
    if entry == "end":
        refused(r"plot.histogram: ax takes one panel, and there are 2: x, y", shown, entry, ax=ax)
        single = cg.study(model(), **arguments(), collect={"end": cg.final("x")})
        single.plot.histogram(ax=ax)
    else:
        shown(entry, ax=ax)
    density, edges, _ = ax.patches[0].get_data()
    values = stored()["x"]
    share = np.histogram(values, edges)[0] / len(values)
    assert abs(density * np.diff(edges) - share).max() <= (error > 0) * 0.01 + 1e-12
    if entry == "bins":
        assert (edges == EDGES).all()
        return
    q = [0.1, 0.9] if entry == "sketch" else [0.05, 0.5, 0.95]
    marked_at = [line.get_xdata()[0] for line in ax.lines]
    assert marked_at == pytest.approx(np.quantile(values, q, method="inverted_cdf"), rel=error or 1e-15)


@pytest.mark.parametrize("entry", ["bins", "sketch", "end"])
def test_an_exceedance_curve(ax: Any, entry: str) -> None:
    """The number of runs that are larger is exact at the ends of cells, and at every value that is kept."""
    values = stored()["x"]
    if entry == "end":
        stored().plot.exceedance("x", ax=ax)
    else:
        study().plot.exceedance(entry, ax=ax)
    at, drawn = ax.lines[0].get_data()
    assert drawn == pytest.approx([(values > each).mean() for each in at], abs=0)
    assert entry == "bins" or at[-1] >= values.max()  # so that the step before the largest value is drawn
    assert ax.get_yscale() == "log"
    low, high = Probability(np.round(drawn * N), np.full(len(drawn), N)).interval()
    ends = band(ax)
    assert ends[1].max() == pytest.approx(high.max())
    assert min(low[low > 0]) >= ends[0].min()


def test_the_convergence_of_a_probability(ax: Any) -> None:
    study().plot.convergence("p", ax=ax)
    n, drawn = ax.lines[0].get_data()
    hits = stored()["x"] > 0.8
    assert n.tolist() == [*marks(N), N]
    assert drawn.tolist() == [np.count_nonzero(hits[:m]) / m for m in n]
    ends = [stats.binomtest(int(hits[:m].sum()), int(m)).proportion_ci(method="wilson") for m in n]
    low, high = band(ax)
    assert low == pytest.approx([end.low for end in ends])
    assert high == pytest.approx([end.high for end in ends])
    assert ax.get_xscale() == "log"


@pytest.mark.parametrize("entry", ["mean", "end"])
def test_the_convergence_of_a_mean(ax: Any, entry: str) -> None:
    (stored() if entry == "end" else study()).plot.convergence("x" if entry == "end" else entry, ax=ax)
    n, drawn = ax.lines[0].get_data()
    values = stored()["x"]
    assert n.tolist() == [*marks(N), N]
    assert drawn == pytest.approx([values[:m].mean() for m in n], rel=1e-13)
    errors = np.array([values[:m].std(ddof=1) / np.sqrt(m) for m in n])
    assert band(ax)[1] - band(ax)[0] == pytest.approx(2 * Z * errors, rel=1e-9)


def test_estimates_are_remembered_after_the_same_numbers_whatever_the_chunks() -> None:
    job = study().job
    trails = []
    for size in (1, 2, 3):
        found = Study(job)
        for first in range(0, N, size * BLOCK):
            found.take(job.run(first, min(first + size * BLOCK, N)))
        found.finish()
        trails.append([found.results["p"].trail, found.results["mean"].trail["x"]])
    for others in trails[1:]:
        for one, other in zip(trails[0], others):
            assert one.n.tolist() == other.n.tolist()
            assert one.value.tobytes() == other.value.tobytes()
            assert one.low.tobytes() == other.low.tobytes()


def test_marks_are_few() -> None:
    found = marks(1 << 40)
    assert len(found) < 4 * 40
    assert all(marked(int(m)) for m in found)
    assert found[:10].tolist() == [4, 5, 6, 7, 8, 10, 12, 14, 16, 20]
    assert (found[found > BLOCK] % BLOCK == 0).all()


def test_no_interval_is_drawn_for_quasi_random_points(ax: Any) -> None:
    given = arguments(n=256, sampling="sobol")
    cg.study(model(), **given, collect={"p": cg.probability(x > 0.8)}).plot.convergence(ax=ax)
    assert not ax.collections


def test_a_scatter_matrix_marks_failures() -> None:
    """Failures have crosses where both numbers are known, and none in panels of the end."""
    steps = cg.ensemble(model(), **arguments(n=3000)).n_steps
    given = arguments(n=3000, max_steps=int(np.median(steps)))
    found = cg.study(model(), **given, collect={"end": cg.final("x")})
    bad = found.failed
    assert 0 < len(bad) < 3000
    figure = found.plot.scatter(["omega at start", "k", "x"])
    titles = {(ax.get_xlabel(), ax.get_ylabel()): ax for ax in figure.axes}
    assert ("omega at start [rad/s]", "x [m]") in titles
    panels = [ax for ax in figure.axes if ax.lines]
    assert len(panels) == 3
    draws = found.draws
    assert draws is not None
    crosses = panels[0].lines[1]
    assert crosses.get_marker() == "x"
    assert crosses.get_xdata().tolist() == draws["omega"][bad[:200]].tolist()
    assert crosses.get_ydata().tolist() == draws["k"][bad[:200]].tolist()
    points = panels[0].lines[0].get_xdata()
    assert points.tolist() == np.delete(draws["omega"], bad)[: len(points)].tolist()
    assert np.isnan(panels[1].lines[1].get_ydata()).all()


def test_one_name_is_drawn_against_what_varies() -> None:
    """In an ensemble of arrays without draws against the states; names are not read letter by letter."""

    def labels(figure: Any) -> tuple[list[str], list[str]]:
        return [ax.get_xlabel() for ax in figure.axes if ax.get_xlabel()], [
            ax.get_ylabel() for ax in figure.axes if ax.get_ylabel()
        ]

    found = cg.ensemble(model(), **arguments(n=50))
    across, down = labels(found.plot.scatter("x"))
    assert sorted(across[:-1]) == ["k [m]", "omega at start [rad/s]", "v at start [m/s]"]
    assert across[-1] == down[-1] == "x [m]"
    assert labels(found.plot.scatter(sp.Symbol("x")))[0] == across
    across, _ = labels(found.plot.scatter("k"))
    assert sorted(across[:-1]) == ["omega at start [rad/s]", "v at start [m/s]"]
    assert across[-1] == "k [m]"
    plain = oscillator.ensemble((0, 1), {"x": np.arange(9.0), "x_dot": 0}, {"m": 1, "k": 4})
    assert labels(plain.plot.scatter("x"))[0] == ["x_dot", "x [m]"]
    refused(r"plot.scatter: 'x_dto' is not known for every trajectory", found.plot.scatter, "x_dto")


def test_plot_chooses_and_writes(tmp_path: Path) -> None:
    figure = study().plot(file=tmp_path / "all.png")
    assert (tmp_path / "all.png").read_bytes()[:4] == b"\x89PNG"
    assert len(figure.axes) == 8
    labels = [(ax.get_title(loc="left"), ax.get_xlabel()) for ax in figure.axes]
    assert labels[0] == ("fan", "t [s]")
    assert ("p", "trajectories that count") in labels
    assert ("sketch", "x [m]") in labels


def test_an_ensemble_has_fans_or_distributions(tmp_path: Path) -> None:
    fans = stored_at_times().plot(file=tmp_path / "fans.png").axes
    assert [ax.get_ylabel() for ax in fans] == ["phi [rad]", "x [m]", "y [m]", "omega [rad/s]", "v [m/s]"]
    exact = np.quantile(stored_at_times()["x"], 0.5, axis=1, method="inverted_cdf")
    assert fans[1].lines[0].get_ydata().tolist() == exact.tolist()
    ends = stored().plot("x", file=tmp_path / "end.png").axes
    assert [ax.get_ylabel() for ax in ends] == ["density"]


def test_what_is_missing_is_named() -> None:
    bare = cg.study(model(), **arguments(n=100), collect={"p": cg.probability(x > 0.8)})
    refused(r"plot.fan: no entry has times; collect cg.quantiles\(..., at=times\)", bare.plot.fan)
    refused(r"plot.exceedance: no entry or quantity 'q' has a distribution", bare.plot.exceedance, "q")
    refused(r"plot.scatter: 'nothing' is not known for every trajectory", bare.plot.scatter, ["nothing", "k"])
    refused(r"plot.fan: nothing has times", stored().plot.fan)


def test_plots_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    refused(r"plot.fan needs matplotlib.*chaplygin\[plot\]", study().plot.fan, error=MissingExtraError)


def test_nothing_is_drawn_of_statistics_that_a_failure_made_nan(tmp_path: Path) -> None:
    collect = {"m": cg.moments("x"), "q": cg.quantiles("x", [0.5]), "h": cg.histogram("x", EDGES)}
    collect["p"] = cg.probability(x > 0.8)
    steps = cg.ensemble(model(), **arguments(n=50)).n_steps
    given = arguments(n=50, max_steps=int(np.median(steps)))
    found = cg.study(model(), **given, collect=collect, on_failure="nan")
    assert 0 < len(found.failed) < 50
    assert found.summary().count("nan") > 4
    assert all(
        not any(line.get_ydata()) for ax in found.plot(file=tmp_path / "a.png").axes for line in ax.lines
    )
    refused(r"plot.convergence: no entry is an estimate", found.plot.convergence)


def test_integrals_extremes_and_events(tmp_path: Path, ax: Any) -> None:
    """Their pictures and datasets have the numbers of the results."""
    pytest.importorskip("xarray")
    ball = cg.example("bouncing_ball")
    hits = next(iter(ball.system.compile().events))
    height = ball.system.compile().states[0]
    starts = {**ball.initial, height: stats.uniform(1, 2)}
    collect = {
        "area": cg.integral(height),
        "top": cg.peak(height),
        "hits": cg.events(hits),
        "first": cg.first_passage(hits),
    }
    found = cg.study(ball.system.compile(), (0, 2), starts, ball.parameters, n=300, seed=1, collect=collect)
    r, data = found.results, found.to_xarray()
    assert data["area"].values.tolist() == r["area"].tolist()
    assert data["top.value"].values.tolist() == r["top"].value.tolist()
    assert data["top.t"].values.tolist() == r["top"].t.tolist()
    assert data["first"].values.tolist() == r["first"].tolist()
    assert data["hits.t"].values.tolist() == r["hits"].t.tolist()
    assert data["hits.trajectory"].values.tolist() == r["hits"].trajectory.tolist()
    assert len(found.plot(file=tmp_path / "all.png").axes) == 5
    found.plot.exceedance("first", ax=ax)
    assert ax.lines[0].get_xdata()[0] == r["first"].min()

"""Studies that end when a result is precise enough: where, and that it does not depend on who runs them."""

from __future__ import annotations

import functools
import math
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin.generated.harmonic_oscillator import model as oscillator
from chaplygin.runtime import Model
from chaplygin.runtime.statistics.sketches import BLOCK, CHUNK
from chaplygin.runtime.studies.manifest import StudyFolderError
from chaplygin.runtime.studies.precision import decisions, pieces

x = sp.Symbol("x")
MOST = 2_000_000
MEAN = cg.precision("m", relative=1e-3)


@functools.cache
def spring() -> Model:
    return cg.example("harmonic_oscillator").system.compile()


def study(model: Any = oscillator, n: int = MOST, **options: Any) -> cg.Study:
    """x at t = 0 is normal with mean 1 and standard deviation 0.2."""
    given = {
        "initial": {"x": stats.norm(1, 0.2), "x_dot": 0},
        "parameters": {"m": 1, "k": 1},
        "seed": 11,
        "collect": {"m": cg.moments("x"), "end": cg.final("x")},
        "until": MEAN,
    }
    return cg.study(model, (0, 0), n=n, **{**given, **options})


def halves(result: Any, level: float = 0.95) -> float:
    low, high = result.interval(level)
    return float((high - low) / 2)


def test_it_ends_at_the_first_decision_that_is_precise_enough() -> None:
    found = study()
    ends = decisions(MOST)
    place = ends.index(found.done)
    z = float(stats.norm.ppf(0.975))
    assert found.precise is True
    assert len(found) == found.done == pytest.approx((z * 0.2 / 1e-3) ** 2, rel=0.3)  # 153,658 are needed
    values = found.results["end"]["x"]
    assert len(values) == len(found.draws["x"]) == found.done
    assert (values == found.draws["x"]).all()
    for end, enough in ((found.done, True), (ends[place - 1], False)):
        half = z * values[:end].std(ddof=1) / math.sqrt(end)
        assert (half <= 1e-3 * values[:end].mean()) == enough
    assert "m within 0.001 of it with probability 0.95: reached" in found.summary()


@pytest.mark.parametrize(
    "options",
    [{"threads": 1}, {"threads": 3}, {"lanes": 1}, pytest.param({"workers": 2}, marks=pytest.mark.slow)],
)
def test_as_many_run_whatever_runs_them(options: dict[str, Any]) -> None:
    once, again = study(), study(**options)
    assert again.done == once.done
    assert again.results["m"].mean == once.results["m"].mean
    assert again.results["end"]["x"].tobytes() == once.results["end"]["x"].tobytes()


def test_probabilities_and_quantiles() -> None:
    condition = cg.probability(x > 1.4)
    rare = study(spring(), collect={"p": condition}, until=cg.precision(condition, relative=0.05, level=0.9))
    result = rare.results["p"]
    assert halves(result, 0.9) <= 0.05 * result.p
    needed = (stats.norm.ppf(0.95) / 0.05) ** 2 * (1 / stats.norm.sf(2) - 1)
    assert needed / 1.2 < rare.done < needed * 1.5
    middle = study(until=cg.precision(cg.quantiles("x", [0.1, 0.5]), absolute=2e-3))
    assert middle.results["until"].values == pytest.approx(stats.norm(1, 0.2).ppf([0.1, 0.5]), abs=4e-3)
    low, high = middle.results["until"].interval()
    assert ((high - low) / 2 <= 2e-3).all()
    assert sorted(middle.results) == ["end", "m", "until"]


def test_an_entry_that_only_the_precision_names() -> None:
    found = study(collect=None, until=cg.precision(cg.moments("x"), absolute=0.01))
    assert found.done == BLOCK
    assert list(found.results) == ["until"]


def test_a_precision_that_is_not_reached_is_reported() -> None:
    with pytest.warns(
        RuntimeWarning, match="until: m within 0.001 of it with probability 0.95: not reached with n = 9"
    ):
        found = study(n=9000)
    assert (found.precise, found.done, len(found)) == (False, 9000, 9000)
    assert "not reached" in found.summary()
    assert (
        cg.study(
            oscillator, (0, 1), {"x": 1, "x_dot": 0}, {"m": 1, "k": 1}, n=8, collect={"e": cg.final("x")}
        ).precise
        is None
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != ".lock"}


def test_folders_go_on(tmp_path: Path) -> None:
    out, other = tmp_path / "one", tmp_path / "two"
    found = study(out=out, threads=1)
    assert found.done == study().done
    opened = cg.open_study(out)
    assert (opened.done, opened.precise, opened.interrupted) == (found.done, True, False)
    assert opened.results["m"].mean == found.results["m"].mean
    shutil.copytree(out, other)
    for place in (0, 3, 7):
        sorted(other.glob("chunk-*"))[place].unlink()
    half = cg.open_study(other)
    assert (half.done, half.interrupted) == (0, True)
    again = study(out=other)
    assert again.done == found.done
    assert contents(out).items() <= contents(other).items()  # several threads may have run a few more chunks
    with pytest.raises(StudyFolderError, match=r"until.relative is 0.001 there and 0.0001 here"):
        study(out=out, until=cg.precision("m", relative=1e-4))


@pytest.mark.parametrize("count", [1, BLOCK, BLOCK + 1, 100_000, 10_000_000])
def test_pieces_end_at_all_decisions(count: int) -> None:
    ends, found = decisions(count), pieces(count)
    assert [first for first, _ in found] == [0, *(last for _, last in found[:-1])]
    assert set(ends) <= {last for _, last in found}
    assert ends[-1] == count
    assert all(first % BLOCK == 0 and 0 < last - first <= CHUNK for first, last in found)
    assert all(later <= max(1.25 * end, end + BLOCK) for end, later in pairwise(ends))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"until": 0.05}, r"until = 0.05 must be cg.precision\(...\)"),
        ({"until": cg.precision("mm", relative=0.1)}, "until: 'mm' is not an entry of collect; did you mean m"),
        ({"until": cg.precision("end", relative=0.1)}, "until: end has no confidence interval; cg.probability"),
        ({"until": cg.precision(cg.final("x"), relative=0.1)}, "until: x has no confidence interval"),
        ({"until": cg.precision(cg.peak("x"), relative=0.1)}, r"until: peak\(x\) has no confidence interval"),
        ({"sampling": "latin"}, "until and sampling='latin': its strata need the number of trajectories"),
        ({"sampling": "sobol"}, "until and sampling='sobol': quasi-random points have no confidence interval"),
        ({"sampling": "halton"}, "until and sampling='halton': quasi-random points have no confidence interval"),
        ({"sampling": "antithetic"}, "until and sampling='antithetic': its trajectories depend on each other"),
        ({"n": None}, "n, the number of trajectories, is missing"),
        (
            {"collect": {"until": cg.final("x")}, "until": cg.precision(cg.moments("x"), relative=0.1)},
            "until: collect has another entry with the name 'until'",
        ),
    ],
)  # fmt: skip
def test_wrong_options_are_named(options: dict[str, Any], text: str) -> None:
    refused(text, study, **options)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "precision: give relative= or absolute="),
        ({"relative": -1}, "precision: relative = -1 must be positive"),
        ({"absolute": "1"}, "precision: absolute = '1' is not a real number"),
        ({"relative": 0.1, "level": 1.5}, "level = 1.5 must lie between 0 and 1"),
        ({"entry": 3, "relative": 0.1}, "precision: 3 is neither an entry of collect nor its name"),
        ({"entry": "", "relative": 0.1}, "precision: '' is neither an entry of collect nor its name"),
    ],
)
def test_wrong_precisions_are_named(given: dict[str, Any], text: str) -> None:
    refused(text, cg.precision, **{"entry": "p", **given})


@pytest.mark.slow
def test_intervals_at_a_number_that_the_study_chose_cover() -> None:
    """A little less often than asked, as the help says: 90 of 100 at least."""
    p = float(stats.norm.sf(1.5))
    inside = 0
    for seed in range(200):
        until = cg.precision("p", relative=0.1)
        collect = {"p": cg.probability(x > 1.3)}
        low, high = study(spring(), seed=seed, collect=collect, until=until).results["p"].interval()
        inside += low < p < high
    assert inside >= 182  # of 200: 3 standard deviations below 190
    assert np.isfinite(p)

"""Quantities that are not finite make a trajectory of a study fail, with a word, the same in any chunks."""

from __future__ import annotations

import functools
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import stats
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.errors import ChaplyginError
from chaplygin.runtime import Model
from chaplygin.runtime.statistics.part import UNDEFINED
from chaplygin.runtime.statistics.sketches import BLOCK
from chaplygin.runtime.studies.study import Study

N = BLOCK + 200
TIMES = [0.25, 0.5, 1.0]
START = stats.norm(0.5, 0.6)
SAID = "of the trajectories have a quantity of collect that is not finite and count as failures: "


@functools.cache
def particle() -> Model:
    """x = x0 - t, with the root of x as an output; `ends` ends the run at x = -1/4."""
    x = cg.coordinates("x")
    ends = cg.Event(x + sp.Rational(1, 4), name="ends", terminal=True)
    return unit_masses("rooted", [x], outputs={"root": sp.sqrt(x), "inverse": 1 / x}, events=[ends]).compile()


def study(collect: dict[str, Any], speed: float = 0.0, n: int = N, **options: Any) -> Study:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cg.study(
            particle(), (0, 1), {"x": START, "x_dot": speed}, {}, n=n, seed=4, collect=collect, **options
        )


@functools.cache
def drawn() -> Any:
    found = study({"x": cg.table("x")}).draws
    assert found is not None
    return found["x"]


root = sp.Symbol("root", real=True)
ENTRIES = {
    "m": cg.moments("root"),
    "q": cg.quantiles("root", [0.25, 0.75]),
    "h": cg.histogram("root", [0, 0.5, 1]),
    "p": cg.probability(root > 0.5),
    "end": cg.final("root"),
    "path": cg.series("root", times=TIMES),
    "area": cg.integral("root"),
    "most": cg.probability(cg.peak("root") > 0.5),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_each_entry_counts_them_as_failures(name: str) -> None:
    """sqrt(x) of a resting particle: those with x < 0, of which the half is no answer."""
    wrong = np.flatnonzero(drawn() < 0)
    assert 0.15 < len(wrong) / N < 0.25
    with pytest.warns(RuntimeWarning, match=rf"^{len(wrong)} {SAID}"):
        found = cg.study(
            particle(), (0, 1), {"x": START, "x_dot": 0}, {}, n=N, seed=4, collect={name: ENTRIES[name]}
        )
    assert found.failed.tolist() == wrong.tolist()
    assert set(found.failed_status) == {UNDEFINED}
    assert found.summary().startswith(
        f"{N} trajectories of rooted: {N - len(wrong)} ok, {len(wrong)} quantity not finite\n"
        "quantity not finite: trajectories "
    )


def test_one_entry_fails_them_for_all() -> None:
    """So that all entries are of the same trajectories; a table has what there is."""
    found = study({"m": cg.moments("x"), "root": cg.final("root"), "all": cg.table("x", "status")})
    right = drawn() >= 0
    assert found.results["m"].count == right.sum()
    assert found.results["m"].mean["x"] == pytest.approx(drawn()[right].mean(), rel=1e-12)
    assert np.isnan(found.results["root"]["root"]).tolist() == (~right).tolist()
    assert found.results["all"]["status"].tolist() == np.where(right, 0, UNDEFINED).tolist()
    assert not len(study({"all": cg.table("root")}).failed)


def test_options_for_failures() -> None:
    found = study({"p": cg.probability(root > 0.5)}, on_failure="nan")
    assert math.isnan(found.results["p"].p)
    first = np.flatnonzero(drawn() < 0)[0]
    with pytest.raises(ChaplyginError, match=f"trajectory {first} failed: quantity not finite; on_failure="):
        study({"p": cg.probability(root > 0.5)}, on_failure="raise")


def test_what_comes_after_a_terminal_event_is_no_failure() -> None:
    """A particle that has passed x = -1/4 has no value; one that is about to has no root."""
    whole = study({"m": cg.moments("x", at=TIMES)}, speed=-1.0)
    assert not len(whole.failed)
    begun = drawn() < -0.25  # these never meet the event, but move away from it
    assert whole.results["m"].count[-1] == np.sum(begun | (drawn() - 1 > -0.25))
    at_once = study({"m": cg.moments("root", at=[0.25])}, speed=-1.0)
    passed = (drawn() - 0.25 < 0) & (begun | (drawn() - 0.25 > -0.25))
    assert at_once.failed.tolist() == np.flatnonzero(passed).tolist()


def test_infinite_quantities_are_failures() -> None:
    with pytest.warns(RuntimeWarning, match=f"^1 {SAID}1$"):
        found = cg.study(
            particle(),
            (0, 1),
            initial={"x": np.array([1.0, 0.0, 2.0]), "x_dot": 0.0},
            parameters={},
            collect={"q": cg.quantiles("inverse", [0.4, 0.9])},
        )
    assert found.results["q"].values == pytest.approx([0.5, 1.0], rel=1e-3)


def test_the_same_bits_whatever_the_chunks(tmp_path: Path) -> None:
    collect = {"m": cg.moments("root", "x", at=TIMES), "q": cg.quantiles("x", [0.5]), "end": cg.final("x")}

    def bits(found: Study) -> list[bytes]:
        r = found.results
        tables = r["m"].covariance, r["q"].values, r["end"]["x"], found.failed, found.failed_status
        return [np.ascontiguousarray(table).tobytes() for table in tables]

    one = bits(study(collect, speed=-0.5))
    for options in ({"threads": 1}, {"lanes": 1}, {"out": tmp_path / "a"}, {"out": tmp_path / "a"}):
        assert bits(study(collect, speed=-0.5, **options)) == one
    assert bits(cg.open_study(tmp_path / "a")) == one


def test_responses_and_rare_events_leave_them_out() -> None:
    start = {"x": START, "x_dot": 0}
    answer = cg.response(particle(), (0, 1), "root", start)
    with pytest.warns(RuntimeWarning, match="1 of 3 runs failed and are NaN"):
        values = answer([[1.0, -1.0, 4.0]])
    assert values == pytest.approx([1, np.nan, 2], nan_ok=True)
    with pytest.warns(RuntimeWarning, match=r"runs failed \(\d+ quantity not finite\) and do not count"):
        found = cg.rare_event(particle(), (0, 1), root > 1, 2000, start, seed=1)
    right = START.sf(1) / START.sf(0)
    assert found.failed > 100
    assert abs(found.p - right) < 3 * found.variation * right

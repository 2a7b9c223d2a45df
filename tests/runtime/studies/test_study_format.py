"""The format of study folders stays: tests/data/studies has two that were written when format 3 was new.

They were made by `spring` and `zeros` below, at commit 4e4f1f7.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import chaplygin as cg
from chaplygin.generated.harmonic_oscillator import model
from chaplygin.runtime.problem.options import DEFAULTS
from chaplygin.runtime.studies.folder import Chunks
from chaplygin.runtime.studies.manifest import MANIFEST, digest, read_manifest

KEPT = Path(__file__).resolve().parents[2] / "data" / "studies"
N = 40


def spring(folder: Path) -> cg.Study:
    """Entries of every kind but those of events, and laws of several kinds."""
    times = [0.5, 1.0]
    collect = {
        "moments": cg.moments("x", "energy", at=times),
        "quantiles": cg.quantiles("x", [0.1, 0.5]),
        "histogram": cg.histogram("x_dot", [-1.0, 0.0, 1.0]),
        "final": cg.final("x"),
        "series": cg.series("x_dot", times=times),
        "table": cg.table("m", "k", "status"),
        "peak": cg.peak("x"),
        "integral": cg.integral("x_dot"),
        "probability": cg.probability(cg.peak("x") > 1.2),
    }
    start = cg.jointly(("x", "x_dot"), stats.multivariate_normal([1, 0], [[0.04, 0.01], [0.01, 0.01]]))
    numbers = {"m": stats.randint(1, 4), "k": stats.uniform(3, 2)}
    return cg.study(
        model, (0, 2), [start], numbers, n=N, seed=3, collect=collect, rtol=1e-5, atol=1e-5, out=folder
    )


def zeros(folder: Path) -> cg.Study:
    """Entries of events, and a precision; x = x0 cos 2t."""
    x = cg.coordinates("x")
    zero = cg.Event(x, name="zero")
    system = cg.System(
        "zeros", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=2 * x**2, events=[zero]
    )
    return cg.study(
        system.compile(),
        (0, 3),
        {"x": np.linspace(1, 2, N), "x_dot": 0},
        n=N,
        collect={"first": cg.first_passage("zero"), "all": cg.events("zero"), "mean": cg.moments("x")},
        until=cg.precision("mean", absolute=1.0),
        out=folder,
    )


STUDIES = {"spring": spring, "zeros": zeros}


def words(found: Any, place: str = "") -> list[str]:
    """Every name and every text in a value of JSON but digests, with its place."""
    if isinstance(found, dict):
        return [
            text for name in found for text in [f"{place}.{name}", *words(found[name], f"{place}.{name}")]
        ]
    if isinstance(found, list):
        return [text for i, each in enumerate(found) for text in words(each, f"{place}[{i}]")]
    same = isinstance(found, str) and not place.endswith((".digest", ".sha256", ".numpy", ".scipy"))
    return [f"{place} = {found}"] if same else []


@pytest.mark.parametrize("name", STUDIES)
def test_a_folder_is_written_in_the_same_words(name: str, tmp_path: Path) -> None:
    STUDIES[name](tmp_path)
    there, here = (json.loads((folder / MANIFEST).read_text()) for folder in (KEPT / name, tmp_path))
    for newer in here["options"].keys() - there["options"].keys():  # one that is missing has its default
        assert here["options"].pop(newer) == getattr(DEFAULTS, newer)
    assert words(here) == words(there)
    parts = [
        next(Chunks(folder, N, read_manifest(folder).collect).parts()) for folder in (KEPT / name, tmp_path)
    ]
    assert parts[0].parts.keys() == parts[1].parts.keys()


def test_a_folder_of_before_opens() -> None:
    found = cg.open_study(KEPT / "zeros")
    assert found.results["first"] == pytest.approx(np.full(N, math.pi / 4), abs=1e-8)
    assert found.results["all"][7] == pytest.approx([math.pi / 4, 3 * math.pi / 4], abs=1e-8)
    assert found.results["mean"].mean["x"] == pytest.approx(1.5 * math.cos(6), rel=1e-8)
    assert found.precise
    spring = cg.open_study(KEPT / "spring").results
    w, x2 = np.sqrt(spring["table"]["k"] / spring["table"]["m"]), spring["final"]["x"]
    x0 = x2 - spring["integral"]
    v0 = w * (x2 - x0 * np.cos(2 * w)) / np.sin(2 * w)  # of x = x0 cos wt + v0/w sin wt, at t = 2
    assert spring["series"]["x_dot"][1] == pytest.approx(v0 * np.cos(w) - x0 * w * np.sin(w), abs=1e-3)
    assert spring["histogram"].counts.sum() + spring["histogram"].below + spring["histogram"].above == N


@pytest.mark.parametrize("name", STUDIES)
def test_a_chunk_of_before_is_gone_on_with(name: str, tmp_path: Path) -> None:
    """It is taken as it is, and has the numbers of today, up to those of other versions of NumPy and SciPy."""
    fresh = STUDIES[name](tmp_path)
    (today,) = tmp_path.glob("chunk-*.zip")
    (before,) = (KEPT / name).glob("chunk-*.zip")
    today.unlink()
    shutil.copy(before, tmp_path)
    again = STUDIES[name](tmp_path)
    assert [file.name for file in tmp_path.glob("chunk-*.zip")] == [before.name]
    for entry, result in again.results.items():
        if isinstance(result, dict):
            for column, values in result.items():
                assert values == pytest.approx(fresh.results[entry][column], rel=1e-9, abs=1e-12)
    assert again.summary() == cg.open_study(tmp_path).summary()


def test_an_option_that_a_folder_does_not_name_has_its_default(tmp_path: Path) -> None:
    """As one that came later."""
    spring(tmp_path)
    content = json.loads((tmp_path / MANIFEST).read_text())
    del content["sha256"], content["options"]["project"]
    (tmp_path / MANIFEST).write_text(json.dumps({**content, "sha256": digest(content)}))
    assert spring(tmp_path).done == N


def test_a_model_that_is_compiled_otherwise_is_told(tmp_path: Path) -> None:
    shutil.copytree(KEPT / "spring", tmp_path / "study")
    content = json.loads((tmp_path / "study" / MANIFEST).read_text())
    del content["sha256"]
    content["model"]["digest"] = "0" * 64
    (tmp_path / "study" / MANIFEST).write_text(json.dumps({**content, "sha256": digest(content)}))
    with pytest.raises(cg.ChaplyginError, match=r"another version of chaplygin compiled; .* cg.open_study"):
        spring(tmp_path / "study")

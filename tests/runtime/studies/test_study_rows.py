"""Studies whose inputs have a row of samples for each trajectory, or draw one: the bits of runs, folders, memory."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from lane_models import bits
from processes import python
from refusals import refused
from springs import sprung

import chaplygin as cg
from chaplygin.errors import ArgumentError
from chaplygin.runtime.studies.manifest import StudyFolderError

N = 9000  # three blocks
SPAN, TIMES = (0.0, 2.0), np.linspace(-0.2, 2.2, 9)
ROWS = np.random.default_rng(6).standard_normal((N, len(TIMES)))
STIFFNESS = np.linspace(1, 4, N)
OPTIONS = {"method": "rk4", "step": 0.1}
COLLECT = {"end": cg.final("x", "F"), "sum": cg.moments("x")}


@functools.cache
def spring() -> Any:
    return sprung("studied_rows").compile(wait=True)


def study(values: Any, n: int = N, kind: str = "linear", **options: Any) -> Any:
    start = {"x": scipy.stats.norm(0.3, 0.1), "x_dot": 0.0}
    given = start, {"k": STIFFNESS[:n]}, {"F": (TIMES, values, kind)}
    return cg.study(spring(), SPAN, *given, n=n, seed=1, collect=COLLECT, **{**OPTIONS, **options})


def single(found: Any, i: int, row: Any, kind: str) -> Any:
    given = {"x": found.draws["x"][i], "x_dot": 0.0}, {"k": STIFFNESS[i]}, {"F": (TIMES, row, kind)}
    return spring().integrate(SPAN, *given, **OPTIONS).y[0, -1]


@pytest.mark.slow
def test_rows_follow_the_index_of_the_trajectory_whatever_runs_them() -> None:
    for kind in ("zoh", "linear", "cubic"):
        found = study(ROWS, kind=kind, threads=1, lanes=1)
        for i in (0, 4095, 4096, 8192, N - 1):
            assert found.results["end"]["x"][i] == single(found, i, ROWS[i], kind)
            assert found.rerun(i).y[0, -1] == found.results["end"]["x"][i]
        for way in ({"threads": 2, "lanes": 4}, {"workers": 2}):
            other = study(ROWS, kind=kind, **way)
            assert bits(other.results["end"]["x"]) == bits(found.results["end"]["x"])
            assert bits(other.results["end"]["F"]) == bits(found.results["end"]["F"])


@pytest.mark.slow
def test_a_folder_goes_on_with_the_same_rows_alone(tmp_path: Path) -> None:
    found = study(ROWS, out=tmp_path / "a")
    ROWS.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", np.float64, "r", shape=ROWS.shape)
    for same in (np.asfortranarray(ROWS), mapped):
        assert bits(study(same, out=tmp_path / "a").results["end"]["x"]) == bits(found.results["end"]["x"])
    for other in (ROWS + 1e-15, ROWS[::-1]):
        with pytest.raises(
            StudyFolderError, match=r"given.inputs.F is 'linear \(9000, 9\) .* there and 'linear"
        ):
            study(other, out=tmp_path / "a")


@pytest.mark.slow
def test_a_choice_draws_rows_as_the_study_draws() -> None:
    rows, n = ROWS[:50], 5000
    found = study(cg.choice(rows), n, "cubic", sampling="latin")
    which = found.draws["F"].astype(int)
    assert set(np.bincount(which)) == {n // 50}  # a Latin square has each of them as often
    u = np.random.Generator(np.random.Philox(key=1)).random((n, 4))[:, 1]  # after that of x
    drawn = study(cg.choice(rows), n, "cubic")
    assert bits(drawn.draws["F"]) == bits(np.floor(50 * u))
    for study_of in (found, drawn):
        for i in (0, 4096, n - 1):
            row = rows[int(study_of.draws["F"][i])]
            assert study_of.results["end"]["x"][i] == single(study_of, i, row, "cubic")
            assert study_of.rerun(i).y[0, -1] == study_of.results["end"]["x"][i]
    far = study(cg.choice(rows), n, "cubic", workers=2)
    assert bits(far.results["end"]["x"]) == bits(drawn.results["end"]["x"])
    start = {"x": scipy.stats.norm(0.3, 0.1), "x_dot": 0.0}
    ens = cg.ensemble(
        spring(), SPAN, start, {"k": STIFFNESS[:n]}, {"F": (TIMES, cg.choice(rows), "cubic")}, n=n, seed=1, **OPTIONS
    )  # fmt: skip
    assert bits(ens["x"]) == bits(drawn.results["end"]["x"])
    assert bits(ens.inputs(7)["F"][1]) == bits(rows[int(ens.draws["F"][7])])
    assert bits(ens.rerun(7).y[0, -1]) == bits(ens["x"][7])


def test_a_choice_of_a_folder_is_that_of_its_rows(tmp_path: Path) -> None:
    study(cg.choice(ROWS[:9]), 100, out=tmp_path / "a")
    study(cg.choice(ROWS[:9].tolist()), 100, out=tmp_path / "a")
    refused("draws", study, cg.choice(ROWS[1:10]), 100, out=tmp_path / "a", error=StudyFolderError)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (ROWS[:100], r"values of shape \(9,\), or \(9000, 9\) with a row for each trajectory, are needed"),
        (np.where(np.arange(N)[:, None] == 5000, np.nan, ROWS), "F of trajectory 5000 is nan at t = -0.2"),
        (cg.choice(np.full((3, 9), np.inf)), "F of trajectory 0 is inf at t = -0.2"),
        (cg.choice(ROWS[:, :4]), r"times of shape \(9,\) and values of shape \(9000, 4\)"),
    ],
)
def test_wrong_rows_are_refused_before_anything_runs(values: Any, message: str, tmp_path: Path) -> None:
    refused(message, study, values, out=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_choice_is_of_rows_and_of_many_runs() -> None:
    refused(r"choice: \[1, 2\] is not a table", cg.choice, [1, 2])
    with pytest.raises(ArgumentError, match="values of F"):
        spring().integrate(SPAN, {"x": 0, "x_dot": 0}, {"k": 1}, {"F": (TIMES, cg.choice(ROWS))})


MAPPED = """
import re, sys
import numpy as np
import chaplygin as cg

model = cg.load_model(sys.argv[2])
rows = np.memmap(sys.argv[1], np.float64, "r", shape=(20_000, 1000))
times, collect = np.linspace(0, 1000, 1000), {"end": cg.moments("x")}
most = []
for n in (5000, 20_000):
    given = {"x": 0, "x_dot": 0}, {"k": 4}, {"F": (times, rows[:n], "linear")}
    cg.study(model, (0, 5), *given, n=n, collect=collect, method="rk4", step=0.5, threads=2)
    most.append(int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]))
print(most[1] - most[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the most memory of a process")
def test_rows_of_a_file_are_not_kept_in_memory(tmp_path: Path) -> None:
    """160 MB, of which the process may keep 64 at a time: four times as many rows take no more memory."""
    with (tmp_path / "rows").open("wb") as file:
        file.truncate(20_000 * 1000 * 8)
    assert int(python(MAPPED, tmp_path / "rows", spring().owner.__file__)) < 50_000  # KiB

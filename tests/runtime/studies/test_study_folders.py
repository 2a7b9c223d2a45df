"""Studies in folders: resumed to the same bytes, refused by name, and safe against damage."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin import ArgumentError
from chaplygin.generated.harmonic_oscillator import model
from chaplygin.runtime.ensembles.progress import Progress
from chaplygin.runtime.statistics.sketches import CHUNK, Counts, Moments
from chaplygin.runtime.studies.manifest import StudyFolderError
from chaplygin.runtime.studies.packing import pack, unpack
from chaplygin.runtime.studies.study import Study

N = 3 * CHUNK + 100


def collect() -> dict[str, Any]:
    return {
        "m": cg.moments("x", "energy", at=[1.0, 2.0]),
        "q": cg.quantiles("x", [0.1, 0.5]),
        "h": cg.histogram("x_dot", [-1, 0, 1]),
        "end": cg.final("x"),
        "all": cg.table("m", "k", "status"),
    }


def study(folder: Path | None, **options: Any) -> Study:
    given: dict[str, Any] = {
        "n": N,
        "initial": {"x": stats.norm(1, 0.2), "x_dot": 0.0},
        "parameters": {"m": 1.0, "k": stats.gamma(4)},
        "seed": 3,
        "collect": collect(),
        **options,
    }
    return cg.study(model, (0, 2), rtol=1e-5, atol=1e-5, out=folder, **given)


def in_gusts(folder: Path | None) -> Study:
    """With a row of samples for each trajectory, or noise, as inputs; each chunk takes a while."""
    n, t = N, np.linspace(0, 3, 31)
    rows = np.random.default_rng(1).normal(size=(n, len(t)))
    inputs = {"F": (t, rows, "linear"), "G": cg.noise.ou(tau=1, sigma=1, dt=0.1)}
    return cg.study(
        gusty(), (0, 3), {"x": 1, "x_dot": 0}, None, inputs, n=n, seed=3, collect={"end": cg.final("x")}, out=folder,
        threads=1,
    )  # fmt: skip


@functools.cache
def gusty() -> Any:
    x, (F, G) = cg.coordinates("x"), cg.inputs("F G")
    v = cg.rate(x)
    return cg.System("gusty", coordinates=[x], kinetic=v**2 / 2, potential=x**4, forces={v: F + G}).compile()


def bits(found: Study) -> list[bytes]:
    r = found.results
    tables = [r["m"].covariance, r["m"].mean["x"], r["q"].values, r["h"].counts, r["end"]["x"], r["all"]["k"]]
    return [np.ascontiguousarray(table).tobytes() for table in tables]


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != ".lock"}


def test_a_folder_changes_no_bit_and_opens_again(tmp_path: Path) -> None:
    there = study(tmp_path / "study")
    assert bits(there) == bits(study(None))
    opened = cg.open_study(tmp_path / "study")
    assert bits(opened) == bits(there)
    assert opened.done == N
    assert repr(opened.results["m"]) == repr(there.results["m"])
    assert len(list((tmp_path / "study").glob("chunk-*.zip"))) == 4


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    whole = study(tmp_path)
    before = files(tmp_path)
    first, second = sorted(tmp_path.glob("chunk-*.zip"))[:2]
    kept = second.stat().st_mtime_ns
    first.unlink()
    assert bits(study(tmp_path)) == bits(whole)
    assert files(tmp_path) == before
    assert second.stat().st_mtime_ns == kept


def test_progress_of_a_study_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there counts as done, and not for the rate; failures are counted."""
    starved = {"max_steps": 4}
    failures = len(study(tmp_path, **starved).failed)
    assert 0 < failures < N
    shown: list[tuple[int, int, int]] = []
    monkeypatch.setattr(Progress, "close", lambda bar: shown.append((bar.done, bar.found, bar.failed)))
    study(tmp_path, **starved)
    assert shown == [(N, N, failures)]


def test_a_damaged_chunk_is_made_again(tmp_path: Path) -> None:
    whole = study(tmp_path)
    before = files(tmp_path)
    chunk = sorted(tmp_path.glob("chunk-*.zip"))[1]
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="is damaged; the study makes it again"):
        assert cg.open_study(tmp_path).done == CHUNK
    with pytest.warns(RuntimeWarning, match="is damaged; the study makes it again"):
        assert bits(study(tmp_path)) == bits(whole)
    assert files(tmp_path) == before


def test_without_a_seed_that_of_the_folder_goes_on(tmp_path: Path) -> None:
    first = study(tmp_path, n=10, seed=None)
    again = study(tmp_path, n=10, seed=None)
    assert again.seed == first.seed is not None
    assert again.draws is not None
    assert again.draws.seed == first.seed


def test_an_opened_study_has_no_model(tmp_path: Path) -> None:
    """It says so where a model is needed; its pictures do without."""
    pytest.importorskip("matplotlib")
    made = study(tmp_path, max_steps=4)
    opened = cg.open_study(tmp_path)
    assert len(opened.failed) == len(made.failed) > 0
    refused(r"rerun: a study opened from its folder has no model; the same call", opened.rerun, 0)
    with pytest.raises(
        ArgumentError, match=r"draws: a study opened from its folder has no model; the same call"
    ):
        opened.draws  # noqa: B018
    assert opened.plot.scatter(["x", "k"], file=tmp_path.parent / "scatter.png").axes


def test_what_is_no_folder_of_a_study(tmp_path: Path) -> None:
    refused("out = 3 must be a path", study, 3)
    (tmp_path / "study.json").write_text("[]")
    refused(r"study.json' does not describe a study", cg.open_study, tmp_path, error=StudyFolderError)


SCRIPT = """
import sys
sys.path += {tests!r}
from pathlib import Path
import test_study_folders
getattr(test_study_folders, sys.argv[2])(Path(sys.argv[1]))
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("run", [study, in_gusts])
def test_killed_runs_go_on_to_the_same_bytes(tmp_path: Path, kills: int, run: Any) -> None:
    run(tmp_path / "whole")
    script = SCRIPT.format(tests=sys.path)
    random = np.random.default_rng(kills)
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "killed"), run.__name__])
        end = time.monotonic() + random.uniform(0.8, 2.5)
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    run(tmp_path / "killed")
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_the_seed_of_the_folder_is_used_again(tmp_path: Path) -> None:
    once = study(tmp_path, seed=None)
    again = study(tmp_path, seed=None)
    assert bits(once) == bits(again)
    assert once.job.plan is not None
    assert once.job.plan.seed == json.loads((tmp_path / "study.json").read_bytes())["draws"]["seed"]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"seed": 4}, "draws.seed is 3 there and 4 here"),
        ({"n": N + 1}, "n is 196708 there and 196709 here"),
        ({"sampling": "sobol"}, "draws.sampling is 'random' there and 'sobol' here"),
        ({"method": "tsit5"}, "options.method is 'vern9' there and 'tsit5' here"),
        ({"parameters": {"m": 2.0, "k": stats.gamma(4)}}, "given.parameters.m is"),
        ({"parameters": {"m": 1.0, "k": stats.gamma(5)}}, "draws.sources is"),
        ({"collect": {"q": cg.quantiles("x", [0.2])}}, "collect"),
    ],
)
def test_another_study_is_refused_by_name(tmp_path: Path, changed: dict[str, Any], text: str) -> None:
    describe(tmp_path)
    refused("belongs to another study: .*" + text, study, tmp_path, error=StudyFolderError, **changed)


def describe(folder: Path) -> None:
    """Begin a study without running it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chaplygin.runtime.studies.run._run", lambda *_: None)
        study(folder)


def test_folders_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Sir")
    with pytest.raises(StudyFolderError, match=r"contains 'letter.txt' and is not the folder of a study"):
        study(tmp_path)
    assert files(tmp_path).keys() == {"letter.txt"}
    refused("contains no study", cg.open_study, tmp_path, error=StudyFolderError)
    (tmp_path / "study.json").write_text("{")
    refused("cannot be read", cg.open_study, tmp_path, error=StudyFolderError)
    refused("cannot be used", study, tmp_path / "letter.txt", error=StudyFolderError)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    from filelock import FileLock

    describe(tmp_path)
    with FileLock(tmp_path / ".lock"), pytest.raises(StudyFolderError, match="is in use by another process"):
        study(tmp_path)


def test_a_full_disk_keeps_the_other_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = os.fsync

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 3:  # the description, a chunk, and this one
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StudyFolderError, match=r"cannot be written to .*No space left on device; chunks"):
        study(tmp_path, threads=1)
    monkeypatch.undo()
    assert len(list(tmp_path.glob("chunk-*.zip"))) == 1
    assert not list(tmp_path.glob(".writing-*"))
    assert bits(study(tmp_path)) == bits(study(None))


def test_packing() -> None:
    moments = Moments.of(np.arange(12.0).reshape(2, 2, 3), np.ones((2, 3), dtype=bool))
    value = {"a": [moments, Counts.of(np.array([1.0, 2.0, 2.0]), 10)], "b": (np.arange(3), 4, "x"), "c": None}
    again = unpack(pack(value))
    assert again["a"][0].products.tolist() == moments.products.tolist()
    assert again["a"][1].counts.tolist() == [1, 2]
    assert again["b"][0].tolist() == [0, 1, 2]
    assert again["b"][1:] == (4, "x")
    assert again["c"] is None
    assert pack(again) == pack(value)
    refused("pickle", pack, np.array([object()]), error=ValueError)

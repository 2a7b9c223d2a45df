"""Every benchmark runs: at its smallest size here, as a whole in the slow tests. Nothing is said about times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from runtime_models import needs_core

pytestmark = [
    needs_core,
    pytest.mark.skipif(os.name != "posix", reason="benchmarks build shared libraries with cc"),
]
BENCH = Path(__file__).resolve().parent.parent / "bench"
FILES = sorted(path.name for path in BENCH.glob("bench_*.py"))
TOGETHER = 10
"""Processes for the quick runs: what they import, and the models that they share, are most of the time."""


def measured(tmp_path: Path, *command: str) -> dict[str, set[str]]:
    """The names of the benchmarks that ran, by file, as the JSON says."""
    target = tmp_path / "bench.json"
    # Without what a worker of these tests, or a user's settings, would tell it: benchmarks do not run in parallel.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--benchmark-json={target}", *command],
        cwd=BENCH.parent, env=env, capture_output=True, text=True, check=False, timeout=4000,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    found: dict[str, set[str]] = {}
    for entry in json.loads(target.read_text())["benchmarks"]:
        file, _, name = entry["fullname"].partition("::")
        found.setdefault(file.rpartition("/")[2], set()).add(name)
        assert f" s  bench/{file.rpartition('/')[2]}" in done.stdout  # the time of each file
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(TOGETHER))
def test_each_runs_at_its_smallest_size(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(tmp_path / "models"))  # empty: nothing is there by chance
    files = FILES[part::TOGETHER]
    assert measured(tmp_path, "--quick", *(f"bench/{file}" for file in files)).keys() == set(files)


@pytest.mark.slow
@pytest.mark.timeout(4200)
def test_all_of_them_as_a_whole(tmp_path: Path) -> None:
    assert measured(tmp_path, "bench").keys() == set(FILES)


def test_the_page_shows_the_ratios_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)
    front = import_module("report").front
    kept = json.loads((BENCH / "summary.json").read_text(encoding="utf-8"))
    assert front(kept) in (BENCH / "README.md").read_text(encoding="utf-8")

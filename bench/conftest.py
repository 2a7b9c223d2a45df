"""Benchmarks: collected from bench_*.py, run by ``make bench`` or by ``python bench/report.py``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).resolve().parent
os.environ.setdefault("CHAPLYGIN_CACHE", str(_HERE.parent / "build" / "bench-models"))


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    """Take bench_*.py as test files, here and nowhere else."""
    if file_path.suffix != ".py" or not file_path.name.startswith("bench_"):
        return None
    # A file named on the command line, or by the configuration, is collected by pytest itself.
    patterns = parent.config.getini("python_files")
    if parent.session.isinitpath(file_path) or any(file_path.match(pattern) for pattern in patterns):
        return None
    return pytest.Module.from_parent(parent, path=file_path)


def pytest_benchmark_update_machine_info(config: Any, machine_info: dict[str, Any]) -> None:
    """Say which machine and which tools, but neither host nor paths."""
    from machine import describe

    machine_info.clear()
    machine_info.update(describe())


def pytest_benchmark_update_commit_info(config: Any, commit_info: dict[str, Any]) -> None:
    """Results are read beside the commit they are made in."""
    commit_info.clear()


@pytest.fixture
def timed(benchmark: Any) -> Any:
    """``timed(group, row, function, error=..., rounds=..., per=...)``: one row of the report.

    ``error`` is put beside the time; ``per`` divides the time (trajectories, calls); ``baseline`` marks the row that
    the others of the group are divided by. Returns what the function returned.
    """

    def run(
        group: str,
        row: str,
        function: Any,
        *,
        rounds: int = 5,
        iterations: int = 1,
        warmup: bool = True,
        error: Any = None,
        per: float = 1.0,
        baseline: bool = False,
        **more: Any,
    ) -> Any:
        benchmark.group = group
        benchmark.extra_info.update(row=row, per=per, baseline=baseline, **more)
        result = benchmark.pedantic(
            function, rounds=rounds, iterations=iterations, warmup_rounds=1 if warmup else 0
        )
        if error is not None:
            benchmark.extra_info["error"] = float(error(result) if callable(error) else error)
        return result

    return run

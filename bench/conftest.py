"""Benchmarks: collected from bench_*.py, run by ``make bench`` or by ``python bench/report.py``."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).resolve().parent
os.environ.setdefault("CHAPLYGIN_CACHE", str(_HERE.parent / "build" / "bench-models"))


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--quick", action="store_true", help="small sizes: only check that the benchmarks run")


def pytest_configure(config: Any) -> None:
    """With --quick, set the variable that sizes.py reads when it is imported later, and compile without optimizing."""
    if config.getoption("--quick"):
        os.environ["CHAPLYGIN_BENCH_QUICK"] = "1"
        given = os.environ.setdefault("CHAPLYGIN_BENCH_CC", os.environ.get("CC", "cc"))
        if os.name == "posix" and shutil.which(given):
            os.environ["CC"] = str(_HERE / "unoptimized_cc")


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    """Collect bench_*.py as test files, in this folder only."""
    if file_path.suffix != ".py" or not file_path.name.startswith("bench_"):
        return None
    # A file named on the command line, or by the configuration, is collected by pytest itself.
    patterns = parent.config.getini("python_files")
    if parent.session.isinitpath(file_path) or any(file_path.match(pattern) for pattern in patterns):
        return None
    return pytest.Module.from_parent(parent, path=file_path)


def pytest_benchmark_update_machine_info(config: Any, machine_info: dict[str, Any]) -> None:
    """Record the machine and the tool versions, but no host names or paths."""
    from machine import describe

    machine_info.clear()
    machine_info.update(describe())


def pytest_benchmark_update_commit_info(config: Any, commit_info: dict[str, Any]) -> None:
    """Record nothing: the results are committed along with the code they measure."""
    commit_info.clear()


_TIMES: dict[str, float] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """Add up how long each file takes."""
    file = report.nodeid.partition("::")[0]
    _TIMES[file] = _TIMES.get(file, 0.0) + report.duration


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how long each file took."""
    terminalreporter.section("time of each file")
    for file, seconds in _TIMES.items():
        terminalreporter.write_line(f"{seconds:8.1f} s  {file}")


@pytest.fixture
def timed(benchmark: Any) -> Any:
    """``timed(group, row, function, error=..., rounds=..., per=...)``: one row of the report.

    ``error`` is shown next to the time; the time is divided by ``per`` (trajectories, calls); ``baseline`` marks the
    row that the ratios of the group refer to. Returns the function's result.
    """
    from sizes import scaled

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
            function,
            rounds=scaled(rounds, 1),
            iterations=scaled(iterations, 1),
            warmup_rounds=scaled(int(warmup), 0),
        )
        if error is not None:
            benchmark.extra_info["error"] = float(error(result) if callable(error) else error)
        return result

    run.info = benchmark.extra_info  # type: ignore[attr-defined]
    return run


@pytest.fixture
def turns(benchmark: Any) -> Any:
    """``turns(group, contenders, ratios, rounds=...)``: the rows of a group from interleaved runs, and their ratios."""
    from peers import MISSING
    from sizes import scaled
    from turns import one_turn

    def run(group: str, contenders: list[Any], ratios: list[Any], rounds: int, remark: str = "") -> None:
        benchmark.group = group
        benchmark.pedantic(one_turn, args=(contenders,), rounds=scaled(rounds, 1))
        benchmark.extra_info.update(
            rows=[contender.shown() for contender in contenders],
            ratios=[ratio.shown() for ratio in ratios],
            remark=remark,
            missing=dict(MISSING),
        )

    return run


@pytest.fixture
def points(benchmark: Any) -> Any:
    """``points(diagram, case, curves)``: curves for plots.py, {name: [(x, y), ...]}."""

    def run(diagram: str, case: str, curves: dict[str, Any]) -> None:
        benchmark.group = diagram
        benchmark.pedantic(lambda: None)
        benchmark.extra_info.update(diagram=diagram, case=case, curves=curves)

    return run

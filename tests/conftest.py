"""Settings of every test run: models go to a cache for tests, plots are not shown on screen."""

from __future__ import annotations

import functools
import gc
import os
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from integrations import brought, is_there

HERE = Path(__file__).resolve().parent
sys.path += sorted(
    {str(file.parent) for file in HERE.rglob("test_*.py")} - set(sys.path)
)  # tests share parts

_MODELS = HERE.parent / "build" / "test-models"
os.environ.setdefault("CHAPLYGIN_CACHE", str(_MODELS))
os.environ.setdefault("MPLBACKEND", "Agg")
gc.set_threshold(
    50_000, 20, 100
)  # SymPy keeps many small objects: looking through them takes a twentieth of the time


def pytest_configure(config: pytest.Config) -> None:
    """Without slow tests, FMUs are compiled without optimisation, in a third of the time: their bits are the same."""
    from chaplygin.codegen.toolchain import fmu

    def soon(compiled: Callable[..., Any], *given: Any) -> Any:
        return compiled(
            *(tuple("-O0" if f == "-O3" else f for f in g) if isinstance(g, tuple) else g for g in given)
        )

    if "not slow" in config.option.markexpr:
        fmu.compile_object = functools.partial(soon, fmu.compile_object)
        fmu.compile_library = functools.partial(soon, fmu.compile_library)


@pytest.hookimpl(tryfirst=True)  # before slow tests are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test marked `sample(n)`, all but n cases are slow, always the same; slow tests have a longer time limit.

    The n are taken from those that are not slow by themselves.

    A test marked `integration` is skipped without what it needs; a case that is named after clang needs clang, and the
    tests of the runtime need it compiled.
    """
    from runtime_models import needs_core

    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sample") and not item.get_closest_marker("slow"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, every in cases.items():
        name = "tests/" + name.rpartition("/")[2]  # the same cases in whatever folder the file is
        (size,) = every[0].get_closest_marker("sample").args  # type: ignore[union-attr]
        for item in random.Random(name).sample(every, max(len(every) - size, 0)):
            item.add_marker(pytest.mark.slow)
    limit = float(config.getini("timeout") or 0) if config.pluginmanager.hasplugin("timeout") else 0.0
    for item in items:
        if HERE / "runtime" in item.path.parents:
            item.add_marker(needs_core)
        if limit and item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(6 * limit))
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if any(isinstance(value, str) and re.match(r"clang\b", value) for value in given):
            item.add_marker(pytest.mark.integration("clang"))
        for needed in (name for mark in item.iter_markers("integration") for name in mark.args):
            if not is_there(needed):
                item.add_marker(pytest.mark.skip(reason=brought(needed)))


SPREAD = (
    "test_random_systems.py",
    "test_derivatives_random.py",
    "test_hybrid_lanes.py",
    "test_benchmarks.py",
)
"""Files whose tests, independent and long, are distributed one by one by `--dist loadfile`."""

FIRST = tuple(
    """
test_benchmarks.py test_c_core.py test_c_lanes.py test_cluster.py test_crowded_ensembles.py
test_derivatives_in_loops.py test_feedback.py test_nearest_starts.py test_sundials.py
""".split()
)
"""Files that are distributed first: their tests are few, but long.

pytest-xdist begins with the files that have the most tests; at the end a worker would be left alone with one of these.
"""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """As pytest-xdist, but for the files in `SPREAD` and in `FIRST`."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = str(super()._split_scope(nodeid))
            return nodeid if file.endswith(SPREAD) else file

        def _assign_work_unit(self, node: Any) -> None:
            for unit in [unit for unit in self.workqueue if unit.partition("::")[0].endswith(FIRST)]:
                self.workqueue.move_to_end(unit, last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None

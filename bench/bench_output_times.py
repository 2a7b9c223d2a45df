"""States of sleighs at 100 times: what a point costs beyond the run, its interpolant and the first touch of memory."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import ours
import pytest
from cases import SLEIGH
from shared_library import shared_library
from sizes import ROUNDS, scaled
from turns import Contender, Difference
from workload import T_ENSEMBLE, workload

from chaplygin.runtime.ensembles import job as ensemble_job
from chaplygin.runtime.interface.files import INCLUDE

GOAL = 15.0
"""Nanoseconds of a point of 5 states."""
TIMES = 100
RUNS = scaled(100_000, 1000)


@contextmanager
def kept_memory() -> Iterator[None]:
    """With the GNU C library, memory that is freed stays with this process, which has then touched it before."""
    library = ctypes.CDLL(None)
    adjust = getattr(library, "mallopt", lambda option, value: None)
    most_mapped, trim_above = -4, -1
    adjust(most_mapped, 0)
    adjust(trim_above, -1)
    try:
        yield
    finally:
        adjust(most_mapped, 65536)
        adjust(trim_above, 128 * 1024)


def dense_twice(run: Callable[[], Any], method: str) -> Callable[[], Any]:
    """``run`` of an ensemble in lanes, with every interpolant computed twice."""
    copy = shared_library(Path(__file__).with_name("dense_twice.c"), f"-I{INCLUDE}").cg_with_dense_twice
    copy.restype, copy.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
    choose = ensemble_job.lane_set

    def doubled(*given: Any) -> tuple[int, int]:
        address, lanes = choose(*given)
        twice = copy(address, method.encode())
        if twice is None:
            raise RuntimeError(
                f"there is no lane set with {method}: request its lanes, so that they are compiled"
            )
        return twice, lanes

    def repeated() -> Any:
        ensemble_job.lane_set = doubled
        try:
            return run()
        finally:
            ensemble_job.lane_set = choose

    return repeated


def first_touch(size: int) -> None:
    """Write to new memory of `size` bytes, in pages as large as those of NumPy's arrays."""
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            room.madvise(mmap.MADV_HUGEPAGE)
        np.frombuffer(room, dtype=np.float64).fill(0.0)


def test_output_times(turns: Any) -> None:
    load, widest = workload(SLEIGH).first(RUNS), ours.widest(SLEIGH)
    if widest == 1:
        pytest.skip("lanes are not available")
    points = RUNS * TIMES

    def sleighs(**more: Any) -> Callable[[], Any]:
        return ours.many(SLEIGH, load, T_ENSEMBLE, method="vern9", lanes=widest, reproducible=True, **more)

    recorded = sleighs(t_eval=np.linspace(0.0, T_ENSEMBLE, TIMES))
    none = Contender("final state only", sleighs(), RUNS)
    many = Contender(f"{TIMES} output times", recorded, RUNS)
    twice = Contender(
        f"{TIMES} output times, interpolants computed twice", dense_twice(recorded, "vern9"), RUNS
    )
    fresh = Contender(
        f"first touch of memory for {TIMES} points", lambda: first_touch(8 * len(load) * points), RUNS
    )
    ratios = [
        Difference("a point of 5 states, memory touched before", [many, many], [twice, none], points, GOAL),
        Difference("the dense stages of a trajectory", [twice], [many], RUNS),
        Difference("first touch of the memory of a point", [fresh], [], points),
    ]
    with kept_memory():
        turns(
            "output times by default, per trajectory: chaplygin_sleigh",
            [none, many, twice, fresh],
            ratios,
            rounds=ROUNDS,
        )

"""The multiply-add peak of one core, measured along with the code that is compared with it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

from shared_library import shared_library
from sizes import scaled

_SOURCE = Path(__file__).resolve().with_name("fma_peak.c")


@cache
def _compiled() -> Callable[[int], float]:
    function = shared_library(_SOURCE).fma_peak
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_long, ctypes.POINTER(ctypes.c_double)]
    sink = ctypes.c_double()
    return lambda rounds: float(function(rounds, sink))


def burst(rounds: int = scaled(10_000_000, 1000)) -> tuple[Callable[[], float], float]:
    """A function that runs at the peak for about 0.05 s, and its number of operations."""
    peak = _compiled()
    per_round = peak(1)
    return lambda: peak(rounds), per_round * rounds

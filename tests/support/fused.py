"""The multiply-add of the C library, for oracles in Python, which has none before 3.13."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from typing import Any

__all__ = ["fma"]


def _library_fma() -> Callable[[float, float, float], float]:
    function: Any = ctypes.CDLL(ctypes.util.find_library("m")).fma
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    return function


fma = _library_fma()
"""a b + c, rounded once: fusedMultiplyAdd of IEEE 754."""

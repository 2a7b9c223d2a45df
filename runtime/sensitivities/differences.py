"""Derivatives of functions of the caller, which have no kernel, by central differences of the fourth order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..interface.arguments import Array

SHARE = 1e-3
"""How far a difference goes, in sizes of what is moved: what it leaves out is then a rounding error."""


def central(at: Callable[[int], Any], h: Any) -> Any:
    """The derivative from the values at -2, -1, 1 and 2 steps of the length h; both may be arrays."""
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


def gradient(function: Callable[[Array], float], y: Array, sizes: Array) -> Array:
    """The derivatives (n,) of a function at y (n,); an entry moves in proportion to itself, at least to its size."""
    found = np.empty(len(y))
    for j, h in enumerate(SHARE * np.fmax(np.abs(y), sizes)):

        def at(steps: int, j: int = j, h: float = h) -> float:
            near: Array = y.copy()
            near[j] += steps * h
            return function(near)

        found[j] = central(at, h)
    return found

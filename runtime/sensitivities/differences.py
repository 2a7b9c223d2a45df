"""Derivatives of functions of the caller, which have no kernel, by central differences of the fourth order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..interface.arguments import Array

SHARE = 1e-3
"""How far a difference goes, in sizes of what is moved: what it leaves out is then a rounding error."""
_UNEVEN = 0.1
"""Share of the largest slope by which the slopes over neighbouring steps differ at a kink or jump."""
_ROUNDING = 1e-9
"""Share of its value below which a change of a function may be a rounding error."""
_HALVINGS = 20
"""Of the interval of a jump, until a kink would show a small change."""


def central(at: Callable[[int], Any], h: Any) -> Any:
    """The derivative from the values at -2, -1, 1 and 2 steps of the length h; both may be arrays."""
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


def gradient(function: Callable[[Array], float], y: Array, sizes: Array) -> tuple[Array, int | None]:
    """The derivatives (n,) of a function at y (n,), and the place of an entry along which it jumps there.

    An entry moves in proportion to itself, at least to its size.
    """
    found, jumps = np.empty(len(y)), None
    for j, h in enumerate(SHARE * np.fmax(np.abs(y), sizes)):

        def at(steps: float, j: int = j, h: float = h) -> float:
            near: Array = y.copy()
            near[j] += steps * h
            return function(near)

        values = {steps: at(steps) for steps in (-2, -1, 1, 2)}
        found[j] = central(values.__getitem__, h)
        if jumps is None and _jumps(at, values):
            jumps = j
    return found, jumps


def _jumps(at: Callable[[float], float], values: dict[int, float]) -> bool:
    """Whether a function jumps between the steps -2 and 2: its largest change stays while its interval shrinks.

    Only where the slopes between the values differ as they would at a kink is this looked into.
    """
    steps = sorted(values)
    slopes = np.array([(values[b] - values[a]) / (b - a) for a, b in pairwise(steps)])
    if not np.ptp(slopes) > _UNEVEN * np.abs(slopes).max():
        return False
    low, high = max(pairwise(steps), key=lambda ends: abs(values[ends[1]] - values[ends[0]]))
    a, b, below, above = float(low), float(high), values[low], values[high]
    change = abs(above - below)
    if change <= _ROUNDING * max(map(abs, values.values())):
        return False
    for _ in range(_HALVINGS):
        middle = (a + b) / 2
        value = at(middle)
        if abs(value - below) > abs(above - value):
            b, above = middle, value
        else:
            a, below = middle, value
    return abs(above - below) > change / 2

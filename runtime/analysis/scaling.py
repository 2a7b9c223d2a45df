"""Units of the states and rates of a model's equations, made of these alone, so that they follow those of its numbers.

With A = dF/dy, the rate r of the equations is the spectral radius of |A|, which no units of the states change. A state
of the size d_j moves another one by |A_ij| d_j / r in the time 1 / r, so from the sizes s of the states, and of what
the terms of their rates make of them in this time, come the units d_i = max(s_i, max_j |A_ij| d_j / r).
"""

from __future__ import annotations

import numpy as np

from ..arguments import Array
from .field import WEAK

_NOTHING = 1e-150
"""Smaller numbers count as zero: their ratios could overflow."""


def units_of_states(a: Array, sizes: Array, terms: Array) -> tuple[Array, Array]:
    """The units (n,) of the states and of their rates, from A (n, n), sizes of the states, and terms of the rates.

    A state that stays at zero has the unit in which it begins to move others. Where nothing has a size, the unit is 1.
    """
    if not len(a):
        return np.ones(0), np.ones(0)
    size = np.abs(a)
    rate = float(np.abs(np.linalg.eigvals(size)).max())
    rate = rate if rate > _NOTHING else 1.0
    units = np.fmax(sizes, terms / rate)
    for _ in range(len(a)):  # every path among the states
        units = np.fmax(units, (size * units).max(axis=1) / rate)
    # The change of each state that moves one of the others by its unit.
    moving = (size > _NOTHING) & (units > _NOTHING)[:, None]
    matters = np.where(moving, rate * units[:, None] / np.where(moving, size, 1.0), np.inf).min(axis=0)
    units = np.fmax(units, np.where(np.isfinite(matters), WEAK * matters, 0.0))
    units = np.where(units > _NOTHING, units, 1.0)
    return units, rate * units

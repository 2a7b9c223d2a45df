"""Units of the states and rates of a model's equations, made of these alone, so that they follow those of its numbers.

With A = dF/dy, the rate r of the equations is the spectral radius of |A|, which no units of the states change. A state
of the size d_j moves another one by |A_ij| d_j / r in the time 1 / r, so from the sizes s of the states, and of what
the terms of their rates make of them in this time, come the units d_i = max(s_i, max_j |A_ij| d_j / r).

A velocity has at least the unit in which it moves a coordinate by its unit in this time, so that an equation of motion
which the constraints make an identity, true wherever they hold, has a unit although nothing moves its velocity. That of
a blade's slip, which moves only coordinates that a steady motion leaves open, is how it moves these: they have units
too, although nothing depends on them, those by which the motion and its deviations move them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import Array

Mask = NDArray[np.bool_]

WEAK = 1e-4
"""An equation with derivatives below this share of the largest may be an identity, true up to rounding errors."""
NOTHING = 1e-150
"""Smaller numbers count as zero: their ratios could overflow."""


def units_of_states(
    a: Array, sizes: Array, terms: Array, closure: Array, kept: Mask, coordinates: Mask
) -> tuple[Array, Array, Array]:
    """The units (n,) of the states and of their rates, and those of the equations h = 0.

    They are made of A (n, n), sizes of the states, terms of the rates, and dh/dy. A state that stays at zero has the
    unit in which it begins to move others, or h. Where nothing has a size, the unit is 1. On coordinates that are not
    kept nothing depends.
    """
    size, held = np.abs(a), np.abs(closure)
    rate = float(np.abs(np.linalg.eigvals(size)).max(initial=0.0))
    rate = rate if rate > NOTHING else 1.0
    units = np.fmax(sizes, terms / rate)
    for _ in range(len(a)):  # every path among the states
        units = np.fmax(units, (size * units).max(axis=1) / rate)
    levels = (held * units).max(axis=1, initial=0.0)
    matters = np.fmin(_moving(size[kept], rate * units[kept]), _moving(held, levels))
    seen, open_ = (_moving(size[rows], rate * units[rows]) for rows in (coordinates & kept, ~kept))
    kinematic = np.where(coordinates, np.inf, np.where(np.isfinite(seen), seen, open_))
    for least in (WEAK * matters, kinematic):
        units = np.fmax(units, np.where(np.isfinite(least), least, 0.0))
    units = np.where(units > NOTHING, units, 1.0)
    levels = (held * units).max(axis=1, initial=0.0)
    return units, rate * units, np.where(levels > 0, levels, 1.0)


def _moving(size: Array, units: Array) -> Array:
    """The change of each column's variable that moves one of the rows by its unit; infinite if it moves none."""
    moving = (size > NOTHING) & (units > NOTHING)[:, None]
    changes = np.where(moving, units[:, None] / np.where(moving, size, 1.0), np.inf)
    return np.asarray(changes.min(axis=0, initial=np.inf))

"""Runs in which the velocities kept as states nearly stop determining the others.

The kernel "pivot" of a model gives the determinant by which the other velocities follow; models whose choice of states
is good everywhere have none. Errors grow by its inverse, and the equations are singular where it is zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .consistency import warn

if TYPE_CHECKING:
    from .solution import Solution

KERNEL = "pivot"
LOST = 0.01
"""A pivot below this fraction of its largest value so far is lost."""


def loss(sol: Solution) -> str:
    """What to say of a run in which the pivot is lost, or passes through zero between two rows; else nothing."""
    model = sol.model
    if KERNEL not in model.kernels or not len(sol.t):
        return ""
    (values,) = model._columns(KERNEL, sol.t, sol.y, sol._p[:, None], sol._u(), None, strict=False)
    best = np.maximum.accumulate(np.abs(np.nan_to_num(values)))
    lost = ~(np.abs(values) >= LOST * best) | (values * values[0] < 0)
    if not lost.any():
        return ""
    kept = ", ".join(model.states[model.n_coordinates :])
    return (
        f"about {model.independent} = {sol.t[np.argmax(lost)]:.6g} the velocities kept as states ({kept}) do not "
        "determine the others: the results are less accurate from there; declare other velocities as kept=[...], or "
        "use the form 'multipliers'"
    )


def report(sol: Solution) -> None:
    """Warn of a run in which the pivot is lost."""
    lost = loss(sol)
    if lost:
        warn(f"{sol.model.name}: {lost}", RuntimeWarning)

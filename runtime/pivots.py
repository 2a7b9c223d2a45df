"""Runs in which the velocities kept as states nearly stop determining the others.

The kernel "pivot" of a model gives the determinant by which the other velocities follow; models whose choice of states
is good everywhere have none. Errors grow by its inverse, and the equations are singular where it is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .arguments import Array, wide
from .consistency import warn
from .errors import SINGULAR

if TYPE_CHECKING:
    from .initial import InitialStates
    from .solution import Solution

KERNEL = "pivot"
LOST = 0.01
"""A pivot below this fraction of its largest value so far is lost."""


SMALL = 1e-8
"""What counts as zero where a kernel failed."""


def loss(sol: Solution) -> str:
    """What to say of a run in which the pivot is lost, or passes through zero between two rows; else nothing."""
    model = sol.model
    if KERNEL not in model.kernels or not len(sol.t):
        return ""
    (values,) = model._columns(KERNEL, sol.t, sol.y, sol._p[:, None], sol._u(), None, strict=False)
    best = np.maximum.accumulate(np.abs(np.nan_to_num(values)))
    lost = ~(np.abs(values) >= LOST * best) | (values * values[0] < 0)
    if sol.status == SINGULAR:
        lost |= ~(np.abs(values) >= SMALL)
    if not lost.any():
        return ""
    where = f"about {model.independent} = {sol.t[np.argmax(lost)]:.6g}"
    return f"{where} {_undetermined(model)}: the results are less accurate from there; {_advice}"


def at_start(model: InitialStates, t0: float, names: Sequence[str], start: Array, p: Array) -> str:
    """What to say of a start at which a kernel failed because the pivot is zero; nothing if it is not.

    `start` (n,) or (n, N) has the values of the variables `names`, all coordinates among them.
    """
    if KERNEL not in model._entries:
        return ""
    rows, coordinates = wide(start), model.states[: model.n_coordinates]
    x = np.zeros((len(model.states), rows.shape[1]))
    x[: len(coordinates)] = rows[[names.index(name) for name in coordinates]]
    inputs = np.zeros((len(model.inputs), 1))  # constraints do not contain them
    (values,) = model._columns(KERNEL, np.array([t0]), x, wide(p), inputs, None, strict=False)
    lost = np.flatnonzero(~(np.abs(values) >= SMALL))
    if not lost.size:
        return ""
    where = f" in column {lost[0]}" if len(values) > 1 else ""
    return f"initial: {_undetermined(model)} at {model.independent} = {t0:.6g}{where}; {_advice}"


class EnsemblePivots:
    """The pivots of an ensemble at its start, at its output times and at its ends, as far as these are kept."""

    def __init__(self, model: InitialStates, t0: float, x0: Array, parameters: Array) -> None:
        """`x0` (n_states, N); `parameters` (n_parameters, 1 or N)."""
        self.model, self.parameters = model, parameters
        self.first = self._of(np.full(x0.shape[1], t0), x0)
        self.best, self.lost = np.abs(self.first), np.zeros(x0.shape[1], dtype=bool)

    def _of(self, t: Array, y: Array) -> Array:
        inputs = np.zeros((len(self.model.inputs), 1))  # constraints do not contain them
        found: Array = self.model._columns(KERNEL, t, y, self.parameters, inputs, None, strict=False)[0]
        return found

    def see(self, t: Array, y: Array) -> None:
        """Take in the states y (n_states, N) at times t (N,); NaN where a trajectory did not get."""
        values = self._of(t, y)
        reached = np.isfinite(values)
        self.best = np.fmax(self.best, np.abs(values))
        self.lost |= reached & ((np.abs(values) < LOST * self.best) | (values * self.first < 0))

    def report(self) -> None:
        """Warn if the pivot is lost in some of the trajectories."""
        count = int(self.lost.sum())
        if count:
            warn(
                f"{self.model.name}: in {count} of {len(self.lost)} trajectories {_undetermined(self.model)}: these "
                f"results are less accurate; {_advice}",
                RuntimeWarning,
            )


_advice = "declare other velocities as kept=[...], or use the form 'multipliers'"


def _undetermined(model: InitialStates) -> str:
    kept = [s for s in model.states[model.n_coordinates :] if s != "t"]
    return f"the velocities kept as states ({', '.join(kept)}) do not determine the others"


def report(sol: Solution) -> None:
    """Warn of a run in which the pivot is lost."""
    lost = loss(sol)
    if lost:
        warn(f"{sol.model.name}: {lost}", RuntimeWarning)

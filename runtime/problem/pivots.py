"""Runs in which the velocities kept as states nearly stop determining the others.

The kernel "pivot" of a model gives the determinant by which the other velocities follow; models whose choice of states
is good everywhere have none. Errors grow by its inverse, and the equations are singular where it is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import Array, wide
from ..interface.base_model import BaseModel
from ..interface.statuses import CHOOSE, PIVOT, SINGULAR, undetermined
from .consistency import warn

LOST = 0.01
"""A pivot below this fraction of its largest value so far is lost."""

SMALL = 1e-8
"""What counts as zero where a kernel failed."""


def loss(model: BaseModel, t: Array, y: Array, p: Array, u: Array, status: int) -> str:
    """What to say of a run in which the pivot is lost, or passes through zero between two rows; else nothing.

    It has the states y (n, N) at the times t (N,) with the inputs u.
    """
    if PIVOT not in model._entries or not len(t):
        return ""
    (values,) = model._columns(PIVOT, t, y, p[:, None], u, None, strict=False)
    best = np.maximum.accumulate(np.abs(np.nan_to_num(values)))
    lost = _lost(values, best, values[0])
    if status == SINGULAR:
        lost |= ~(np.abs(values) >= SMALL)
    return _from(model, t[np.argmax(lost)]) if lost.any() else ""


def _lost(values: Array, best: Array, first: Any) -> NDArray[np.bool_]:
    """Where pivots are lost, from what they were at most so far and at the start."""
    return np.asarray(~(np.abs(values) >= LOST * best) | (values * first < 0))


def _from(model: BaseModel, t: float) -> str:
    where = f"about {model.independent} = {t:.6g}"
    return f"{where} {undetermined(model)}: the results are less accurate from there; {CHOOSE}"


def at_start(model: BaseModel, t0: float, names: Sequence[str], start: Array, p: Array) -> str:
    """What to say of a start at which a kernel failed because the pivot is zero; nothing if it is not.

    `start` (n,) or (n, N) has the values of the variables `names`, all coordinates among them.
    """
    if PIVOT not in model._entries:
        return ""
    rows, coordinates = wide(start), model.states[: model.n_coordinates]
    x = np.zeros((len(model.states), rows.shape[1]))
    x[: len(coordinates)] = rows[[names.index(name) for name in coordinates]]
    inputs = np.zeros((len(model.inputs), 1))  # constraints do not contain them
    (values,) = model._columns(PIVOT, np.array([t0]), x, wide(p), inputs, None, strict=False)
    lost = np.flatnonzero(~(np.abs(values) >= SMALL))
    if not lost.size:
        return ""
    where = f" in column {lost[0]}" if len(values) > 1 else ""
    return f"initial: {undetermined(model)} at {model.independent} = {t0:.6g}{where}; {CHOOSE}"


class Pivots:
    """The pivots of runs from their starts on, at the points that are shown to it."""

    def __init__(self, model: BaseModel, t: Array, y: Array, parameters: Array) -> None:
        """Starts: t (N,), y (n_states, N), and parameters (n_parameters, 1 or N), which may change in place."""
        self.model, self.parameters = model, parameters
        self.first = self._of(t, y, parameters)
        self.best, self.lost = np.abs(self.first), np.zeros(len(self.first), dtype=bool)

    def _of(self, t: Array, y: Array, p: Array) -> Array:
        inputs = np.zeros((len(self.model.inputs), 1))  # constraints do not contain them
        found: Array = self.model._columns(PIVOT, t, y, p, inputs, None, strict=False)[0]
        return found

    def restart(self, runs: NDArray[np.intp], t: Array, y: Array) -> None:
        """Some of the runs, each with parameters of its own, start again."""
        self.first[runs] = self._of(t, y, self.parameters[:, runs])
        self.best[runs], self.lost[runs] = np.abs(self.first[runs]), False

    def see(self, t: Array, y: Array) -> bool:
        """Take in states y (n, N) at times t (N,), NaN where a run did not get; whether the first is lost."""
        before = self.lost.any()
        values = self._of(t, y, self.parameters)
        self.best = np.fmax(self.best, np.abs(values))
        self.lost |= np.isfinite(values) & _lost(values, self.best, self.first)
        return bool(self.lost.any() and not before)

    def report(self, what: str) -> None:
        """Warn if the pivot is lost in some of the runs; `what` they are called."""
        count = int(self.lost.sum())
        if count:
            warn(
                f"{self.model.name}: in {count} of {len(self.lost)} {what} {undetermined(self.model)}: these "
                f"results are less accurate; {CHOOSE}",
                RuntimeWarning,
            )


class StepperPivot:
    """The pivot of a run that is advanced by its caller, at the ends of its advances."""

    def __init__(self, model: BaseModel) -> None:
        self.model = model
        self.pivots: Pivots | None = None

    def see(self, t: float, y: Array, p: Array, begins: bool = False) -> None:
        """Take in a state, with which a run can begin, or more than it; warn when the pivot is first lost."""
        at = np.array([t]), y[: len(self.model.states), None]
        if begins or self.pivots is None:
            self.pivots = Pivots(self.model, *at, p[: len(self.model.parameters), None])
        elif self.pivots.see(*at):
            warn(f"{self.model.name}: {_from(self.model, t)}", RuntimeWarning)


def report(model: BaseModel, t: Array, y: Array, p: Array, u: Array, status: int) -> None:
    """Warn of a run in which the pivot is lost."""
    lost = loss(model, t, y, p, u, status)
    if lost:
        warn(f"{model.name}: {lost}", RuntimeWarning)

"""On which side of a jump each point of a run lies: quantities have the inputs, branches and modes of that side.

At a jump (a reset, or contacts that change their modes) a run has two points at one time, or with `t_eval` the first
one. Inputs that jump there have the value before in that and the value after in the other. Branches of expressions that
change at a kink are those of its two sides: the run has stopped behind it, so that the point before is evaluated where
its guard has the sign from which the motion comes, rounding errors away. And a run with contacts that ends where an
input jumps has not chosen modes for what follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import Array
from ..interface.base_model import BaseModel
from ..problem.inputs import Inputs
from .event_record import EventRecord

SPACINGS = 8.0 * float(np.finfo(np.float64).eps)
"""A run stops at most this share of the time behind the jump of a function."""
SAME = 1e-9
"""A function of the time jumps if it changes by more than this share of itself between a time and the next numbers."""
ASIDE = np.append(0.0, 0.25 ** np.arange(26.0, 14.0, -1.0))
"""How far back the side before a kink is looked for, as a share of the time since the point before: up to 1e-9."""


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a run from t0 to `end`: times (N,) and states (n, N), p (np,), its inputs and what happened."""

    model: BaseModel
    t0: float
    end: float
    t: Array
    y: Array
    p: Array
    inputs: Inputs | Array
    record: EventRecord | None

    def evaluated(self) -> tuple[Array, Array, Array]:
        """Times and states at which quantities are evaluated, and the inputs there (nu, N), followed by the modes."""
        t, y, given, record = self.t, self.y, self.inputs, self.record
        if record is None or not len(t):
            return t, y, given.at(t, y) if isinstance(given, Inputs) else self._constant(given)
        before, after = self._jumps(record)
        if isinstance(given, Inputs):
            arrives = before.copy()
            arrives[-1] |= bool(record.contacts) and not after[-1] and t[-1] == self.end != self.t0
            u = given.at(t, y, arrives if self._direction > 0 else after)
            self._follow_functions(given, np.flatnonzero(arrives), u)
        else:
            u = self._constant(given)
        if record.contacts:
            u = np.concatenate([u, record.modes_of_rows(len(t))])
        rows = np.flatnonzero(before) if self.model.kinks else np.empty(0, dtype=np.int64)
        if len(rows):
            t, y = t.copy(), y.copy()
            t[rows], y[:, rows] = self._before_kinks(rows, u[:, rows])
        return t, y, u

    @property
    def _direction(self) -> float:
        return 1.0 if self.t[-1] >= self.t[0] else -1.0

    def _constant(self, given: Array) -> Array:
        return np.repeat(given[:, None], len(self.t), axis=1)

    def _jumps(self, record: EventRecord) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which points are before a jump, and which after one; not at the start, to which all inputs belong."""
        before, twice = record.followed(self.t, len(self.y), SPACINGS), self.t[1:] == self.t[:-1]
        before[:-1] |= twice
        after = np.append(False, twice) & ~before
        inside = self.t != self.t0
        return before & inside, after & inside

    def _earlier(self, rows: NDArray[np.int64]) -> Array:
        """The times of the points before those of some rows, at other times."""
        ordered = self._direction * self.t
        return self.t[np.maximum(np.searchsorted(ordered, ordered[rows]) - 1, 0)]

    def _follow_functions(self, given: Inputs, rows: NDArray[np.int64], u: Array) -> None:
        """Input functions that jump have the value before in the rows at which the run arrives there."""
        if not given.functions or not len(rows):
            return
        apart = SPACINGS * np.maximum(np.abs(self.t[rows]), np.abs(self._earlier(rows)))
        found = u[:, rows].copy()
        given.call_functions(self.t[rows] - self._direction * apart, self.y[:, rows], found)
        jumps = np.abs(found - u[:, rows]) > SAME * (np.abs(found) + np.abs(u[:, rows]))
        u[:, rows] = np.where(jumps, found, u[:, rows])

    def _before_kinks(self, rows: NDArray[np.int64], u: Array) -> tuple[Array, Array]:
        """Times and states just before the kinks that some rows lie on or just behind, along tangents."""
        model, p, t, y = self.model, self.p[:, None], self.t[rows], self.y[:, rows]
        back = np.outer(self._earlier(rows) - t, ASIDE)
        rates = model._columns("rhs", t, y, p, u, None, False)
        moments, states = t[:, None] + back, y[:, :, None] + rates[:, :, None] * back
        controls = np.repeat(u, len(ASIDE), axis=1)
        guards = model._columns(
            "guards", moments.ravel(), states.reshape(len(y), -1), p, controls, None, False
        )[len(model.events) :][: len(model.kinks)]
        signs = np.sign(guards).reshape(-1, *back.shape)
        side = signs[:, :, -1:]
        behind = (side * signs[:, :, :1] <= 0) & (side != 0)
        fits = (~behind | (signs == side)).all(axis=0)
        at = np.arange(len(rows)), np.where(fits.any(axis=1), fits.argmax(axis=1), 0)
        return moments[at], states[:, at[0], at[1]]

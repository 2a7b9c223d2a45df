"""Values of a run between its points, from the interpolants of its steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface.arguments import Array
from ..problem.inputs import Inputs
from .dense import Dense
from .run_data import RunData
from .series import ENOUGH, POINTS, Series

EDGE = 1e-9
"""What is drawn at the ends of a step is evaluated this share of it inside, where every branch is that of the step."""


class Inside:
    """The motion inside the steps of a run, with the inputs as each step used them."""

    def __init__(self, sol: RunData, dense: Any) -> None:
        self.model, self.dense, self.event_record = sol.model, dense, sol._event_record
        self.inputs = sol._inputs if isinstance(sol._inputs, Inputs) else None
        self.constant = sol._inputs if isinstance(sol._inputs, np.ndarray) else sol._inputs.values

    def u(self, t: Array, y: Array, begin: Array, end: Array) -> Array:
        """Inputs (nu, N) at times t inside the steps begin..end, each (N,); at a jump, the value inside the step."""
        u = np.repeat(self.constant[:, None], len(t), axis=1)
        if self.inputs is None:
            return self.with_modes(u, begin, end)
        for i, signal in self.inputs.signals.items():
            u[i] = signal.at(t, 0.5 * (begin + end))
        self.inputs.call_functions(t, y, u)
        return self.with_modes(u, begin, end)

    def with_modes(self, u: Array, begin: Array, end: Array) -> Array:
        """The inputs, followed by the contact modes during the steps begin..end."""
        if self.event_record is None or not self.event_record.contacts:
            return u
        sign = 1.0 if self.dense.ts[-1] >= self.dense.ts[0] else -1.0
        return np.concatenate([u, self.event_record.modes_at(0.5 * (begin + end), sign)])


def drawn(sol: RunData, points: int = POINTS) -> RunData | Series:
    """The quantities of a run between its points too, for pictures; the run itself if it has enough points.

    A time at which a reset or a mode change interrupts the run occurs twice, before and after. A run that cannot be
    repeated, as with an input function that remembers, is drawn by its own points.
    """
    if len(sol.t) >= ENOUGH or sol.n_steps == 0:
        return sol
    try:
        dense = sol.interpolant()
    except ArgumentError:
        return sol
    ends = np.asarray(dense.ts, dtype=np.float64)
    begin, end = ends[:-1], ends[1:]
    fractions = np.linspace(0.0, 1.0, max(2, -(-points // len(begin))) + 1)
    t = (begin[:, None] * (1.0 - fractions) + end[:, None] * fractions).clip(
        np.minimum(begin, end)[:, None], np.maximum(begin, end)[:, None]
    )
    y = np.asarray(dense(t.ravel())).reshape(-1, *t.shape)
    if sol._event_record is not None:
        y[:, :, 0] = dense.starts(0, len(begin))  # after a reset, not where the previous step ended
    t, y = t.ravel(), np.ascontiguousarray(y.reshape(len(y), -1))
    low, high = np.repeat(begin, len(fractions)), np.repeat(end, len(fractions))
    inside = Inside(sol, dense)

    steps, theta = (
        np.repeat(np.arange(len(begin)), len(fractions)),
        np.tile(fractions, len(begin)),
    )

    def evaluated() -> tuple[Array, Array, Array]:
        parts = theta.clip(EDGE, 1.0 - EDGE)
        moments = low + parts * (high - low)
        states = dense.inside(steps, parts) if isinstance(dense, Dense) else dense(moments)
        return moments, states, inside.u(moments, states, low, high)

    return Series(sol.model, t, y, sol._p, evaluated)

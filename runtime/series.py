"""Quantities along a run by name: at its own points, or drawn from the interpolants of its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments import Array, plain_name, unknown_quantity
from .errors import ArgumentError
from .inputs import Inputs

if TYPE_CHECKING:
    from .base_model import BaseModel
    from .solution import Solution

POINTS = 600
"""About as many points are drawn of a run with fewer steps: a picture is not much wider."""
ENOUGH = 4000
"""Points that are joined by straight lines as they are."""


class Series:
    """Every quantity of a model by name at times t (N,) and states y (n, N); computed when first asked for."""

    __slots__ = ("_all", "_model", "_p", "_u", "t", "y")

    def __init__(self, model: BaseModel, t: Array, y: Array, p: Array, u: Callable[[], Array]) -> None:
        self._model, self.t, self.y, self._p, self._u = model, t, y, p, u
        self._all: dict[str, Array] | None = None

    def __getitem__(self, name: Any) -> Array:
        key, model = plain_name(name), self._model
        if key in model.states:
            state: Array = self.y[model.states.index(key)]
            return state
        if key in ("t", model.along):
            return self.t
        if key in model.inputs:
            row: Array = self._u()[model.inputs.index(key)]
            return row
        return self.all(key if name is None else name)[key]

    def all(self, name: Any = None) -> dict[str, Array]:
        """Every quantity; raises `ArgumentError` if `name` is not one of them."""
        model = self._model
        if name is not None and plain_name(name) not in model.quantities:
            raise unknown_quantity(name, model.name, model.quantities)
        if self._all is None:
            self._all = model._values(self.t, self.y, self._p, self._u(), strict=False)
        return self._all


class Inside:
    """The motion inside the steps of a run, with the inputs as each step used them."""

    def __init__(self, sol: Solution, dense: Any) -> None:
        self.model, self.dense, self.event_record = sol.model, dense, sol._event_record
        self.inputs = sol._inputs if isinstance(sol._inputs, Inputs) else None
        self.constant = sol._inputs if isinstance(sol._inputs, np.ndarray) else sol._inputs.values

    def u(self, t: Array, y: Array, begin: Array, end: Array) -> Array:
        """Inputs (nu, N) at times t inside the steps begin..end, each (N,); at a jump, the value inside the step."""
        u = np.repeat(self.constant[:, None], len(t), axis=1)
        if self.inputs is None:
            return self.with_modes(u, begin, end)
        for i, signal in self.inputs.signals.items():
            first, second = 0.75 * begin + 0.25 * end, 0.25 * begin + 0.75 * end
            low, high = signal.at(first), signal.at(second)
            u[i] = low + (high - low) * (t - first) / (second - first)
        self.inputs.call_functions(t, y, u)
        return self.with_modes(u, begin, end)

    def with_modes(self, u: Array, begin: Array, end: Array) -> Array:
        """The inputs, followed by the contact modes during the steps begin..end."""
        if self.event_record is None or not self.event_record.contacts:
            return u
        sign = 1.0 if self.dense.ts[-1] >= self.dense.ts[0] else -1.0
        return np.concatenate([u, self.event_record.modes_at(0.5 * (begin + end), sign)])


def drawn(sol: Solution, points: int = POINTS) -> Solution | Series:
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
    return Series(sol.model, t, y, sol._p, lambda: inside.u(t, y, low, high))

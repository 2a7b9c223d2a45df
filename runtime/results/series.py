"""Quantities along a run by name: at its own points, or drawn from the interpolants of its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interface.arguments import Array, plain_name, unknown_quantity
from ..interface.base_model import BaseModel

POINTS = 600
"""About as many points are drawn of a run with fewer steps: a picture is not much wider."""
ENOUGH = 4000
"""Points that are joined by straight lines as they are."""


class Series:
    """Every quantity of a model by name at times t (N,) and states y (n, N); computed when first asked for.

    `points` gives the times and states at which they are evaluated, see `row_sides`, and the inputs with the modes.
    """

    __slots__ = ("_all", "_model", "_p", "_points", "t", "y")

    def __init__(
        self, model: BaseModel, t: Array, y: Array, p: Array, points: Callable[[], tuple[Array, Array, Array]]
    ) -> None:
        self._model, self.t, self.y, self._p, self._points = model, t, y, p, points
        self._all: dict[str, Array] | None = None

    def __getitem__(self, name: Any) -> Array:
        key, model = plain_name(name), self._model
        if key in model.states:
            state: Array = self.y[model.states.index(key)]
            return state
        if key in ("t", model.along):
            return self.t
        if key in model.inputs:
            row: Array = self._points()[2][model.inputs.index(key)]
            return row
        return self.all(key if name is None else name)[key]

    def all(self, name: Any = None) -> dict[str, Array]:
        """Every quantity; raises `ArgumentError` if `name` is not one of them."""
        model = self._model
        if name is not None and plain_name(name) not in model.quantities:
            raise unknown_quantity(name, model.name, model.quantities)
        if self._all is None:
            t, y, u = self._points()
            self._all = model._values(t, y, self._p, u, strict=False)
            if y is not self.y:
                self._all |= {name: row.copy() for name, row in zip(model.states, self.y)}
        return self._all

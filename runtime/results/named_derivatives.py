"""Derivatives by the names of what is derived and of what it is derived by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.base_model import BaseModel
from ..interface.messages import short


class NamedDerivatives:
    """The derivatives of quantities by parameters and initial values, by the names of both: ``found["x", "m"]``.

    `y` has those of the states, (n, k, ...), by each of `names`, and `delays` (k, ...) those of the times of these
    points, ``found["t", "m"]``: zero except where an event is at it. `control`: whether their errors control the steps.
    """

    def __init__(
        self, model: BaseModel, names: tuple[str, ...], y: Array, control: bool, delays: Array | None = None
    ) -> None:
        self.names, self.y, self.control = names, y, control
        self._model = model
        self.delays: Array = np.zeros(y.shape[1:]) if delays is None else delays
        self._found: dict[str, Array] = {}

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple) or len(key) != 2:
            raise ArgumentError(
                f"sensitivity[{arguments.short(key)}]: give two names, a quantity and one of {', '.join(self.names)}"
            )
        quantity, by = map(arguments.plain_name, key)
        if by not in self.names:
            raise ArgumentError(
                f"sensitivity: the run has none by {short(by)}, but by {', '.join(self.names)}"
                f"{arguments.nearest(by, self.names)}"
            )
        model, column = self._model, self.names.index(by)
        if quantity in model.states:
            found: Array = self.y[model.states.index(quantity), column]
            return found
        if quantity in ("t", model.along):
            delay: Array = self.delays[column]
            return delay
        for kernel, names in (("outputs", model.outputs), ("invariants", model._conserved)):
            if quantity in names:
                if kernel not in self._found:
                    self._found[kernel] = self._of_kernel(kernel, len(names))
                rows: Array = self._found[kernel][names.index(quantity), column]
                return rows
        raise arguments.unknown_quantity(
            quantity, model.name, (*model.states, *model.outputs, *model._conserved)
        )

    def _of_kernel(self, kernel: str, rows: int) -> Array:
        """The derivatives of the results of a kernel, (rows, k, ...)."""
        raise NotImplementedError


class RunDerivatives(NamedDerivatives):
    """Those along one run, with `Sensitivity.at` and `Sensitivity.events`."""

    def at(self, t: Any) -> Array:
        raise NotImplementedError

    @property
    def events(self) -> Mapping[str, Any]:
        raise NotImplementedError

"""A stepper in the place of a batch of one run: for models with events, contacts or what else no batch takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import KernelError

from .. import core
from ..interface.arguments import Array
from ..model.expressions import companion, places_of_new


class SingleRun:
    """What `Episodes` ask of a `Batch`, by a stepper that is made anew at each reset.

    A run that fails keeps its last point and status, as a run of a batch does; one that comes to a terminal event has
    ended there.
    """

    def __init__(
        self,
        model: Any,
        initial: dict[str, Any],
        parameters: dict[str, Any],
        inputs: dict[str, Any],
        **options: Any,
    ) -> None:
        self.model, self.options, self.inputs = model, options, dict(inputs)
        self._initial, self._parameters = numbers(initial), numbers(parameters)
        self.status: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self.ended: NDArray[np.bool_] = np.zeros(1, dtype=bool)
        self._start()

    def _start(self) -> None:
        self.run = self.model.stepper(self._initial, self._parameters, self.inputs, **self.options)
        self.status[:], self.ended[:] = 0, False

    def set_inputs(self, values: Mapping[str, Any]) -> None:
        """Change inputs from here on."""
        self.inputs |= numbers(values)
        self.run.set_inputs({name: self.inputs[name] for name in values})

    def reset(self, runs: Any, initial: dict[str, Any], parameters: dict[str, Any]) -> None:
        """Start again; what is not named is as before."""
        self._initial |= numbers(initial)
        self._parameters |= numbers(parameters)
        self._start()

    def advance_by(self, dt: float, inputs: Mapping[str, Any]) -> None:
        """Advance by dt, or to a terminal event, in which the run stays."""
        if self.status[0] < 0 or self.ended[0]:
            return
        self.set_inputs(inputs)
        try:
            self.run.advance_by(dt)
            self.ended[0] = self.run.status == 1
        except KernelError as error:
            self.status[0] = error.status

    def evaluate(self, wanted: Sequence[Any], out: Array) -> Array:
        """Quantities by name and expressions, (k, 1)."""
        new = places_of_new(wanted, self.run.names)
        for i, what in enumerate(wanted):
            if i not in new:
                out[i] = self.run[getattr(what, "name", what)]
        if new:
            out[new] = self._expressions([wanted[i] for i in new])
        return out

    def _expressions(self, expressions: list[Any]) -> Array:
        run, address = self.run, companion(self.model, expressions, 1)
        values = [run[name] for name in self.model.inputs] + [*run._modes()]
        controls = np.array(values, dtype=float).reshape(-1, 1)
        found: Array = core.companion_columns(
            self.model, address, np.array([run.t]), run.y[:, None], [np.array([v]) for v in run.p], controls
        )
        return found


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """One number for each name, of a number or an array (1,)."""
    return {name: float(np.asarray(value).reshape(())) for name, value in values.items()}

"""A stepper with sensitivities."""

from __future__ import annotations

from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.derivatives import derivatives
from ..problem.given_inputs import parse
from ..problem.inputs import Inputs
from ..problem.options import RunOptions
from ..results.named_derivatives import NamedDerivatives
from ..sensitivities.start import check_inputs, fixed_input
from ..sensitivities.variation import Variation, VariedRun, moved
from .snapshots import Snapshot
from .stepper import Stepper


class SensitivityStepper(Stepper):
    """A `Stepper` with ``run.sensitivity["x", "m"]``, the derivative of x at ``run.t`` by one of its names.

    Made by ``model.stepper(..., sensitivities=[...])``; see docs/sensitivities.md. The derivatives are those of one
    run: states and parameters cannot be changed on the way, nor the inputs that are varied.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> run = model.stepper({"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, sensitivities=["x"])
    >>> run.advance(1.0).round(6)    # cos 2, -2 sin 2
    array([-0.416147, -1.818595])
    >>> round(run.sensitivity["x", "x"], 6)
    -0.416147
    """

    _model: Any
    _variation: Variation

    @classmethod
    def of(cls, model: Any, t0: float, given: VariedRun) -> SensitivityStepper:
        """The stepper of a model from the start of its run."""
        larger = given.variation.model
        run = cls(larger, t0, given.state, given.vector, given.inputs, given.options, given.past)
        run._model, run._varied, run._variation = model, given.start.names, given.variation
        run._watch_pivot(model)
        return run

    @property
    def model(self) -> Any:
        """The model, without tangents."""
        return self._model

    @property
    def y(self) -> Array:
        """The state at `t`, shape (n,): a copy."""
        return super().y[: len(self.model.states)]

    @property
    def p(self) -> Array:
        """The parameters, shape (np,): a copy."""
        return super().p[: len(self.model.parameters)]

    @property
    def sensitivity(self) -> PointSensitivity:
        """The derivatives at `t`, which stay as they are when the stepper goes on."""
        with self._alone:
            return PointSensitivity(self, *self._point(), self._slopes())

    def advance(self, t: float) -> Array:
        return super().advance(t)[: len(self.model.states)]

    def advance_by(self, dt: float) -> Array:
        return super().advance_by(dt)[: len(self.model.states)]

    def __getitem__(self, key: Any) -> float:
        name = arguments.plain_name(key)
        if name not in self.names and name not in ("t", self.model.along):
            raise arguments.unknown_quantity(key, self.model.name, self.names)
        return super().__getitem__(name)

    def evaluate(self, name: Any = None) -> Any:
        if name is not None:
            return self[name]
        return {name: value for name, value in super().evaluate().items() if name in self.names}

    def set_state(self, values: Any = None, /, **named: Any) -> None:
        raise _continued("set_state")

    def set_parameters(self, values: Any = None, /, **named: Any) -> None:
        raise _continued("set_parameters")

    def _set(self, inputs: Inputs) -> None:
        check_inputs("sensitivities", inputs)
        super()._set(inputs)

    def set_inputs(self, values: Any = None, /, **named: Any) -> None:
        given = arguments.named("inputs", {} if values is None else values)
        changed = [*self.model.inputs] if given is None else [*given, *named]
        varied = [name for name in changed if name in self._varied]
        if varied:
            raise fixed_input(varied[0])
        super().set_inputs(values, **named)

    def __copy__(self) -> SensitivityStepper:
        return _resumed(*self.__reduce__()[1])

    def __reduce__(self) -> tuple[Any, ...]:
        variation = self._variation
        return _resumed, (self.model, variation.count, variation.control, self._options, self.save())


def _resumed(
    model: Any, count: int, control: bool, options: RunOptions, snapshot: Snapshot
) -> SensitivityStepper:
    """A stepper that continues where the snapshot was taken."""
    variation = Variation.of(model, count, control)
    larger, inputs = variation.model, parse(np.zeros(len(model.inputs)), model.inputs)
    state, vector = np.zeros(variation.size), np.zeros(len(larger.parameters))
    run = SensitivityStepper(larger, 0.0, state, vector, inputs, options)
    run._model, run._varied, run._variation = model, snapshot.sensitivities, variation
    run.restore(snapshot)
    run._watch_pivot(model)
    return run


def _continued(caller: str) -> ArgumentError:
    return ArgumentError(
        f"{caller}: the derivatives are those of one run from its start; make a new stepper, or one without "
        "sensitivities"
    )


class PointSensitivity(NamedDerivatives):
    """The derivatives at one time: ``found["x", "m"]`` is dx/dm, a number; `y` has all of the states, (n, k).

    Where an event has just ended an advance they are total derivatives, with the change of the time of the event.
    """

    def __init__(
        self, run: SensitivityStepper, t: float, state: Array, vector: Array, u: Array, slopes: Array
    ) -> None:
        """From the time, the state and the parameters with their tangents, the inputs with the modes, their slopes."""
        variation, model = run._variation, run.model
        y, delays = variation.total(state, variation.sizes(vector), run.status == 1)
        super().__init__(model, run._varied, y, variation.control, delays)
        self._point = t, state[: len(model.states)], vector[: len(model.parameters)], u
        seeds = variation.seeds(vector, len(model.parameters))[:, :, None]
        seeds = moved(seeds, slopes[:, None], delays[:, None])[:, :, 0]
        self._direction = np.concatenate([delays[None], self.y, seeds])

    def __getitem__(self, key: Any) -> float:
        return float(super().__getitem__(key))

    def _of_kernel(self, kernel: str, rows: int) -> Array:
        return derivatives(self._model).along(kernel, *self._point, self._direction)

"""A loss as a function of a vector of parameters and initial values, for optimisers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import NOT_NEGATIVE, NOT_POSITIVE
from ..model.compiled_model import CompiledModel
from ..problem.consistency import Accuracy
from ..problem.options import RunOptions
from .gradient import backward, check_memory, check_smooth
from .loss import terms_of
from .start import GradientStart


class LossFunction:
    """A loss as a function of a vector; `Objective`, which users hold, adds its forms for other packages."""

    def __init__(
        self,
        model: CompiledModel,
        loss: Any,
        t_span: tuple[float, float],
        initial: Any,
        parameters: Any,
        inputs: Any,
        free: Any,
        memory: Any,
        options: RunOptions,
    ) -> None:
        self._memory = check_memory(memory)
        self._options = check_smooth("objective", model, options)
        t0, self._end = arguments.span(t_span)
        self._accuracy = Accuracy.of(model, self._options)
        first = GradientStart.of(
            "objective", model, t0, initial, parameters, inputs, self._accuracy, move=True
        )
        self.model, self.names = model, first.chosen("free", free)
        self._terms = terms_of(loss, model, (t0, self._end))
        self._given = t0, named(first, "initial"), named(first, "parameters"), named(first, "inputs")
        self.start = np.array([self._value(name) for name in self.names])
        self.bounds = bounds(model, self.names)

    def _value(self, name: str) -> float:
        found: float = next(part[name] for part in self._given[1:] if name in part)
        return found

    def __call__(self, values: Any) -> tuple[float, Array]:
        """The loss and its gradient (k,) at values (k,); raises KernelError if the run fails."""
        point = dict(zip(self.names, arguments.vector("values", values, self.names).tolist()))
        t0, *parts = self._given
        initial, parameters, inputs = (
            {name: point.get(name, value) for name, value in part.items()} for part in parts
        )
        start = GradientStart.of(
            "objective", self.model, t0, initial, parameters, inputs, self._accuracy, move=True
        )
        value, slopes, _ = backward(start, self.names, self._terms, self._end, self._options, self._memory)
        return value, np.array([slopes[name] for name in self.names])


def named(start: GradientStart, kind: str) -> dict[str, Any]:
    """The values of a start by name: those of which it is made, before it is moved onto the constraints."""
    model = start.model
    if kind == "inputs":
        return dict(zip(model.inputs, start.inputs.specs))
    if kind == "parameters":
        known = dict(zip(model.parameters, map(float, start.p)))
        return {name: known[name] for name in start.parameter_names}
    return {name: start.entries[name] for name in start.initial_names}


def bounds(model: CompiledModel, names: Any, given: Mapping[str, Any] | None = None) -> tuple[Array, Array]:
    """Lower and upper bounds (k,): as `given` by name, else by the assumptions about each variable."""
    stated = arguments.by_name("bounds", {} if given is None else given)
    arguments.check_known("bounds", stated, names)
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for i, name in enumerate(names):
        flags = model.variables[name.partition("[")[0]].flags
        low[i] = 0.0 if flags & NOT_NEGATIVE else -np.inf
        high[i] = 0.0 if flags & NOT_POSITIVE else np.inf
        if name in stated:
            pair = arguments.array(f"bounds: {name}", stated[name])
            if pair.shape != (2,) or not pair[0] < pair[1]:
                raise ArgumentError(
                    f"bounds: {name} = {arguments.short(stated[name])}; (lower, upper) is needed"
                )
            low[i], high[i] = pair
    return low, high

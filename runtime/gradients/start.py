"""The start of a run as a function of what it is differentiated by: parameters, initial values and inputs by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.derivatives import derivatives
from ..model.nearest import Move, Nearest
from ..problem.consistency import Accuracy
from ..problem.continued import continued, past_of
from ..problem.inputs import Inputs
from ..sensitivities.start import (
    TangentStart,
    check_constant,
    check_differentiable,
    check_inputs,
    is_integer,
    size_of,
)

if TYPE_CHECKING:
    from ..model.compiled_model import CompiledModel


@dataclass(frozen=True)
class Onset:
    """The checked start of a run: states x (n,), parameters p (np,), inputs, and their values u (nu,) at the start.

    `declared` has the declared variables (nd,) if the states and some of the parameters are computed from them by the
    kernel "initial"; otherwise it is None, and the initial values are the states.
    """

    model: CompiledModel
    t: float
    x: Array
    p: Array
    u: Array
    inputs: Inputs
    declared: Array | None
    move: Move | None = None
    """That onto the constraints."""
    unit: Callable[[Any, Sequence[str]], Array] | None = None
    """The derivatives of entries by those given, where quaternions were given the length 1."""
    past: tuple[float, ...] = ()
    """See `past_of`."""

    @classmethod
    def of(
        cls,
        what: str,
        model: CompiledModel,
        t: float,
        initial: Any,
        parameters: Any,
        inputs: Any,
        accuracy: Accuracy,
        move: bool = False,
    ) -> Onset:
        """From the arguments of a run; raises the errors of `integrate`, and `ArgumentError` for inputs f(t, y).

        With `move` the start can be off the constraints, and the run begins at the nearest one on them.
        """
        past = past_of(initial)
        initial, parameters, inputs = continued(model, initial, parameters, inputs)
        given = arguments.named("initial", initial)
        begin, unit = Nearest.of(model, initial) if move else initial, None
        x, p, controls = model._prepare(t, begin, parameters, inputs, accuracy)
        if isinstance(begin, Nearest):
            given, unit = begin.by_name(model), begin.unit if model._quaternions else None
        controls = controls.since(t)
        check_inputs(what, controls)
        u = controls.at(t, x)
        if given is None or not model.has_initial or model._direct(given, parameters):
            before = x
            if isinstance(begin, Nearest):
                before, _ = model._initial(t, begin.states(model), parameters, controls, None)
            return cls(model, t, x, p, u, controls, None, Move.of(model, t, before, given, p, u), unit, past)
        known = model.evaluate(t, x, p, u) | {model.independent: t} | given
        declared = [float(known.get(name, np.nan)) for name in model.declared]
        return cls(model, t, x, p, u, controls, np.array(declared), None, unit, past)

    @property
    def entries(self) -> dict[str, float]:
        """What the states are computed from, by name: the states themselves, or declared variables."""
        states = dict(zip(self.model.states, map(float, self.x)))
        if self.declared is not None:
            return dict(zip(self.model.declared, map(float, self.declared)))
        if self.move is not None:
            return dict(zip(self.move.entries, map(float, self.move.before))) | states
        return states

    @property
    def initial_names(self) -> tuple[str, ...]:
        """The initial values: those entries that decide on something."""
        left_out = () if self.declared is None else (self.model.independent, *self._followers)
        return tuple(name for name in self.entries if name not in left_out)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameters without those that follow from the initial values."""
        return tuple(name for name in self.model.parameters if name not in self._followers)

    @property
    def _followers(self) -> tuple[str, ...]:
        """Parameters and dependent velocities that the kernel "initial" does not read."""
        if self.declared is None:
            return ()
        model, found = self.model, []
        known = np.nan_to_num(self.declared)
        for x, p, names, row in ((known, self.p, model.declared, 0), (known, self.p, model.parameters, 1)):
            for i, name in enumerate(names):
                if row == 0 and model.variables[name].kind == "coordinate":
                    continue
                columns = [np.array(x), np.array(p)]
                columns[row][i] = np.nan
                u = np.concatenate([self.u, np.zeros(len(model.modes))])
                after = model._columns(
                    "initial",
                    np.array([self.t]),
                    columns[0][:, None],
                    columns[1][:, None],
                    u[:, None],
                    None,
                    False,
                )
                if not np.isnan(after).any():
                    found.append(name)
        return tuple(found)

    def chosen(self, what: str, by: Any) -> tuple[str, ...]:
        """The names in `by`, checked; None: all parameters, then all initial values, without integers."""
        known = (*self.parameter_names, *self.initial_names)
        if by is None:
            return tuple(name for name in known if not is_integer(self.model, name))
        names = arguments.plain_names("by", by)
        known = (*known, *self.model.inputs)
        for name in names:
            if name in self.model.inputs:
                check_constant(what, self.inputs, name)
            check_differentiable(what, self.model, name)
            if name in known:
                continue
            if name in self.model.parameters or name in self.model.declared:
                raise ArgumentError(
                    f"{what}: {name} follows from the others; what a start is made of is {', '.join(known)}"
                )
            raise arguments.unknown_entry(what, [name], known)
        if len(set(names)) < len(names) or not names:
            raise ArgumentError(f"{what} = {names}; one name or several different ones are needed")
        return names

    def along(self, names: Sequence[str], columns: NDArray[np.intp], weights: Array) -> TangentStart:
        """The start of tangents: column j is the sum of weights[i] times the derivatives by names[i], columns[i] = j.

        Each is times the size of what it is by, so that the sizes of the columns are 1.
        """
        model, k = self.model, int(columns.max()) + 1
        kinds = {
            "initial": (tuple(self.entries), np.array(list(self.entries.values()))),
            "parameters": (model.parameters, self.p),
            "inputs": (model.inputs, self.u),
        }
        parts = {kind: np.zeros((len(known), k)) for kind, (known, _) in kinds.items()}
        for name, j, weight in zip(names, columns, weights):
            kind = next(kind for kind, (known, _) in kinds.items() if name in known)
            row = kinds[kind][0].index(name)
            parts[kind][row, j] = weight * size_of(kind, kinds[kind][1][row])
        x, p, u = parts["initial"], parts["parameters"], parts["inputs"]
        if self.unit is not None:
            x = self.unit(model, tuple(self.entries)) @ x
        if self.declared is not None:
            moved = np.concatenate([np.zeros((1, k)), x, p, u])
            known = np.nan_to_num(self.declared)
            x, p = np.split(
                derivatives(model).along("initial", self.t, known, self.p, self.u, moved), [len(self.x)]
            )
        seeds = np.concatenate([p, u])
        if self.move is not None:
            x = self.move.along(x, seeds)
        return TangentStart(tuple(names), x, p, u, np.ones(k))

    def back(self, by_x: Array, by_p: Array, by_u: Array) -> dict[str, float]:
        """The derivatives by every name of a start, from those by the states, the parameters and the inputs."""
        model = self.model
        by_initial = by_x
        if self.move is not None:
            by_initial, rest = self.move.back(by_x)
            by_p, by_u = by_p + rest[: len(by_p)], by_u + rest[len(by_p) :]
        if self.declared is not None:
            weights = np.concatenate([by_x, by_p])
            known = np.nan_to_num(self.declared)
            found = derivatives(model).adjoint("initial", self.t, known, self.p, self.u, weights)
            _, by_initial, by_p, more = np.split(found, np.cumsum([1, len(known), len(self.p)]))
            by_u = by_u + more
        if self.unit is not None:
            by_initial = by_initial @ self.unit(model, tuple(self.entries))
        return {
            **dict(zip(self.entries, map(float, by_initial))),
            **dict(zip(model.parameters, map(float, by_p))),
            **dict(zip(model.inputs, map(float, by_u))),
        }

"""The start of the tangents of a run: the derivative of the map from what is declared to states and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import FLAGS
from ..model.derivatives import derivatives
from ..model.nearest import Move, Nearest
from ..problem.consistency import Accuracy
from ..problem.continued import continued, past_of
from ..problem.inputs import Inputs

if TYPE_CHECKING:
    from typing_extensions import Self

_LARGEST_EXPONENT = 200
"""Of sizes: tangents times them, and the squares of these, are normal numbers."""


@dataclass(frozen=True)
class TangentStart:
    """The start of the tangents: dy0/dtheta (n, k), dp/dtheta (np, k) and du/dtheta (nu, k).

    `sizes` (k,) are those of what is varied, to which the tolerances of the tangents refer; see `size_of`.
    """

    names: tuple[str, ...]
    y: Array
    p: Array
    u: Array
    sizes: Array

    @property
    def seeds(self) -> Array:
        """The derivatives of parameters and inputs, (np + nu, k)."""
        return np.concatenate([self.p, self.u])


def size_of(kind: str, values: Any) -> Array:
    """The sizes of numbers that are varied: powers of two.

    A parameter or an input has its own size, 1 if it is zero; an initial value that is smaller than 1 has the size 1,
    since the same derivatives belong to all small motions.
    """
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    sizes = np.maximum(sizes, 1.0) if kind == "initial" else np.where(sizes > 0, sizes, 1.0)
    exponents = np.rint(np.log2(np.where(np.isfinite(sizes), sizes, 1.0)))
    found: Array = np.exp2(np.clip(exponents, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
    return found


@dataclass(frozen=True)
class Onset:
    """The checked start of a run: states x (n,), parameters p (np,), inputs, and their values u (nu,) at the start.

    `given` has the initial values by name, if they were given so. `known` has every quantity by name if the states and
    some of the parameters are computed from declared variables by the kernel "initial"; otherwise it is empty, and the
    initial values are the states, those `before` they are moved onto the constraints.
    """

    model: Any
    t: float
    x: Array
    p: Array
    u: Array
    inputs: Inputs
    given: Mapping[str, Any] | None
    known: Mapping[str, Any]
    before: Array
    move: Move | None
    """That onto the constraints."""
    unit: Callable[[Any, Sequence[str]], Array] | None
    """The derivatives of entries by those given, where quaternions were given the length 1."""
    past: tuple[float, ...]
    """See `past_of`."""

    @classmethod
    def of(
        cls,
        what: str,
        model: Any,
        t: float,
        initial: Any,
        parameters: Any,
        inputs: Any,
        accuracy: Accuracy,
        move: bool = False,
    ) -> Self:
        """From the arguments of a run; raises the errors of `integrate`, and `ArgumentError` for inputs f(t, y).

        With `move` the start can be off the constraints, and the run begins at the nearest one on them.
        """
        past = past_of(initial)
        initial, parameters, inputs = continued(model, initial, parameters, inputs)
        begin = Nearest.of(model, initial) if move else initial
        x, p, controls = model._prepare(t, begin, parameters, inputs, accuracy)
        controls = controls.since(t)
        check_inputs(what, controls)
        return cls.at(model, t, begin, parameters, (x, p, controls), past)

    @classmethod
    def at(
        cls,
        model: Any,
        t: float,
        initial: Any,
        parameters: Any,
        found: tuple[Array, Array, Inputs],
        past: tuple[float, ...] = (),
    ) -> Self:
        """The start with these states, parameters and inputs, which are checked, from its arguments."""
        x, p, controls = found
        u = controls.first(t, x)
        nearest = initial if isinstance(initial, Nearest) else None
        given = arguments.named("initial", initial) if nearest is None else nearest.by_name(model)
        unit = nearest.unit if nearest is not None and model._quaternions else None
        if given is not None and model.has_initial and not model._direct(given, parameters):
            # of coordinates that the equations have dropped only the given values are known
            known = model.evaluate(t, x, p, model._slipping(u)[:, 0]) | {model.independent: t} | given
            return cls(model, t, x, p, u, controls, given, known, x, None, unit, past)
        before = x
        if nearest is not None:
            before, _ = model._initial(t, nearest.states(model), parameters, controls, None)
        move = Move.of(model, t, before, given, p, u)
        return cls(model, t, x, p, u, controls, given, {}, before, move, unit, past)

    @cached_property
    def declared(self) -> Array | None:
        """The declared variables (nd,), NaN if not known; None if the states are not computed from them."""
        values = [float(self.known.get(name, np.nan)) for name in self.model.declared]
        return np.array(values) if self.known else None

    @cached_property
    def entries(self) -> dict[str, float]:
        """What the states are computed from, by name: declared variables, or the states before a move."""
        names, values = self.model.states, self.x
        if self.declared is not None:
            names, values = self.model.declared, self.declared
        elif self.move is not None:
            names, values = self.move.entries, self.move.before
        return dict(zip(names, map(float, values)))

    def size(self, name: str) -> float:
        """The size of what is varied."""
        for kind, names, values in (
            ("inputs", self.model.inputs, self.u),
            ("parameters", self.model.parameters, self.p),
        ):
            if name in names:
                return float(size_of(kind, values[names.index(name)]))
        known = {**dict(zip(self.model.states, self.before)), **self.known, **self.entries}
        return float(size_of("initial", known.get(name, 1.0)))

    @cached_property
    def following(self) -> frozenset[str]:
        """The parameters that follow from the entries."""
        if self.declared is None:
            return frozenset()
        declared = {name: self.known[name] for name in self.model.declared if name in self.known}
        found: frozenset[str] = self.model._following(self.t, declared, self.p, self.inputs)
        return found

    def along(
        self, names: Sequence[str], columns: NDArray[np.intp], weights: Array, dependent: Sequence[str] = ()
    ) -> TangentStart:
        """The start of tangents: column j is the sum of weights[i] times the derivatives by names[i], columns[i] = j.

        Each is times the size of what it is by, so that the sizes of the columns are 1. With `dependent` variables in
        place of entries, these are such that the variables keep the values that were given for them.
        """
        model, k, entries = self.model, int(columns.max()) + 1, tuple(self.entries)
        parts = model.states, model.inputs, model.parameters, model.parameters, entries
        x, u, own, p, e = tables = [np.zeros((len(part), k)) for part in parts]
        goal = np.zeros((len(dependent), k))
        places = {name: (table, i) for part, table in zip(parts, tables) for i, name in enumerate(part)}
        places |= {name: (own, model.parameters.index(name)) for name in self.following}
        for name, j, weight in zip(names, columns, weights):
            size = weight * self.size(name)
            if name in dependent:
                goal[dependent.index(name), j] += size
            if name in places:
                table, i = places[name]
                table[i, j] += size
        if self.unit is not None:
            e = self.unit(model, entries) @ e
        left_out = [i for i, name in enumerate(entries) if dependent and name not in (self.given or {})]
        missing = [i for i in left_out if not self.known or entries[i] in self.known]
        if missing:
            free = np.eye(len(entries))[:, missing]
            slopes = self._outputs(
                dependent, free, *(np.zeros((len(table), len(missing))) for table in (p, u))
            )
            e[missing] = np.linalg.lstsq(slopes, goal - self._outputs(dependent, e, p, u), rcond=None)[0]
        moved, p = self._moved(e, p, u)
        if self.move is not None:
            moved = self.move.along(e, np.concatenate([p, u]))
        return TangentStart(tuple(names), x + moved, own + p, u, np.ones(k))

    def _moved(self, e: Array, p: Array, u: Array) -> tuple[Array, Array]:
        """The changes of states, before a move, and of parameters with those of entries, parameters and inputs."""
        if self.declared is None:
            entries = tuple(self.entries)
            return e[[entries.index(name) for name in self.model.states]], p
        v, known = np.concatenate([np.zeros((1, e.shape[1])), e, p, u]), np.nan_to_num(self.declared)
        rows = derivatives(self.model).along("initial", self.t, known, self.p, self.u, v)
        return rows[: len(self.x)], rows[len(self.x) :]

    def _outputs(self, names: Sequence[str], e: Array, p: Array, u: Array) -> Array:
        """The changes of dependent variables."""
        v = np.concatenate([np.zeros((1, e.shape[1])), *self._moved(e, p, u), u])
        modes = self.model._slipping(self.u)[:, 0]
        rows = derivatives(self.model).along("outputs", self.t, self.before, self.p, modes, v)
        return np.asarray(rows[[self.model.outputs.index(name) for name in names]])

    def tangents(self, names: Any) -> TangentStart:
        """The derivatives of the start by `names`, which are checked."""
        model = self.model
        wanted, base = checked_names(model, names), model.declared if self.known else model.states
        given = dict.fromkeys(base) if self.given is None else self.given
        dependent = [name for name in given if name not in base and model._dependent(name)]
        for name in wanted:
            if name in model.inputs:
                check_constant("sensitivities", self.inputs, name)
            elif (name in base and name in given) or name in (*model.parameters, *dependent):
                continue
            elif name in base or name not in model.states:
                raise _follows(name, given)
        sizes = np.array([self.size(name) for name in wanted])
        found = self.along(wanted, np.arange(len(wanted)), 1.0 / sizes, dependent)
        return replace(found, sizes=sizes)


def checked_names(model: Any, names: Any) -> tuple[str, ...]:
    """The names of what is varied, checked."""
    wanted = arguments.plain_names("sensitivities", names)
    if not wanted:
        raise ArgumentError("sensitivities is empty: give names of parameters and initial values")
    known = (*model.parameters, *dict.fromkeys((*model.declared, *model.states)), *model.inputs)
    for i, name in enumerate(wanted):
        if name not in known and not model._dependent(name):
            raise arguments.unknown_entry("sensitivities", [name], known)
        if name in wanted[:i]:
            raise ArgumentError(f"sensitivities: {name} is given twice")
        check_differentiable("sensitivities", model, name)
        if name == model.along:
            raise ArgumentError(f"sensitivities: {name} is the independent variable of the form {model.form}")
    return wanted


def is_integer(model: Any, name: str) -> bool:
    """Whether a variable is declared an integer."""
    return name in model.variables and bool(model.variables[name].flags & FLAGS["INTEGER"])


def check_differentiable(what: str, model: Any, name: str) -> None:
    """Refuse to differentiate by an integer, or by the rate of an input, with which the input itself changes."""
    if is_integer(model, name):
        raise ArgumentError(f"{what}: {name} is declared an integer; there is no derivative by it")
    if name in model.variables and model.variables[name].flags & FLAGS["RATE"]:
        raise ArgumentError(
            f"{what}: {name} is the rate of an input, which would change with it; declare a factor of the input as a "
            "parameter"
        )


def check_inputs(what: str, controls: Inputs) -> None:
    """Refuse inputs that are functions of the state."""
    called = [controls.names[i] for i, each in controls.functions.items() if each.takes_state is not False]
    if called:
        raise ArgumentError(
            f"{what}: the derivative of an input f(t, y) by y is not known: {', '.join(called)}; give f(t) or "
            "samples, or declare the law in the system"
        )


def fixed_input(name: str) -> ArgumentError:
    """The error for a new value of an input that is varied."""
    return ArgumentError(f"set_inputs: the derivatives are by {name}, which is to stay as it is")


def check_constant(what: str, controls: Inputs, name: str) -> None:
    """Refuse to differentiate by an input that varies in time."""
    if controls.names.index(name) in (*controls.signals, *controls.functions):
        raise ArgumentError(
            f"{what}: {name} is an input that varies in time; declare a factor of it as a parameter"
        )


def _follows(name: str, given: Mapping[str, Any]) -> ArgumentError:
    return ArgumentError(
        f"sensitivities: the initial value of {name} follows from others; vary one of {', '.join(given)}"
    )

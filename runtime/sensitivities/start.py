"""The start of the tangents of a run: the derivative of the map from what is declared to states and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import FLAGS
from ..model.derivatives import derivatives
from ..model.nearest import Move, Nearest
from ..problem.inputs import Inputs

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


def values_at(model: Any, t0: float, x0: Array, p: Array, controls: Inputs) -> dict[str, float]:
    """Every quantity and parameter at the start, by name."""
    u = controls.first(t0, x0)
    values: dict[str, float] = model.evaluate(t0, x0, p, model._slipping(u)[:, 0])
    values |= dict(zip(model.parameters, p.tolist()))
    return values | dict(zip(model.inputs, u.tolist())) | ({} if model.along is None else {model.along: t0})


def start_of(
    model: Any, t0: float, initial: Any, parameters: Any, found: tuple[Array, Array, Inputs], names: Any
) -> TangentStart:
    """The derivatives of the start of a run by `names`: of the nearest one on the constraints, where there are any."""
    x0, p, controls = found
    wanted = checked_names(model, names)
    nearest = initial if isinstance(initial, Nearest) else None
    if nearest is None:
        given = arguments.named("initial", initial)
    else:
        x0, _ = model._initial(t0, nearest.states(model), parameters, controls, None)
        given = nearest.by_name(model)
    point = _Map(model, t0, x0, p, controls, given, parameters)
    if nearest is not None and model._quaternions:
        point.unit = nearest.unit(model, point.entries)
    columns = [point.column(name) for name in wanted]
    y, dp, u = (np.stack(rows, axis=1) for rows in zip(*columns))
    result = TangentStart(wanted, y, dp, u, np.array([point.size(name) for name in wanted]))
    move = Move.of(model, t0, x0, given, p, point.u)
    if move is None:
        return result
    states = dict(zip(model.states, y))
    rows = [states[n] if n in states else np.equal(n, wanted).astype(float) for n in move.entries]
    return replace(result, y=move.along(np.array(rows), result.seeds))


class _Map:
    """The map from entries (declared variables, or the states themselves) and parameters to states and parameters.

    Where `dependent` variables are given in place of entries, these are `missing`.
    """

    def __init__(
        self,
        model: Any,
        t0: float,
        x0: Array,
        p: Array,
        controls: Inputs,
        given: Mapping[str, Any] | None,
        parameters: Any,
    ) -> None:
        self.model, self.t0, self.x0, self.p, self.controls = model, t0, x0, p, controls
        self.u = controls.first(t0, x0)
        self.through = given is not None and model.has_initial and not model._direct(given, parameters)
        self.entries: tuple[str, ...] = model.declared if self.through else model.states
        self.given = dict.fromkeys(self.entries) if given is None else given
        self.unit: Array | None = None
        """The derivatives of the entries by those given, where quaternions were given the length 1."""
        self.values: dict[str, Any] = {}
        self.following: frozenset[str] = frozenset()
        """The parameters that follow from the entries."""
        if self.through:
            # of coordinates that the equations have dropped only the given values are known
            self.values = {**self.given, **values_at(model, t0, x0, p, controls)}
            declared = {n: self.values[n] for n in self.entries if n in self.values}
            self.following = model._following(t0, declared, p, controls)
        self.dependent = [n for n in self.given if n not in self.entries and model._dependent(n)]
        left_out = [n for n in self.entries if n not in self.given and (n in self.values or not self.through)]
        self.missing = left_out if self.dependent else []

    def size(self, name: str) -> float:
        """The size of what is varied."""
        for kind, names, values in (
            ("inputs", self.model.inputs, self.u),
            ("parameters", self.model.parameters, self.p),
        ):
            if name in names:
                return float(size_of(kind, values[names.index(name)]))
        known = {**dict(zip(self.model.states, self.x0.tolist())), **self.values}
        return float(size_of("initial", known.get(name, 1.0)))

    def column(self, name: str) -> tuple[Array, Array, Array]:
        """The derivatives of states, parameters and inputs by one of `names`."""
        model = self.model
        if name in model.inputs:
            check_constant("sensitivities", self.controls, name)
        u = _unit(model.inputs, name)
        if name in self.following:
            return np.zeros(len(self.x0)), _unit(model.parameters, name), u
        entry = name in self.entries
        if (entry and name in self.given) or name in (*model.parameters, *model.inputs, *self.dependent):
            return *self.along(name, u), u
        if entry or name not in model.states:
            raise _follows(name, self.given)
        return _unit(model.states, name), np.zeros(len(self.p)), u

    def along(self, name: str, u: Array) -> tuple[Array, Array]:
        """The derivatives of states and parameters by an entry, a parameter, a dependent variable or an input.

        The missing entries are such that the dependent variables keep the values that were given for them.
        """
        e, p = _unit(self.entries, name), _unit(self.model.parameters, name)
        if self.unit is not None:
            e = self.unit @ e
        if self.missing:
            goal = _unit(self.dependent, name) - self.outputs(e, p, u)
            columns = [self.outputs(_unit(self.entries, n), 0.0 * p, 0.0 * u) for n in self.missing]
            places = [self.entries.index(n) for n in self.missing]
            e[places] = np.linalg.lstsq(np.array(columns).T, goal, rcond=None)[0]
        return self.moved(e, p, u)

    def moved(self, entries: Array, p: Array, u: Array) -> tuple[Array, Array]:
        """The changes of states and parameters with those of entries, parameters and inputs."""
        if not self.through:
            return entries, p
        model = self.model
        declared = np.array([self.values.get(name, np.nan) for name in model.declared])
        v = np.concatenate([[0.0], entries, p, u])
        rows = derivatives(model).along("initial", self.t0, declared, self.p, self.u, v)
        return rows[: len(self.x0)], rows[len(self.x0) :]

    def outputs(self, entries: Array, p: Array, u: Array) -> Array:
        """The changes of the dependent variables."""
        x, parameters = self.moved(entries, p, u)
        v = np.concatenate([[0.0], x, parameters, u])
        u = self.model._slipping(self.u)[:, 0]
        rows = derivatives(self.model).along("outputs", self.t0, self.x0, self.p, u, v)
        return np.array([rows[self.model.outputs.index(n)] for n in self.dependent])


def _unit(names: Sequence[str], name: str) -> Array:
    return np.array([float(name == n) for n in names])


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

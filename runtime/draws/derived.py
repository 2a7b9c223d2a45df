"""Initial values, parameters and inputs that are SymPy expressions of others, such as ``"J": m * r**2 / 2``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.expressions import Expression


@dataclass(frozen=True, eq=False)
class Derived:
    """A quantity `name` of one kind ("initial" ...) that follows from the quantities `needs`."""

    kind: str
    name: str
    needs: frozenset[str]
    expression: Expression

    def values(self, model: Any, given: Mapping[str, Any], count: int) -> Array:
        """(count,) from the arguments by kind, in which everything that it needs is known."""
        controls = given["inputs"]
        known: dict[str, Any] = {}
        if controls is None or isinstance(controls, Mapping):
            known = {name: 0.0 for name in model.inputs if name not in (controls or ())}
        for kind, names in names_by_kind(model).items():
            known |= _by_name(given[kind], names)
        rows = {}
        for name in self.needs:
            if name not in known:
                raise ArgumentError(
                    f"{self.kind}: {self.name} = {self.expression} needs {name}, which is not given"
                )
            rows[name] = np.broadcast_to(
                arguments.array(f"{self.kind}: {name}", known[name]), (count,)
            ).copy()
        unknown = np.full(count, np.nan)

        def table(names: tuple[str, ...]) -> Array:
            return np.array([rows.get(name, unknown) for name in names]).reshape(len(names), count)

        states, parameters, inputs = (table(names) for names in names_by_kind(model).values())
        return self.expression.columns(model, unknown, states, list(parameters), inputs)


def in_order(model: Any, expressions: list[tuple[str, str, Any]]) -> list[Derived]:
    """Compile expressions (kind, name, expression), in an order in which each follows from those before it.

    Raises ArgumentError for an unknown name, and for expressions that need each other.
    """
    kinds = names_by_kind(model)
    known = {name for names in kinds.values() for name in names}
    waiting = []
    for kind, name, expression in expressions:
        arguments.check_known(kind, [name], kinds[kind])
        needs = frozenset(symbol.name for symbol in expression.free_symbols)
        if needs - known:
            raise ArgumentError(
                f"{kind}: {name} = {expression}: {min(needs - known)} is not a state, parameter or input of "
                f"{model.name}"
            )
        waiting.append((kind, name, needs, expression))
    found: list[Derived] = []
    while waiting:
        missing = {name for _, name, _, _ in waiting}
        ready = [each for each in waiting if not each[2] & missing]
        if not ready:
            kind, name, _, expression = waiting[0]
            raise ArgumentError(
                f"{kind}: {name} = {expression} follows from itself; {', '.join(sorted(missing))} do"
            )
        found += [Derived(kind, name, needs, Expression.of(model, made)) for kind, name, needs, made in ready]
        waiting = [each for each in waiting if each not in ready]
    return found


def names_by_kind(model: Any) -> dict[str, tuple[str, ...]]:
    """The names that a vector of each kind of argument stands for, in its order."""
    return {"initial": model.states, "parameters": model.parameters, "inputs": model.inputs}


def _by_name(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The numbers and arrays of an argument by name."""
    if isinstance(value, Mapping):
        return {
            name: entry
            for name, entry in value.items()
            if not callable(entry) and not isinstance(entry, tuple)
        }
    return {} if value is None else dict(zip(names, value))

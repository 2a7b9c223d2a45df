"""What a declaration implies: its variables and their order, the kinds of its symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from . import checks
from .symbols import DeclarationError, Input, Multiplier, Parameter, Rate, Velocity, natural, rate, time

if TYPE_CHECKING:
    from .system import System

Symbols = tuple[sp.Symbol, ...]


def in_order(found: Iterable[sp.Symbol], example: Iterable[sp.Symbol]) -> Symbols:
    """The symbols in the order of `example`, then the others by name."""
    rank = {s: i for i, s in enumerate(example)}
    return tuple(sorted(found, key=lambda s: (rank.get(s, len(rank)), natural(s.name))))


def velocities(system: str, kinematics: Mapping[sp.Symbol, Any], example: Iterable[sp.Symbol]) -> Symbols:
    """The velocities in the kinematics: the coordinate rates, or symbols created with `velocities()`."""
    found: set[sp.Symbol] = set()
    for x, expression in kinematics.items():
        here = {s for s in expression.free_symbols if isinstance(s, Velocity)}
        for s in here:
            if isinstance(s, Rate) and expression != s:
                raise DeclarationError(
                    f"System {system!r}: kinematics[{x}] contains the rate {s}; write right-hand sides in terms of "
                    "velocities created with velocities()"
                )
        found |= here
    if not found:
        raise DeclarationError(
            f"System {system!r}: kinematics contains no velocity; create some with velocities()"
        )
    if all(isinstance(s, Rate) for s in found):
        return tuple(kinematics.values())
    return in_order(found, example)


def holonomic(
    system: str, given: Sequence[Any], kinematics: Mapping[sp.Symbol, Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The equations f(t, x) = 0, and df/dt of each."""
    equations = tuple(checks.expression(system, f"holonomic[{i}]", e) for i, e in enumerate(given))
    for i, f in enumerate(equations):
        wrong = [s for s in f.free_symbols if isinstance(s, (Velocity, Input))]
        if wrong:
            raise DeclarationError(
                f"System {system!r}: holonomic[{i}] contains {wrong[0]}; f must be a function of (t, x): put "
                "relations between velocities into constraints"
            )
    rates = tuple(sp.diff(f, time) + sum(sp.diff(f, x) * v for x, v in kinematics.items()) for f in equations)
    return equations, rates


def parametrization(
    system: System, given: Mapping[sp.Symbol, Any] | None
) -> tuple[dict[sp.Symbol, Any] | None, Symbols]:
    """eta_a = beta_a(t, x, theta) for every velocity, and the independent parameters theta."""
    if given is None:
        return None, ()
    if system.constraints:
        raise DeclarationError(f"System {system.name!r}: give constraints or a parametrization, not both")
    result = checks.expressions(
        system.name, "parametrization", given, system.velocities, "a velocity of the system"
    )
    for v in system.velocities:
        if v not in result:
            raise DeclarationError(
                f"System {system.name!r}: parametrization has no entry for {v}; every velocity needs one (0 is fine)"
            )
    thetas: dict[sp.Symbol, None] = {}
    for expression in result.values():
        here = {s for s in expression.free_symbols if isinstance(s, Velocity) and s not in system.velocities}
        thetas |= dict.fromkeys(in_order(here, ()))
        for s in expression.free_symbols & set(system.velocities):
            raise DeclarationError(
                f"System {system.name!r}: parametrization contains the velocity {s}; right-hand sides must be "
                "expressions in (t, x, theta), with theta created by velocities()"
            )
    return result, in_order(thetas, system.example)


def symbols(system: System, entries: Iterable[tuple[str, Any]]) -> tuple[Symbols, Symbols, Symbols]:
    """The parameters, inputs and multipliers that occur in the entries or in the example.

    Raises DeclarationError for any unknown symbol.
    """
    known = {time, *system.coordinates, *system.velocities, *system.independent}
    known |= {rate(x) for x in system.coordinates}
    constrained = {f"lambda_{i + 1}" for i in range(len(system.constraints))}
    parameters: set[sp.Symbol] = set()
    inputs: set[sp.Symbol] = set()
    multipliers: set[sp.Symbol] = set()
    for entry, expression in entries:
        for s in sorted(expression.free_symbols - known, key=lambda s: natural(str(s))):
            if isinstance(s, Parameter):
                parameters.add(s)
            elif isinstance(s, Input):
                if not entry.startswith(
                    ("potential", "forces", "outputs", "contacts", "events", "interactions")
                ):
                    raise DeclarationError(
                        f"System {system.name!r}: {entry} contains the input {s.name!r}; use inputs only in potential, "
                        "forces, interactions, contacts, events and outputs: elsewhere their rates would enter the "
                        "equations"
                    )
                inputs.add(s)
            elif isinstance(s, Multiplier) and s.name in constrained and checks.takes_multipliers(entry):
                multipliers.add(s)
            else:
                raise DeclarationError(checks.unknown_symbol(system, entry, s, expression))
    parameters |= {s for s in system.example if isinstance(s, Parameter)}
    inputs |= {s for s in system.example if isinstance(s, Input)}
    return in_order(parameters, system.example), in_order(inputs, system.example), in_order(multipliers, ())

"""What a declaration says between its lines: the variables and their order, the kinds of its symbols."""

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
    """As listed in `example`, the rest by name."""
    rank = {s: i for i, s in enumerate(example)}
    return tuple(sorted(found, key=lambda s: (rank.get(s, len(rank)), natural(s.name))))


def velocities(system: str, kinematics: Mapping[sp.Symbol, Any], example: Iterable[sp.Symbol]) -> Symbols:
    """The velocities that kinematics contain: the coordinate rates, or those made by `velocities()`."""
    found: set[sp.Symbol] = set()
    for x, expression in kinematics.items():
        here = {s for s in expression.free_symbols if isinstance(s, Velocity)}
        for s in here:
            if isinstance(s, Rate) and expression != s:
                raise DeclarationError(
                    f"System {system!r}: kinematics[{x}] contains the rate {s}; right-hand sides are made of "
                    "velocities from velocities()"
                )
        found |= here
    if not found:
        raise DeclarationError(
            f"System {system!r}: kinematics contain no velocity; make some with velocities()"
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
                f"System {system!r}: holonomic[{i}] contains {wrong[0]}; f is a function of (t, x): put "
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
                f"System {system.name!r}: parametrization contains the velocity {s}; right-hand sides are "
                "expressions in (t, x, theta) with theta made by velocities()"
            )
    return result, in_order(thetas, system.example)


def symbols(system: System, entries: Iterable[tuple[str, Any]]) -> tuple[Symbols, Symbols, Symbols]:
    """Parameters, inputs and multipliers, as far as the entries or the example contain them.

    Raises DeclarationError, naming it, for any other symbol that is not known.
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
                        f"System {system.name!r}: {entry} contains the input {s.name!r}: inputs may stand in "
                        "potential, forces and outputs; elsewhere their rates would enter the equations"
                    )
                inputs.add(s)
            elif isinstance(s, Multiplier) and s.name in constrained and checks.takes_multipliers(entry):
                multipliers.add(s)
            else:
                raise DeclarationError(checks.unknown_symbol(system, entry, s, expression))
    parameters |= {s for s in system.example if isinstance(s, Parameter)}
    inputs |= {s for s in system.example if isinstance(s, Input)}
    return in_order(parameters, system.example), in_order(inputs, system.example), in_order(multipliers, ())

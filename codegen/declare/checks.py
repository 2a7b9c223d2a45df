"""Checks of a whole declaration; every error names the entry and says how to correct it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from chaplygin.runtime.interface import assumptions as held
from chaplygin.runtime.interface.limits import WARN

from ..graph.from_sympy import function_of_time
from ..symbols.place import Entry
from ..symbols.symbols import (
    Coordinate,
    DeclarationError,
    Input,
    InputRate,
    Multiplier,
    Parameter,
    Rate,
    Time,
    Velocity,
    assumed,
    check_name,
    check_text,
    kind_of,
    natural,
    rate,
    time,
)
from ..symbols.values import mapping
from .declaration import Declaration


def example(given: Mapping[Any, Any] | None) -> dict[sp.Symbol, float]:
    result = {}
    for key, value in mapping("example", given).items():
        if not isinstance(key, (Coordinate, Velocity, Parameter, Input, Time)):
            raise DeclarationError(f"example: {key!s} is not a symbol of the system")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        except (TypeError, ValueError):
            raise DeclarationError(f"example[{key}] = {value!s} is not a number") from None
        if not math.isfinite(number):
            raise DeclarationError(f"example[{key}] = {number} is not finite")
        if not held.holds(assumed(key), number):
            raise DeclarationError(
                f"example[{key}] = {number:.17g}, but {key} is declared {held.assumption(assumed(key))}"
            )
        result[key] = number
    return result


def check_declaration(declared: Declaration) -> None:
    """Check that the parts of a declaration fit together: symbols, names, and the keys of resets and texts."""
    _check_resets(declared)
    _check_symbols(declared)
    _check_unique_names(declared)
    _check_quaternions(declared)
    _check_texts(declared, "units", declared.units)
    _check_texts(declared, "descriptions", declared.descriptions)


def _check_resets(declared: Declaration) -> None:
    """Check that resets name variables of the system only: no multipliers, no rates that are not velocities."""
    known = (*declared.coordinates, *declared.velocities, *declared.independent)
    for event in declared.events:
        for key in event.reset or {}:
            if key not in known:
                names = ", ".join(s.name for s in known)
                raise DeclarationError(
                    f"events[{event.name!r}].reset: {key!s} is not a coordinate or velocity "
                    f"of the system ({names})"
                )


def _check_symbols(declared: Declaration) -> None:
    """Check that every symbol is known and may stand where it does."""
    known = {time, *declared.coordinates, *declared.velocities, *declared.independent}
    known |= {rate(x) for x in declared.coordinates}
    known |= {Multiplier(f"lambda_{i + 1}", real=True) for i in range(len(declared.constraints))}
    for entry, symbols in declared.occurring:
        strange = (s for s in symbols if s not in known and not isinstance(s, (Parameter, Input)))
        refused = (s for s in symbols if entry.refusal(s))
        wrong = [*refused, *strange]
        if wrong:
            first = min(wrong, key=lambda s: natural(str(s)))
            refusal = entry.refusal(first) or _unknown_symbol(declared, entry, first)
            raise DeclarationError(f"{entry}{refusal}")


def _unknown_symbol(declared: Declaration, entry: Entry, s: sp.Symbol) -> str:
    """What is wrong with an undeclared symbol, to be read after the entry."""
    here = (f for place, e in declared.entries if place == entry for f in e.atoms(AppliedUndef))
    functions = sorted(here, key=str) if s.name == "t" else []
    if functions:
        return f": {function_of_time(functions[0])}"
    if isinstance(s, Coordinate):
        hint = "it is a coordinate without kinematics; add it to kinematics"
    elif isinstance(s, Rate):
        hint = f"it is the rate of {s.name.removesuffix('_dot')}, which is not a coordinate of the system"
    elif isinstance(s, Velocity):
        hint = "it is a velocity that does not occur in kinematics"
    elif isinstance(s, Multiplier):
        hint = f"the system has {len(declared.constraints)} constraints"
    elif s.name == "t":
        hint = "the time is chaplygin.time"
    else:
        hint = f"declare it with parameters({s.name!r}), inputs(), coordinates() or velocities()"
    return f": unknown symbol {s.name!r}: {hint}"


def _used_twice(name: str, first: str, second: str) -> str:
    kinds = sorted((first, second), key=lambda kind: kind.startswith("rate of"))
    said = f"the name {name!r} is used twice, as {kinds[0]} and as {kinds[1]}"
    if kinds[1].startswith("rate of"):
        said += f", which the equations contain; give the {kinds[0]} another name"
    return said


def _check_unique_names(declared: Declaration) -> None:
    used: dict[str, str] = {}
    for s in declared.all_symbols():
        kind = f"rate of the input {s.of}" if isinstance(s, InputRate) else kind_of(s)
        if s.name in used:
            raise DeclarationError(_used_twice(s.name, used[s.name], kind))
        if kind != "time":
            check_name(s.name, kind)
        used[s.name] = kind
    for s in declared.example:
        if s.name not in used:
            raise DeclarationError(f"example: {s.name!r} does not occur in the system")
    for name in declared.outputs:
        check_name(name, "output")
    wanted = [(f"the output name {name!r} is", name, "output") for name in declared.outputs]
    for c in declared.contacts:
        start = f"contacts[{c.name!r}] needs the name "
        wanted += [(f"{start}{name!r}, which is", name, f"contact ({c.name})") for name in c.names]
    wanted += [(f"events: the name {e.name!r} is", str(e.name), "event") for e in declared.events]
    for text, name, kind in wanted:
        if name in used:
            article = "an" if used[name][0] in "aeiou" else "a"
            raise DeclarationError(f"{text} already that of {article} {used[name]}; rename one")
        used[name] = kind


def _check_quaternions(declared: Declaration) -> None:
    """Check that quaternions of joints that the example sets have length 1."""
    for q in declared.quaternions:
        if set(q) <= declared.example.keys():
            square = sum(declared.example[s] ** 2 for s in q)
            if abs(square - 1.0) > WARN:
                raise DeclarationError(f"example: {held.not_of_unit_length([s.name for s in q], square)}")


def _check_texts(declared: Declaration, entry: str, given: Mapping[Any, Any]) -> None:
    allowed = {*declared.all_symbols(), *(rate(x) for x in declared.coordinates)}
    for key, value in given.items():
        if isinstance(key, str) and key in {s.name for s in allowed}:
            raise DeclarationError(f"{entry}: use the symbol {key} as a key, not its name")
        if key not in allowed and str(key) not in declared.outputs:
            raise DeclarationError(f"{entry}: {key!s} is not a symbol of the system")
        if not isinstance(value, str):
            raise DeclarationError(f"{entry}[{key}] is {type(value).__name__}; give text")
        check_text(value, f"{entry}[{key}]")

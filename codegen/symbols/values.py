"""Checks of what is given to a `System`; every error names the entry and says how to correct it.

The constructor puts the name of the system before it, see `naming`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from chaplygin.errors import ArgumentError, RangeError
from chaplygin.runtime.interface.arguments import entries, short

from ..graph.from_sympy import function_of_time
from .place import Entry
from .symbols import Coordinate, DeclarationError, rate

Item = TypeVar("Item")


@contextmanager
def naming(system: str) -> Iterator[None]:
    """Put the name of a system before the errors of its declaration."""
    try:
        yield
    except DeclarationError as error:
        error.args = (f"System {short(system)}: {error}",)
        raise
    except RangeError as error:
        raise DeclarationError(f"System {short(system)}: {error}; choose other units") from None


def require_coordinates(symbols: Iterable[Any], entry: str) -> None:
    """Check that these are distinct coordinates, at least one."""
    seen: set[Any] = set()
    if entry == "kinematics" and not isinstance(symbols, Mapping):
        raise DeclarationError(
            f"kinematics is {type(symbols).__name__}; give a dict {{coordinate: dx/dt}}, such as "
            "{x: v*cos(phi)}, or coordinates=[...] if the velocities are the coordinate rates"
        )
    symbols = list(symbols) if isinstance(symbols, Mapping) else sequence(entry, symbols)
    if not symbols:
        raise DeclarationError(f"{entry} is empty; name at least one coordinate")
    for s in symbols:
        if isinstance(s, (AppliedUndef, sp.Derivative)):
            raise DeclarationError(f"{entry}: {function_of_time(s)}")
        if not isinstance(s, Coordinate):
            raise DeclarationError(
                f"{entry}: {s!s} is not a coordinate; create it with coordinates({str(s)!r})"
            )
        if s in seen:
            raise DeclarationError(f"{entry}: the coordinate {s} appears twice")
        seen.add(s)


def scalar(where: Entry | str, value: Any) -> Any:
    """A value as a scalar SymPy expression; strings are refused, since SymPy would evaluate them."""
    if isinstance(value, (str, bytes)):
        raise DeclarationError(f"{where} is a string; give a SymPy expression")
    if getattr(value, "shape", ()) != ():  # before SymPy converts an array, which may be large
        raise DeclarationError(f"{where} is {type(value).__name__}; give a scalar SymPy expression")
    try:
        result = sp.sympify(value)
    except Exception as error:  # of SymPy, or a list that contains itself
        raise DeclarationError(f"{where} is not a SymPy expression: {error}") from None
    if isinstance(result, Relational):
        kind = "an equation" if isinstance(result, sp.Equality) else "a condition"
        raise DeclarationError(f"{where} is {kind}; give its left-hand side minus its right-hand side")
    if (
        isinstance(value, np.timedelta64)
        or not isinstance(result, sp.Expr)
        or getattr(result, "is_Matrix", False)
    ):
        raise DeclarationError(f"{where} is {type(result).__name__}; give a scalar SymPy expression")
    if result in (sp.nan, sp.oo, -sp.oo, sp.zoo):
        raise DeclarationError(f"{where} is {result}; give a finite value")
    if result.is_number and result.is_finite and result.is_real is False:
        raise DeclarationError(f"{where} = {short(result)} is not real; give a real expression")
    return result


def condition(where: Entry | str, value: Any) -> Any:
    """A value as a SymPy condition; what Python has compared already, as with ==, is refused."""
    if isinstance(value, (bool, sp.logic.boolalg.BooleanAtom)):
        raise DeclarationError(
            f"{where} is {value}, which no motion changes; give a condition such as x < 0, or sympy.Eq(a, b): a == b "
            "compares expressions at once"
        )
    if not isinstance(value, sp.logic.boolalg.Boolean) or isinstance(value, sp.Expr):
        raise DeclarationError(f"{where} is {short(value)}; give a condition such as x < 0")
    return value


def mapping(entry: str, given: Any) -> Mapping[Any, Any]:
    """What is given, if it is a dict; None is an empty one."""
    if given is not None and not isinstance(given, Mapping):
        raise DeclarationError(f"{entry} is {type(given).__name__}; give a dict")
    return {} if given is None else given


def sequence(entry: str, given: Any) -> list[Any]:
    """The items of what is given, if it is a list or the like; None is an empty one."""
    if given is None:
        return []
    if not isinstance(given, sp.Basic):
        with suppress(ArgumentError):
            return entries(entry, given, "a list")
    raise DeclarationError(f"{entry} is {type(given).__name__}; give a list")


def instances(entry: str, given: Any, kind: type[Item], advice: str) -> tuple[Item, ...]:
    """The items of a list, each an object of the package."""
    found = sequence(entry, given)
    for i, item in enumerate(found):
        if not isinstance(item, kind):
            raise DeclarationError(f"{entry}[{i}] is {type(item).__name__}; give {advice}")
    return tuple(found)


def distinct(entry: str, names: Sequence[Any]) -> None:
    """Refuse a name that is used twice."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise DeclarationError(f"{entry}: the name {name!r} is used twice")


def by_velocity(entry: str, given: Any, velocities: Sequence[sp.Symbol]) -> dict[sp.Symbol, Any]:
    """The expressions of a dict whose keys are velocities of the system."""
    names = [v.name for v in velocities]
    result = {}
    for key, value in mapping(entry, given).items():
        if isinstance(key, str) and key in names:
            raise DeclarationError(f"{entry}: use the symbol {key} as a key, not its name")
        if key not in velocities:
            hint = ""
            if isinstance(key, Coordinate) and entry == "forces":
                hint = f"; {key} is a coordinate, but generalised forces are conjugate to velocities: " + (
                    f"use rate({key}) as the key"
                    if rate(key) in velocities
                    else f"a force F along {key} adds F times the coefficient of v in d{key}/dt to that of v"
                )
            elif isinstance(key, (AppliedUndef, sp.Derivative)):
                hint = f"; {function_of_time(key)}"
            raise DeclarationError(
                f"{entry}: {key!s} is not a velocity of the system ({', '.join(names)}){hint}"
            )
        result[key] = scalar(Entry(entry, key), value)
    return result


def listed(entry: str, given: Any) -> list[Any]:
    """The expressions of a list."""
    return [scalar(Entry(entry, i), e) for i, e in enumerate(sequence(entry, given))]

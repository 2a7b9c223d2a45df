"""Checks of a declaration; every error names the entry and says how to correct it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from chaplygin.runtime import assumptions as held

from ..graph.differentiate import forward, gradient
from ..graph.evaluate import evaluate, evaluate_with_scale
from ..graph.graph import Graph, Node
from ..graph.linear import choose_pivots
from ..graph.zero import is_zero
from .fields import numeric_matrix
from .points import Point, declared_roots, example_point, good_points
from .rank_checks import check_ranks
from .symbols import (
    Coordinate,
    DeclarationError,
    Input,
    Multiplier,
    Parameter,
    Rate,
    Time,
    Velocity,
    assumed,
    check_name,
    check_text,
    kind_of,
    rate,
    time,
)

if TYPE_CHECKING:
    from .system import System


def require_coordinates(system: str, symbols: Iterable[Any], entry: str) -> None:
    seen: set[Any] = set()
    if entry == "kinematics" and not isinstance(symbols, Mapping):
        raise DeclarationError(
            f"System {system!r}: kinematics is {type(symbols).__name__}; give a dict {{coordinate: dx/dt}}, such as "
            "{x: v*cos(phi)}, or coordinates=[...] if the velocities are the coordinate rates"
        )
    symbols = list(symbols) if isinstance(symbols, Mapping) else sequence(system, entry, symbols)
    if not symbols:
        raise DeclarationError(f"System {system!r}: {entry} is empty; name at least one coordinate")
    for s in symbols:
        if isinstance(s, (AppliedUndef, sp.Derivative)):
            raise DeclarationError(f"System {system!r}: {entry}: {not_a_function(s)}")
        if not isinstance(s, Coordinate):
            raise DeclarationError(
                f"System {system!r}: {entry}: {s!s} is not a coordinate; create it with coordinates({str(s)!r})"
            )
        if s in seen:
            raise DeclarationError(f"System {system!r}: {entry}: the coordinate {s} appears twice")
        seen.add(s)


def not_a_function(s: Any) -> str:
    """The message for a function of time, such as SymPy's `dynamicsymbols` returns, or its derivative."""
    name = str(s.func if isinstance(s, AppliedUndef) else s.expr.func)
    return (
        f"{s!s} is a function of time, as dynamicsymbols returns; chaplygin takes plain symbols: {name} = "
        f"coordinates({name!r}), and rate({name}) for its derivative (for a velocity, velocities({name!r}))"
    )


def expression(system: str, entry: str, value: Any) -> Any:
    """The entry as a SymPy expression."""
    return scalar(f"System {system!r}: {entry}", value)


def scalar(where: str, value: Any) -> Any:
    """A value as a scalar SymPy expression; strings are refused, since SymPy would evaluate them."""
    if isinstance(value, str):
        raise DeclarationError(f"{where} is a string; give a SymPy expression")
    try:
        result = sp.sympify(value)
    except (sp.SympifyError, TypeError, AttributeError) as error:
        raise DeclarationError(f"{where} is not a SymPy expression: {error}") from None
    if not isinstance(result, sp.Expr) or getattr(result, "is_Matrix", False):
        raise DeclarationError(f"{where} is {type(result).__name__}; give a scalar SymPy expression")
    return result


def mapping(system: str, entry: str, given: Any) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise DeclarationError(f"System {system!r}: {entry} is {type(given).__name__}; give a dict")
    return given


def sequence(system: str, entry: str, given: Any) -> list[Any]:
    if isinstance(given, (str, sp.Basic, Mapping)) or not isinstance(given, Iterable):
        raise DeclarationError(f"System {system!r}: {entry} is {type(given).__name__}; give a list")
    return list(given)


def expressions(
    system: str, entry: str, given: Mapping[Any, Any], allowed: Sequence[sp.Symbol], what: str
) -> dict[sp.Symbol, Any]:
    result = {}
    for key, value in mapping(system, entry, given).items():
        if isinstance(key, str) and key in {s.name for s in allowed}:
            raise DeclarationError(f"System {system!r}: {entry}: use the symbol {key} as a key, not its name")
        if key not in allowed:
            names = ", ".join(s.name for s in allowed)
            hint = ""
            if isinstance(key, Coordinate) and entry == "forces":
                own = rate(key) in allowed
                hint = f"; {key} is a coordinate, but generalised forces are conjugate to velocities: " + (
                    f"use rate({key}) as the key"
                    if own
                    else f"a force F along {key} adds F times the coefficient of v in d{key}/dt to that of v"
                )
            elif isinstance(key, (AppliedUndef, sp.Derivative)):
                hint = f"; {not_a_function(key)}"
            raise DeclarationError(f"System {system!r}: {entry}: {key!s} is not {what} ({names}){hint}")
        result[key] = expression(system, f"{entry}[{key}]", value)
    return result


def example(system: str, given: Mapping[Any, Any]) -> dict[sp.Symbol, float]:
    result = {}
    for key, value in mapping(system, "example", given).items():
        if not isinstance(key, (Coordinate, Velocity, Parameter, Input, Time)):
            raise DeclarationError(f"System {system!r}: example: {key!s} is not a symbol of the system")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        except (TypeError, ValueError):
            raise DeclarationError(f"System {system!r}: example[{key}] = {value!s} is not a number") from None
        if not math.isfinite(number):
            raise DeclarationError(f"System {system!r}: example[{key}] = {number} is not finite")
        if not held.holds(assumed(key), number):
            raise DeclarationError(
                f"System {system!r}: example[{key}] = {number:.17g}, but {key} is declared "
                f"{held.assumption(assumed(key))}"
            )
        result[key] = number
    return result


def texts(system: System, entry: str, given: Mapping[Any, Any]) -> dict[sp.Symbol, str]:
    allowed = set(system.all_symbols()) | {rate(x) for x in system.coordinates}
    for key, value in mapping(system.name, entry, given).items():
        if isinstance(key, str) and key in {s.name for s in allowed}:
            raise DeclarationError(
                f"System {system.name!r}: {entry}: use the symbol {key} as a key, not its name"
            )
        if key not in allowed and str(key) not in system.outputs:
            raise DeclarationError(f"System {system.name!r}: {entry}: {key!s} is not a symbol of the system")
        if not isinstance(value, str):
            raise DeclarationError(
                f"System {system.name!r}: {entry}[{key}] is {type(value).__name__}; give text"
            )
        check_text(value, f"System {system.name!r}: {entry}[{key}]")
    return dict(given)


def takes_multipliers(entry: str) -> bool:
    """Whether an entry of a declaration can contain multipliers of constraints."""
    return entry.startswith(("outputs", "events", "contacts")) and ".reset[" not in entry


def unknown_symbol(system: System, entry: str, s: sp.Symbol, value: Any) -> str:
    """The message for an undeclared symbol `s` in the expression `value` of an entry."""
    functions = sorted(value.atoms(AppliedUndef), key=str) if s.name == "t" else []
    if functions:
        return f"System {system.name!r}: {entry}: {not_a_function(functions[0])}"
    if isinstance(s, Coordinate):
        hint = "it is a coordinate without kinematics; add it to kinematics"
    elif isinstance(s, Velocity):
        hint = "it is a velocity that does not occur in kinematics"
    elif isinstance(s, Multiplier):
        hint = (
            f"the system has {len(system.constraints)} constraints"
            if takes_multipliers(entry)
            else "multipliers can appear only in outputs, event guards and normal forces of contacts"
        )
    elif s.name == "t":
        hint = "the time is chaplygin.time"
    else:
        hint = f"declare it with parameters({s.name!r}), inputs(), coordinates() or velocities()"
    return f"System {system.name!r}: {entry}: unknown symbol {s.name!r}: {hint}"


def check_unique_names(system: System) -> None:
    used: dict[str, str] = {}
    for s in system.all_symbols():
        kind = kind_of(s)
        if s.name in used:
            raise DeclarationError(
                f"System {system.name!r}: the name {s.name!r} is used twice, as {used[s.name]} and as {kind}"
            )
        if kind != "time":
            check_name(s.name, kind)
        used[s.name] = kind
    for name in system.outputs:
        check_name(name, "output")
        if name in used:
            raise DeclarationError(
                f"System {system.name!r}: the output name {name!r} is already that of a {used[name]}; rename one"
            )
        used[name] = "output"
    for contact in system.contacts:
        for name in contact.names:
            if name in used:
                raise DeclarationError(
                    f"System {system.name!r}: contacts[{contact.name!r}] needs the name {name!r}, which is already "
                    f"that of a {used[name]}; rename one"
                )
            used[name] = f"contact ({contact.name})"
    for event in system.events:
        if event.name in used:
            raise DeclarationError(
                f"System {system.name!r}: events: the name {event.name!r} is already that of a {used[event.name]}; "
                "rename one"
            )
        used[str(event.name)] = "event"
    declared = {s.name for s in system.all_symbols()}
    for s in system.example:
        if s.name not in declared:
            raise DeclarationError(
                f"System {system.name!r}: example: {s.name!r} does not occur in the system"
            )


def affine(
    system: System, g: Graph, entries: Sequence[str], nodes: Sequence[Node]
) -> tuple[list[Node], list[list[Node]]]:
    """Offsets and rows of nodes that are affine in the velocities, node = offset + row . eta.

    Raises DeclarationError for a node that is not.
    """
    eta = [g.symbol(v.name) for v in system.velocities]
    zeros = dict.fromkeys(eta, g.zero)
    columns = [forward(g, nodes, {v: g.one}) for v in eta]
    rows = [[column[i] for column in columns] for i in range(len(nodes))]
    symbols = {s.name: s for s in system.all_symbols()}
    still: list[list[Node]] = []
    for entry, row in zip(entries, rows, strict=True):
        # A node can be affine only after expansion, so test whether its slopes depend on the velocities.
        try:
            still.append(g.substitute(row, zeros))
            changing = [
                v
                for v, a, b in zip(system.velocities, row, still[-1], strict=True)
                if not is_zero(g, g.sub(a, b), symbols)
            ]
        except ZeroDivisionError:  # the slope is undefined at rest, as with sqrt(v^2 + w^2)
            changing = list(system.velocities)
        if changing:
            raise DeclarationError(
                f"System {system.name!r}: {entry} is not affine in the velocities (its slope along {changing[0]} "
                "depends on the velocities); for nonlinear constraints give a parametrization"
            )
    return g.substitute(nodes, zeros), still


def check(system: System) -> None:
    """Run the numerical checks: vector fields, potential, constraints, mass matrix, span of the brackets."""
    g = system.nodes.graph.copy()
    where = f"System {system.name!r}"
    if g.depends_on([system.nodes.potential], system.nodes.eta):
        raise DeclarationError(
            f"{where}: potential depends on velocities; V is a function of (t, x): move it to kinetic"
        )
    if len(system.velocities) > len(system.coordinates):
        raise DeclarationError(
            f"{where}: {len(system.velocities)} velocities for {len(system.coordinates)} coordinates; a system cannot "
            "have more velocities than coordinates"
        )
    points = good_points(system, declared_roots(system), 4)
    at = example_point(system)
    from .redundancy import check as check_redundancy

    check_redundancy(system, g, points[0], where)
    _check_holonomic(system, g, at, where)
    _check_constraints(system, g, where)
    check_ranks(system, g, points)
    _check_at_example(system, g, at, where)
    _check_mass(system, g, at, where)


def _check_holonomic(system: System, g: Graph, at: Point, where: str) -> None:
    """Check that the example point, if it gives every coordinate, satisfies the holonomic equations."""
    if not all(x in system.example for x in system.coordinates):
        return
    for i, (value, scale) in enumerate(evaluate_with_scale(g, system.nodes.holonomic, at)):
        if abs(value) > 1e-6 * max(scale, 1e-300):
            raise DeclarationError(
                f"{where}: holonomic[{i}] = {value:.6g} at the example point; it must be zero there"
                + _moment(system, g, [system.nodes.holonomic[i]], at)
            )


def _moment(system: System, g: Graph, nodes: Sequence[Node], at: Point) -> str:
    """The time of the example point, for messages about nodes that depend on it."""
    if not g.depends_on(nodes, [system.nodes.fields.time]):
        return ""
    given = "" if time in system.example else ": the example gives no time; add chaplygin.time as a key"
    return f" (at t = {at['t']:.6g}{given})"


def _check_constraints(system: System, g: Graph, where: str) -> None:
    rows = [list(r) for r in system.nodes.constraint_rows]
    for i, row in enumerate(rows):
        if all(n == g.zero for n in row):
            declared = len(rows) - len(system.holonomic)
            if i >= declared:
                raise DeclarationError(f"{where}: holonomic[{i - declared}] contains no coordinate")
            raise DeclarationError(f"{where}: constraints[{i}] contains no velocity")
    if rows and len(rows) >= len(system.velocities):
        raise DeclarationError(
            f"{where}: {len(rows)} constraints leave none of the {len(system.velocities)} velocities free"
        )
    if any(isinstance(s, Rate) for s in system.independent):
        raise DeclarationError(
            f"{where}: parametrization contains a coordinate rate; write it in independent velocities created with "
            "velocities()"
        )
    if system.nodes.beta and not system.nodes.theta:
        raise DeclarationError(
            f"{where}: parametrization contains no independent velocity; create one with velocities()"
        )


def _check_at_example(system: System, g: Graph, at: Point, where: str) -> None:
    """Check that constraints and parametrization have full rank at the example point, where pivots are chosen."""
    rows = system.nodes.constraint_rows
    if rows and len(choose_pivots(numeric_matrix(g, rows, at))) < len(rows):
        raise DeclarationError(
            f"{where}: constraints are linearly dependent at the example point; choose another point"
        )
    columns = (
        [forward(g, system.nodes.beta, {v: g.one}) for v in system.nodes.theta] if system.nodes.beta else []
    )
    if columns and len(choose_pivots(numeric_matrix(g, columns, at))) < len(columns):
        names = ", ".join(s.name for s in system.independent)
        raise DeclarationError(
            f"{where}: parametrization: the parameters {names} are not independent at the example point"
        )


def _check_mass(system: System, g: Graph, at: Point, where: str) -> None:
    momenta = gradient(g, system.nodes.kinetic, system.nodes.eta)
    k = len(momenta)
    # A single derivative along all velocities at once: the directions are the rows of the unit matrix.
    along = [g.symbol(f"cg_along_{a}") for a in range(k)]
    directions = {str(g.value[n]): row for n, row in zip(along, np.eye(k), strict=True)}
    moved = forward(g, momenta, dict(zip(system.nodes.eta, along, strict=True)))
    values = np.zeros((k, k))
    with np.errstate(all="ignore"):
        for a, row in enumerate(evaluate(g, moved, {**at, **directions})):
            values[a] = row
    if not np.isfinite(values).all():
        raise DeclarationError(f"{where}: the mass matrix is not finite at the example point")
    for a, v in enumerate(system.velocities):
        if not values[a].any():
            raise DeclarationError(
                f"{where}: the mass matrix is singular at the example point: kinetic has no inertia along {v}. "
                "T must contain every velocity; do not substitute constraints into it"
            )
    scale = np.sqrt(np.abs(np.diag(values)))
    scale[scale == 0] = 1.0
    scaled = values / np.outer(scale, scale)
    if np.linalg.matrix_rank(scaled, tol=1e-11) < k:
        raise DeclarationError(
            f"{where}: the mass matrix is singular at the example point; T must be nondegenerate in all of "
            f"{', '.join(v.name for v in system.velocities)}; do not substitute constraints into it"
        )
    left = scaled.copy()
    for a in range(k):  # the emitted code factors M in this order, without pivoting
        if abs(left[a, a]) < 1e-13:
            raise DeclarationError(
                f"{where}: the mass matrix is indefinite: its block for the first {a + 1} velocities is singular at "
                "the example point; a kinetic energy must be positive definite"
            )
        left[a + 1 :, a + 1 :] -= np.outer(left[a + 1 :, a], left[a, a + 1 :]) / left[a, a]

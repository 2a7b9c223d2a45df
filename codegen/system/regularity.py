"""Checks that a declared system is regular: energies, constraints and mass matrix, at its example point and near it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chaplygin.runtime.interface.assumptions import holds

from ..graph.differentiate import forward, gradient, partials
from ..graph.evaluate import Point, evaluate, evaluate_with_scale, numeric_matrix
from ..graph.graph import Graph, Node
from ..graph.linear import choose_pivots
from ..symbols.symbols import DeclarationError, Rate, assumed, time
from .body_checks import check_bodies, moved_by
from .nodes import SystemNodes
from .points import declared_roots, example_point, good_points
from .rank_checks import check_ranks
from .redundancy import check_redundancy

_SINGULAR = 1e-11
"""An eigenvalue of the scaled mass matrix below this fraction of the largest counts as zero."""


def check(system: SystemNodes, independent: Callable[[], Sequence[int]]) -> None:
    """Run the numerical checks: vector fields, potential, constraints, mass matrix, span of the brackets.

    `independent` gives the constraints that determine the others; it is asked where the declaration has them.
    """
    g, declared = system.graph.copy(), system.declaration
    if declared.law is None and len(declared.velocities) > len(declared.coordinates):
        raise DeclarationError(
            f"{len(declared.velocities)} velocities for {len(declared.coordinates)} coordinates; a system cannot "
            "have more velocities than coordinates"
        )
    points = good_points(system, declared_roots(system), 4)
    at = example_point(system)
    check_redundancy(system, g, points[0])
    _check_holonomic(system, g, at)
    _check_rows(system, g)
    _check_freedom(system, independent)
    check_ranks(system, g, points)
    _check_at_example(system, g, at, independent)
    if declared.law is None:
        _check_mass(system, g, at, independent)
    if declared.bodies:
        check_bodies(system)


def _check_holonomic(system: SystemNodes, g: Graph, at: Point) -> None:
    """Check that the example point, if it gives every coordinate, satisfies the holonomic equations."""
    declared = system.declaration
    if not all(x in declared.example for x in declared.coordinates):
        return
    for i, (value, scale) in enumerate(evaluate_with_scale(g, system.holonomic, at)):
        if abs(value) > 1e-6 * max(scale, 1e-300):
            raise DeclarationError(
                f"holonomic[{i}] = {value:.6g} at the example point; it must be zero there"
                + _moment(system, g, [system.holonomic[i]], at)
            )


def _moment(system: SystemNodes, g: Graph, nodes: Sequence[Node], at: Point) -> str:
    """The time of the example point, for messages about nodes that depend on it."""
    if not g.depends_on(nodes, [system.fields.time]):
        return ""
    given = (
        ""
        if time in system.declaration.example
        else ": the example gives no time; add chaplygin.time as a key"
    )
    return f" (at t = {at['t']:.6g}{given})"


def _check_rows(system: SystemNodes, g: Graph) -> None:
    """Check that every constraint contains a velocity, and beside a law no input by the kinematics."""
    rows = [list(r) for r in system.constraint_rows]
    declared = system.declaration
    for i, (row, offset) in enumerate(zip(rows, system.constraint_offsets, strict=True)):
        if all(n == g.zero for n in row):
            entry = declared.constraint_entries[i]
            missing = "coordinate"
            if entry.argument != "holonomic":
                missing = "velocity"
                if g.depends_on([offset], [g.symbol(x.name) for x in declared.coordinates]):
                    missing += "; an equation for coordinates goes to holonomic=[...]"
            raise DeclarationError(f"{entry.argument}[{entry.key}] contains no {missing}")
    for i, (row, offset) in enumerate(zip(rows, system.constraint_offsets, strict=True)):
        for u in declared.inputs:
            if u not in declared.rates and g.depends_on([*row, offset], [g.symbol(u.name)]):
                raise DeclarationError(
                    f"{declared.constraint_entries[i]} depends on the input {u.name!r} by the kinematics; its rate "
                    "would enter the equations"
                )


def _check_freedom(system: SystemNodes, independent: Callable[[], Sequence[int]]) -> None:
    """Check that constraints are no more than velocities, and that a law or a parametrization leaves some free."""
    declared, rows = system.declaration, system.constraint_rows
    most = len(declared.velocities)
    if rows and len(rows) >= most and (len(rows) > most or declared.law) and len(independent()) >= most:
        raise DeclarationError(
            f"{len(rows)} {'constraint leaves' if len(rows) == 1 else 'constraints leave'} none of the "
            f"{len(declared.velocities)} velocities free"
        )
    if any(isinstance(s, Rate) for s in declared.independent):
        raise DeclarationError(
            "parametrization contains a coordinate rate; write it in independent velocities created with "
            "velocities()"
        )
    if system.beta and not system.theta:
        raise DeclarationError(
            "parametrization contains no independent velocity; create one with velocities()"
        )


def _check_at_example(
    system: SystemNodes, g: Graph, at: Point, independent: Callable[[], Sequence[int]]
) -> None:
    """Check that constraints and parametrization have full rank at the example point, where pivots are chosen."""
    rows = system.constraint_rows
    if rows and len(choose_pivots(numeric_matrix(g, rows, at))) < len(independent()):
        raise DeclarationError(
            "constraints are linearly dependent at the example point; choose another point"
        )
    columns = partials(g, system.beta, system.theta)
    if columns and len(choose_pivots(numeric_matrix(g, columns, at))) < len(columns):
        names = ", ".join(s.name for s in system.declaration.independent)
        raise DeclarationError(
            f"parametrization: the parameters {names} are not independent at the example point"
        )


def _check_mass(system: SystemNodes, g: Graph, at: Point, independent: Callable[[], Sequence[int]]) -> None:
    values = mass_at(system, g, at)
    if not np.isfinite(values).all():
        raise DeclarationError("the mass matrix is not finite at the example point")
    permitted = _permitted_directions(system, g, at, independent)
    if permitted is not None and _is_singular(values):
        _check_permitted(system, values, permitted)
        return
    scaled = _scaled(values)
    _check_regular(system, values, scaled)
    left = scaled.copy()
    for a in range(len(left)):  # the emitted code factors M in this order, without pivoting
        if abs(left[a, a]) < 1e-13:
            raise DeclarationError(
                f"the mass matrix is indefinite: its block for the first {a + 1} velocities is singular at "
                "the example point; a kinetic energy must be positive definite"
            )
        left[a + 1 :, a + 1 :] -= np.outer(left[a + 1 :, a], left[a, a + 1 :]) / left[a, a]


def mass_at(system: SystemNodes, g: Graph, at: Point) -> Any:
    """M at a point; infinite or NaN entries are left."""
    momenta = gradient(g, system.kinetic, system.eta)
    k = len(momenta)
    # A single derivative along all velocities at once: the directions are the rows of the unit matrix.
    along = [g.symbol(f"cg_along_{a}") for a in range(k)]
    directions = {str(g.value[n]): row for n, row in zip(along, np.eye(k), strict=True)}
    moved = forward(g, momenta, dict(zip(system.eta, along, strict=True)))
    values = np.zeros((k, k))
    with np.errstate(all="ignore"):
        for a, row in enumerate(evaluate(g, moved, {**at, **directions})):
            values[a] = row
    return values


def needs_constraints(
    system: SystemNodes, independent: Callable[[], Sequence[int]], all_zeros: bool = True
) -> bool:
    """Whether only constraints make the accelerations unique, as M is singular: at the example point, or with a zero
    there that the assumptions of a parameter permit, as the mass of a pulley.

    Unless `all_zeros`, a number of the example that is not zero counts as an assumption, if none is declared.
    """
    if system.declaration.law is not None or not system.constraints:
        return False
    g, at = system.graph.copy(), example_point(system)
    if _is_singular(mass_at(system, g, at)):
        return True
    inside = g.symbols([system.kinetic])
    for p in (p for p in system.parameters if p.name in inside and holds(assumed(p), 0.0)):
        if not (all_zeros or p.is_nonnegative or p.is_nonpositive) and system.declaration.example.get(p):
            continue
        there = {**at, p.name: 0.0}
        values, permitted = mass_at(system, g, there), _permitted_directions(system, g, there, independent)
        regular = (
            not np.isfinite(values).all() or not np.isfinite(permitted).all() or not _is_singular(values)
        )
        if not (regular or _without_inertia(values, permitted)):
            return True
    return False


def _scaled(values: Any) -> Any:
    scale = np.sqrt(np.abs(np.diag(values)))
    scale[scale == 0] = 1.0
    return values / np.outer(scale, scale)


def _is_singular(values: Any) -> bool:
    return bool(np.linalg.matrix_rank(_scaled(values), tol=_SINGULAR) < len(values))


def _permitted_directions(
    system: SystemNodes, g: Graph, at: Point, independent: Callable[[], Sequence[int]]
) -> Any:
    """Columns that span the velocities which the constraints permit at a point; None without constraints."""
    if system.beta:
        return np.array(numeric_matrix(g, partials(g, system.beta, system.theta), at)).T
    if not system.constraint_rows:
        return None
    rows = np.array(numeric_matrix(g, system.constraint_rows, at))
    return np.linalg.svd(rows)[2][len(independent()) :].T


def _check_permitted(system: SystemNodes, values: Any, permitted: Any) -> None:
    """Refuse an M that is singular at the example point unless it is positive on the permitted velocities."""
    if still := _without_inertia(values, permitted):
        names = ", ".join(system.declaration.velocities[a].name for a in still)
        raise DeclarationError(
            f"the mass matrix is singular at the example point, on the velocities that the constraints permit too: "
            f"kinetic is not positive for a permitted motion in {names}"
        )


def _without_inertia(values: Any, permitted: Any) -> list[int]:
    """The velocities in a permitted motion for which M is not positive; none if it is for all of them."""
    if not permitted.shape[1]:
        return []
    scale = np.sqrt(np.abs(np.diag(values)))
    scale[scale == 0] = scale[scale > 0].min(initial=1.0)
    basis = np.linalg.qr(permitted * scale[:, None])[0]
    sizes, directions = np.linalg.eigh(basis.T @ (values / np.outer(scale, scale)) @ basis)
    if sizes[0] > _SINGULAR * abs(sizes[-1]):
        return []
    still = np.abs(basis @ directions[:, 0]) / scale
    found: list[int] = np.flatnonzero(still > 1e-6 * still.max()).tolist()
    return found


def _check_regular(system: SystemNodes, values: Any, scaled: Any) -> None:
    """Refuse a singular mass matrix, naming the velocities and the bodies that they move."""
    singular, advice = (
        "the mass matrix is singular at the example point",
        "do not substitute constraints into it",
    )
    for v, row in zip(system.declaration.velocities, values, strict=True):
        if row.any():
            continue
        moved = " and ".join(repr(body.name) for body in moved_by(system, v))
        reason = (
            f", which moves {moved} relative to the parent; give what it moves a mass, and an inertia if the mass "
            "centre lies on the joint's axis"
        )
        wrong = reason if moved else f". T must contain every velocity; {advice}"
        if isinstance(v, Rate) and not moved:
            x = v.name.removesuffix("_dot")
            wrong += f" (the rate of {x} is rate({x}); {x}.diff(t) is 0)"
        raise DeclarationError(f"{singular}: kinetic has no inertia along {v}{wrong}")
    if np.linalg.matrix_rank(scaled, tol=_SINGULAR) == len(values):
        return
    still = np.abs(np.linalg.svd(scaled)[2][-1])
    among = [
        v for v, share in zip(system.declaration.velocities, still, strict=True) if share > 1e-6 * still.max()
    ]
    jointed = {body.name for v in among for body in moved_by(system, v)}
    if len(jointed) == 1:
        body = jointed.pop()
        advice = (
            f"the joint of the body {body!r} is singular there: choose another example or other coordinates"
        )
    names = ", ".join(v.name for v in among)
    raise DeclarationError(f"{singular}; T must be nondegenerate in all of {names}; {advice}")

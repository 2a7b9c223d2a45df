"""Checks that a declared system is regular: energies, constraints and mass matrix, at its example point and near it.

Fields, constraints and mass matrix need full rank on every branch, and brackets stay in the span. The rank of an
analytic matrix at one generic point is its rank everywhere except on surfaces. So each branch is examined separately
(`branches`), at a point where all its terms are visible (`identities`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import mp

from chaplygin.runtime.interface.assumptions import holds

from ..graph.differentiate import forward, gradient, partials
from ..graph.evaluate import Point, evaluate, evaluate_with_scale, folded, numeric_matrix
from ..graph.graph import Graph, Node
from ..graph.linear import choose_pivots
from ..graph.to_sympy import expressions
from ..identities.branches import branch_at, branches, is_branched
from ..identities.identities import FAILURES, precisely, rank
from ..identities.roots import reversed_roots, touches_zero
from ..identities.zero import Matrix, exact_rank, generic_rank, values_at
from ..symbols.symbols import DeclarationError, Rate, assumed, time
from .body_checks import check_bodies, moved_by
from .feasible_points import condition_text, reach, warn_too_many, warn_unreached
from .nodes import SystemNodes
from .points import declared_roots, example_point, good_points, wide_points
from .redundancy import check_redundancy

_SINGULAR = 1e-11
"""An eigenvalue of the scaled mass matrix below this fraction of the largest counts as zero."""
Complaint = Callable[[Sequence[Node]], "str | None"]


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


def check_ranks(system: SystemNodes, g: Graph, points: Sequence[Point]) -> None:
    """Raise DeclarationError if a rank is too low or a bracket leaves the span; `points` are near the example."""

    def full(matrix: Matrix, text: str) -> None:
        """Check that the rows are independent on every branch."""

        def complaint(entries: Sequence[Node]) -> str | None:
            most = min(len(matrix), len(matrix[0]))
            return None if generic_rank(g, folded(entries, len(matrix)), points) == most else text

        _hold(system, g, [n for row in matrix for n in row], complaint, points)

    if system.declaration.law is None and not system.fields.are_rates():  # T needs the fields, a law does not
        _check_fields(system, g, points)
    if system.constraint_rows:
        full(system.constraint_rows, "constraints are linearly dependent; remove the redundant one")
    if system.beta and system.theta:
        names = ", ".join(s.name for s in system.declaration.independent)
        text = f"parametrization: the parameters {names} are not independent"
        full(partials(g, system.beta, system.theta), text)
    if is_branched(g, [system.kinetic]):  # otherwise the check at the example point suffices
        mass = partials(g, gradient(g, system.kinetic, system.eta), system.eta)
        full(mass, "the mass matrix is singular")


def _hold(
    system: SystemNodes, g: Graph, roots: Sequence[Node], complaint: Complaint, points: Sequence[Point]
) -> None:
    """Check every branch of the roots with `complaint`, a function from its nodes to an error text or None.

    Raises DeclarationError with the text if the branch contains a point; if none is found, warns with a BranchWarning
    and accepts the declaration.
    """
    found = branches(g, roots)
    if found is None:
        warn_too_many(system, "only those at the example point and at random points are checked")
        met = (branch_at(g, roots, p) for p in [*points, *wide_points(system, roots, 12, g)])
        found = list({b.nodes: b for b in met}.values())
    symbols = system.symbols
    for branch in found:
        text = complaint(branch.nodes)
        if text is None:
            for square, nodes in reversed_roots(g, branch.nodes):
                text = complaint(nodes)
                if text is not None and touches_zero(g, square):
                    (shown,) = expressions(g, [square], symbols)
                    raise DeclarationError(f"beyond the zero of {shown}: {text}")
            continue
        if not branch.conditions:
            raise DeclarationError(text)
        point, tried = reach(g, branch.conditions, system)
        if point is not None:
            raise DeclarationError(f"where {condition_text(g, branch.conditions, symbols)}: {text}")
        warn_unreached(system, g, branch.conditions, symbols, tried, f"the error there would be: {text}")


def _check_fields(system: SystemNodes, g: Graph, points: Sequence[Point]) -> None:
    """Check on every branch that the fields are independent and their brackets stay in the span."""
    fields = system.fields
    n, k = len(fields.coordinates), len(fields.along)
    matrix = fields.matrix()
    brackets = fields.brackets(g)
    pairs = list(brackets)
    roots = [n for row in matrix for n in row] + [n for pair in pairs for n in brackets[pair]]
    several = branches(g, roots[: n * k]) or []
    pointwise = (
        max((generic_rank(g, folded(b.nodes, n), points) for b in several), default=0) if several[1:] else 0
    )

    def complaint(nodes: Sequence[Node]) -> str | None:
        xi = folded(nodes[: n * k], n)
        own = generic_rank(g, xi, points)
        if own < k and (found := _stacked_rank(g, xi, [[g.zero] for _ in xi], points)) < k:
            names = ", ".join(v.name for v in system.declaration.velocities)
            return (
                f"kinematics: the fields of {names} are linearly dependent (rank {found}, not {k}); every velocity "
                "must move the coordinates in an independent direction"
            )
        if own < pointwise:
            return (
                f"kinematics: the fields span {own} directions here and {pointwise} elsewhere; the number must be "
                "the same everywhere"
            )
        components = folded(nodes[n * k :], len(pairs))
        if _in_span(g, xi, components, own, points):
            return None
        return _leaves(
            system,
            next(p for p, c in zip(pairs, components, strict=True) if not _in_span(g, xi, [c], own, points)),
        )

    _hold(system, g, roots, complaint, points)


def _leaves(system: SystemNodes, pair: tuple[int, int]) -> str:
    velocities = system.declaration.velocities
    first = "X_0" if pair[0] < 0 else f"X_{velocities[pair[0]]}"
    return (
        f"the bracket [{first}, X_{velocities[pair[1]]}] leaves the span of the fields: the velocities are "
        "restricted by a nonholonomic constraint. Declare the full set of velocities (one per coordinate) and put the "
        "restriction into constraints; T with the constraint already substituted gives wrong equations"
    )


def _in_span(g: Graph, xi: Matrix, brackets: Matrix, own: int, points: Sequence[Point]) -> bool:
    """Whether brackets, given by their components, are linear combinations of the fields.

    If the fields are dependent at each point (such as those of the direction cosines gamma under rotations), the
    combination must have constant coefficients and is sought over several points at once.
    """
    k = len(xi[0])
    moving = [b for b in brackets if any(c != g.zero for c in b)]
    if own < k:
        more = [[b[i] for b in moving] for i in range(len(xi))]
        return not moving or _stacked_rank(g, xi, more, points) == k
    for rows, columns in _blocks(g, xi):
        if len(rows) == len(columns):  # as many fields as coordinates: they span everything
            continue
        concerned = [b for b in moving if any(b[i] != g.zero for i in rows)]
        extended = [[*(xi[i][a] for a in columns), *(b[i] for b in concerned)] for i in rows]
        if concerned and exact_rank(g, extended, points) > len(columns):
            return False
    return True


def _blocks(g: Graph, xi: Matrix) -> list[tuple[list[int], list[int]]]:
    """Groups of coordinates (rows) and fields (columns) that entries of the matrix connect."""
    left, found = set(range(len(xi))), []
    while left:
        rows, columns = {min(left)}, set[int]()
        while more := {a for i in rows for a, n in enumerate(xi[i]) if n != g.zero} - columns:
            columns |= more
            rows |= {i for i in left if any(xi[i][a] != g.zero for a in more)}
        left -= rows
        found.append((sorted(rows), sorted(columns)))
    return found


def _stacked_rank(g: Graph, xi: Matrix, more: Matrix, points: Sequence[Point]) -> int:
    """The rank of [xi, more] over several points at once, for combinations with constant coefficients."""
    extended = [[*row, *extra] for row, extra in zip(xi, more, strict=True)]
    values: list[list[Any]] = []
    sizes: list[list[Any]] = []
    limits: list[Any] = []

    def look(exact: Any, shrink: float, limit: Any) -> None:
        found = values_at(g, extended, exact, shrink)
        values.extend(found[0])
        sizes.extend(found[1])
        limits.append(limit)

    for point in points:
        try:
            precisely(g, [n for row in extended for n in row], point, look)
        except FAILURES:
            continue
    if not limits:
        return len(xi[0])
    with mp.workdps(int(-mp.log10(min(limits))) + 30):
        return rank(values, sizes, max(limits))

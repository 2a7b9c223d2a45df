"""Checks that fields, constraints and mass matrix have full rank on every branch and brackets stay in the span.

The rank of an analytic matrix at one generic point is its rank everywhere except on surfaces. So each branch is
examined separately (`branches`), at a point where all its terms are visible (`identities`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpmath import mp

from ..graph.differentiate import gradient, partials
from ..graph.evaluate import Point, folded
from ..graph.graph import Graph, Node
from ..graph.to_sympy import expressions
from ..identities.branches import branch_at, branches, is_branched
from ..identities.identities import FAILURES, precisely, rank
from ..identities.roots import reversed_roots, touches_zero
from ..identities.zero import Matrix, exact_rank, generic_rank, values_at
from ..symbols.symbols import DeclarationError
from .feasible_points import condition_text, reach, warn_too_many, warn_unreached
from .nodes import SystemNodes
from .points import wide_points

Complaint = Callable[[Sequence[Node]], "str | None"]


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

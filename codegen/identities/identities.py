"""Does an expression vanish everywhere? Decided numerically, with enough digits to resolve every term.

The expressions are free of switches (see `branches`), so a single generic point decides. Three things could hide a
nonzero term: larger terms that cancel (so the precision is set by the smallest term), exponentials far from where they
matter (so they are shrunk, see `evaluate`), and underflow (which mpmath's floats do not have).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from mpmath import mp, mpf

from ..graph.evaluate import digits_to_see, evaluate_with_scale, shrinking
from ..graph.graph import Graph, Node
from .branches import branches, is_branched
from .roots import reversed_roots, touches_zero

Point = Mapping[str, Any]
T = TypeVar("T")

DIGITS = 60
"""The number of digits to which a term must cancel, relative to its own size, to count as zero."""
_MOST_DIGITS = 3000
"""If terms differ in size by more digits than this, nothing is claimed."""
_GUARD = 25

FAILURES = (ArithmeticError, ValueError, TypeError)
"""The errors that mpmath and Python raise outside the domain of a function."""


class OutOfSight(ArithmeticError):
    """The terms at a point differ too much in size to be resolved together."""


def precisely(
    g: Graph, roots: Sequence[Node], point: Point, look: Callable[[dict[str, Any], float, Any], T]
) -> T:
    """Call look(point, shrink, limit) with enough digits that no term of the roots is lost next to another.

    `point` is passed as mpmath numbers; `limit` is the fraction of the size of its terms below which a value is zero.
    Raises OutOfSight, and the errors of `evaluate`.
    """
    shrink = shrinking(g, roots, point)
    with mp.workdps(DIGITS + _GUARD):
        exact = {name: mpf(v) for name, v in point.items()}
        more = digits_to_see(g, roots, exact, shrink)
        if not more < _MOST_DIGITS:
            raise OutOfSight(f"terms differ by {more:.0f} digits")
    with mp.workdps(DIGITS + _GUARD + math.ceil(more)):
        return look(exact, shrink, mpf(10) ** -(DIGITS + math.ceil(more)))


def vanish(g: Graph, nodes: Sequence[Node], points: Sequence[Point]) -> bool:
    """Whether nodes without switches are zero everywhere; also False if no point can decide it."""
    left = [n for n in nodes if n != g.zero]
    if not left:
        return True
    if not _vanish_here(g, left, points):
        return False
    return all(
        _vanish_here(g, other, points) or not touches_zero(g, square)
        for square, other in reversed_roots(g, left)
    )


def _vanish_here(g: Graph, left: Sequence[Node], points: Sequence[Point]) -> bool:
    """As `vanish`, but for one choice of the signs of the square roots."""
    for point in points:
        try:
            found = evaluate_with_scale(g, left, point, shrink=shrinking(g, left, point))
        except FAILURES:
            continue
        if any(abs(value) > 1e-9 * scale for value, scale in found):
            return False

    def zero(exact: dict[str, Any], shrink: float, limit: Any) -> bool:
        return all(abs(v) <= limit * s for v, s in evaluate_with_scale(g, left, exact, True, shrink=shrink))

    return anywhere(g, left, points, zero)


def vanish_everywhere(g: Graph, nodes: Sequence[Node], points: Sequence[Point]) -> bool:
    """Whether nodes are zero on every branch; also False if that cannot be decided."""
    own = g.copy() if is_branched(g, nodes) else g
    found = branches(own, nodes)
    return found is not None and all(vanish(own, branch.nodes, points) for branch in found)


def anywhere(
    g: Graph,
    roots: Sequence[Node],
    points: Sequence[Point],
    holds: Callable[[dict[str, Any], float, Any], bool],
    count: int = 2,
) -> bool:
    """Whether `holds` is true at the first `count` points where it can be evaluated; False if there is none."""
    looked = 0
    for point in points:
        try:
            if not precisely(g, roots, point, holds):
                return False
        except FAILURES:
            continue
        looked += 1
        if looked == count:
            break
    return looked > 0


def rank(matrix: Sequence[Sequence[Any]], sizes: Sequence[Sequence[Any]], limit: Any) -> int:
    """The rank of a matrix of mpmath numbers; `sizes` are the sizes of the terms of its entries.

    Uses elimination with complete pivoting; an entry not larger than `limit` times the size of its terms is zero.
    """
    a, s = [list(row) for row in matrix], [list(row) for row in sizes]
    rows, columns, found = list(range(len(a))), list(range(len(a[0]) if a else 0)), 0
    while rows and columns:
        left = [
            (abs(a[r][c]) / s[r][c], r, c) for r in rows for c in columns if abs(a[r][c]) > limit * s[r][c]
        ]
        if not left:
            break
        _, row, column = max(left)
        rows.remove(row)
        columns.remove(column)
        for r in rows:
            factor = a[r][column] / a[row][column]
            spread = abs(factor) + s[r][column] / abs(a[row][column])
            for c in columns:
                a[r][c] -= factor * a[row][c]
                s[r][c] += spread * s[row][c]
        found += 1
    return found

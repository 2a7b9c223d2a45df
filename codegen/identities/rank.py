"""The rank that a matrix has almost everywhere: by random points, then exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.evaluate import Point, evaluate_with_scale, folded, numeric_matrix
from ..graph.graph import Graph, Node
from ..graph.linear import choose_pivots
from .identities import FAILURES, precisely, rank

Matrix = Sequence[Sequence[Node]]


def generic_rank(g: Graph, matrix: Matrix, points: Sequence[Point]) -> int:
    """The rank of a matrix of analytic nodes almost everywhere."""
    most = min(len(matrix), len(matrix[0]))
    for point in points:  # floats are enough to establish full rank
        try:
            values = numeric_matrix(g, matrix, point)
        except FAILURES:
            continue
        if len(choose_pivots(values)) == most:
            return most
        break
    return exact_rank(g, matrix, points)


def exact_rank(g: Graph, matrix: Matrix, points: Sequence[Point]) -> int:
    """The rank almost everywhere, with every term visible; 0 if the matrix cannot be evaluated at any point."""

    def rank_at(exact: Any, shrink: float, limit: Any) -> int:
        return rank(*values_at(g, matrix, exact, shrink), limit)

    for point in points:
        try:
            return precisely(g, [n for row in matrix for n in row], point, rank_at)
        except FAILURES:
            continue
    return 0


def values_at(g: Graph, matrix: Matrix, exact: Any, shrink: float) -> tuple[list[list[Any]], list[list[Any]]]:
    """Values of a matrix, and the sizes of their terms."""
    found = evaluate_with_scale(g, [n for row in matrix for n in row], exact, True, shrink=shrink)
    rows = folded(found, len(matrix))
    return [[v for v, _ in row] for row in rows], [[s for _, s in row] for row in rows]

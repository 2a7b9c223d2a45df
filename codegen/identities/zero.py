"""Is an expression zero everywhere, and what is a matrix's rank? Proved exactly: equations depend on the answer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from ..graph.evaluate import Point, evaluate_with_scale, folded, numeric_matrix
from ..graph.graph import Graph, Node
from ..graph.linear import choose_pivots
from ..graph.to_sympy import expressions
from .branches import branches, is_branched
from .identities import FAILURES, precisely, rank, vanish
from .rational import vanishes

_LARGEST = 300
"""Largest number of operations; larger expressions count as not proved to be zero."""
_LARGEST_TREE = 200
"""Largest number of operations (without sharing) passed to SymPy; more can take minutes."""
Matrix = Sequence[Sequence[Node]]


def is_zero(g: Graph, node: Node, symbols: Mapping[str, sp.Symbol]) -> bool:
    """Whether a node is proved to be identically zero. False can also mean that no proof was found."""
    if node == g.zero:
        return True
    if g.op[node] in ("const", "named", "symbol") or g.count_operations([node]) > _LARGEST:
        return False
    own = g.copy() if is_branched(g, [node]) else g
    found = branches(own, [node])
    return found is not None and all(_is_shown(own, n, symbols) for n in {b.nodes[0]: None for b in found})


def are_zero(g: Graph, nodes: Sequence[Node], symbols: Mapping[str, sp.Symbol]) -> bool:
    """Whether every node is proved to be identically zero."""
    return all(is_zero(g, n, symbols) for n in nodes)


def _is_shown(g: Graph, node: Node, symbols: Mapping[str, sp.Symbol]) -> bool:
    """Whether a node without switches is proved to be zero."""
    # Numbers first: they are quick, while SymPy can take long over nonzero expressions.
    draw = random.Random(20_011)
    names = sorted(g.symbols([node]))
    if not vanish(g, [node], [{name: draw.uniform(0.3, 1.7) for name in names} for _ in range(3)]):
        return False
    if vanishes(g, node):
        return True
    if g.tree_size(node) > _LARGEST_TREE:
        return False
    (e,) = expressions(g, [node], symbols)
    return bool(sp.simplify(e) == 0)


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

"""First integrals that are polynomials in the momenta, found from the null space of their derivatives along the flow.

Two families are searched: p_a times polynomials of degree <= 2 in the coordinates, summed over a (momentum maps such as
the vertical component M.gamma of the angular momentum), and quadratic forms in the momenta with constant coefficients
(Casimirs such as M^2 of a Lie-Poisson bracket). The results are candidates, which `invariants` checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..graph.differentiate import forward
from ..graph.evaluate import evaluate
from ..graph.graph import Node
from .equation_nodes import EquationNodes

_MOST_UNKNOWNS = 150
"""With more unknowns the search costs more than it is worth."""


def echelon(basis: Any) -> list[list[Fraction]]:
    """The basis of a null space in reduced row echelon form, with entries rounded to small fractions."""
    a = np.array(basis, dtype=float)
    used = 0
    for column in range(a.shape[1]):
        if used == len(a):
            break
        row = used + int(np.abs(a[used:, column]).argmax())
        if abs(a[row, column]) < 1e-8:
            continue
        a[[used, row]] = a[[row, used]]
        a[used] /= a[used, column]
        for other in range(len(a)):
            if other != used:
                a[other] -= a[other, column] * a[used]
        used += 1
    return [
        [Fraction(float(v)).limit_denominator(64) if abs(v) > 1e-8 else Fraction(0) for v in row] for row in a
    ]


def null_space(rows: Any) -> list[list[Fraction]]:
    """The null space of a numeric matrix in small fractions; the rows of the matrix are normalised first."""
    rows = _normalised(rows)
    if not len(rows):
        return []
    _, values, right = np.linalg.svd(rows)
    rank = _rank(values)
    return echelon(right[rank:]) if rank < rows.shape[1] else []


def _normalised(rows: Any) -> Any:
    """The nonzero rows of a matrix, each with a largest entry of 1."""
    sizes = np.abs(rows).max(axis=1)
    return rows[sizes > 0] / sizes[sizes > 0, None]


def _rank(singular_values: Any) -> int:
    return int((singular_values > 1e-9 * singular_values[:1]).sum())


def momentum_maps(eqs: EquationNodes, momenta: Sequence[Node], derivatives: Any) -> list[Node]:
    """sum_a f_a(x) p_a with f_a of degree <= 2; `derivatives(nodes, points)` gives their d/dt, by branch."""
    g, x = eqs.graph, eqs.coordinate_nodes
    powers = [g.one, *x, *(g.mul(x[i], x[j]) for i in range(len(x)) for j in range(i, len(x)))]
    return _combinations(eqs, [g.mul(f, p) for p in momenta for f in powers], derivatives)


def casimirs(eqs: EquationNodes, momenta: Sequence[Node], derivatives: Any) -> list[Node]:
    """Quadratic forms in the momenta with constant coefficients."""
    g, k = eqs.graph, len(momenta)
    squares = [g.mul(momenta[a], momenta[b]) for a in range(k) for b in range(a, k)]
    return _combinations(eqs, squares, derivatives)


def _combinations(eqs: EquationNodes, terms: list[Node], derivatives: Any) -> list[Node]:
    """The linear combinations of the terms whose derivatives vanish at random points."""
    g = eqs.graph
    if not terms or len(terms) > _MOST_UNKNOWNS:
        return []
    points = eqs.points(terms, len(terms) + 8)
    blocks = []
    for rows in derivatives(terms, points):
        block = np.array(rows).reshape(-1, len(terms))
        if _rank(np.linalg.svd(_normalised(block), compute_uv=False)) == len(terms):
            return []  # nothing is conserved on this branch
        blocks.append(block)
    found = null_space(np.concatenate(blocks))
    weighted = (zip(weights, terms, strict=True) for weights in found)
    nodes = [g.sum(g.mul(g.const(w), t) for w, t in pairs if w) for pairs in weighted]
    return [n for n in nodes if n != g.zero]


def independent(eqs: EquationNodes, known: Sequence[Node], candidates: Sequence[Node]) -> list[Node]:
    """The candidates whose gradients are linearly independent of those of `known` and of the candidates kept before."""
    g = eqs.graph
    point = eqs.points([*known, *candidates], 1)[0] if known or candidates else {}

    def slope(node: Node) -> list[float]:
        values = evaluate(g, [forward(g, [node], {v: g.one})[0] for v in eqs.state_nodes], point)
        size = max(map(abs, values), default=0.0) or 1.0
        return [v / size for v in values]

    def rank(matrix: list[list[float]]) -> int:
        return int(np.linalg.matrix_rank(np.array(matrix), tol=1e-9)) if matrix else 0

    rows = [slope(node) for node in known]
    kept = []
    # Short ones first: p_3 rather than |q|^2 p_3.
    for node in sorted(candidates, key=lambda n: g.count_operations([n])):
        if rank([*rows, slope(node)]) > rank(rows):
            rows.append(slope(node))
            kept.append(node)
    return kept

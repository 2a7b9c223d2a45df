"""Linear algebra on graph nodes: elimination with pivots chosen at a point, and LDL^T."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from .graph import Graph, Node

Matrix = list[list[Node]]
Table = Sequence[Sequence[Node]]

UNROLLED_VELOCITIES = 12
"""Mass matrices up to this size are factored in straight-line code, larger ones by a loop."""

SPARSE_SHARE, LARGEST_SPARSE = 4, 10_000
"""Larger ones too if this takes at most a quarter of the multiplications of a full matrix, and no more than these."""

RANK_THRESHOLD = Fraction(1, 10**10)
"""A pivot of redundant constraints below this fraction of the largest counts as zero."""

MASS_THRESHOLD = Fraction(1, 10**13)
"""A pivot of a mass matrix below this fraction of its diagonal entry counts as zero."""
CONSTRAINT_THRESHOLD = Fraction(1, 10**8)
"""A pivot below this fraction of its row counts as zero: the constraints do not determine the dependent velocities."""


def limit(g: Graph, scale: Node, threshold: Fraction) -> Node:
    """The size at or below which a pivot counts as zero."""
    return g.mul(g.const(threshold), g.call("abs", scale))


def entry(rows: Table, i: int, j: int) -> Node:
    """An entry of a matrix given by its rows; of a symmetric one they may be the lower triangle alone."""
    return rows[i][j] if j < len(rows[i]) else rows[j][i]


def is_triangle(rows: Table) -> bool:
    """Whether the rows are the lower triangle of a symmetric matrix."""
    return len(rows[0]) == 1


def upper(lower: Table) -> tuple[Node, ...]:
    """The upper triangle, by rows, of a symmetric matrix given by its lower triangle."""
    k = len(lower)
    return tuple(entry(lower, i, j) for i in range(k) for j in range(i, k))


def elimination_order(g: Graph, rows: Table) -> list[int] | None:
    """The order in which straight-line code eliminates the unknowns of a symmetric matrix; None: a loop is better.

    The order of least degree, in which leaves of a tree come before what carries them, is taken where it saves
    multiplications; ties keep the order given. Source: W. F. Tinney and J. W. Walker, Proc. IEEE 55 (1967) 1801-1809.
    """
    n = len(rows)
    least, order = _fill(g, rows)
    if n > UNROLLED_VELOCITIES:
        return order if 6 * SPARSE_SHARE * least <= n**3 and least <= LARGEST_SPARSE else None
    positive = all(rows[i][i] != g.zero for i in range(n))
    return order if positive and least < _fill(g, rows, range(n))[0] else list(range(n))


def _fill(g: Graph, rows: Table, given: Sequence[int] | None = None) -> tuple[int, list[int]]:
    """The multiplications of L D L^T in an order, by default that of least degree, and the order."""
    n = len(rows)
    beside = [{j for j in range(n) if j != i and entry(rows, i, j) != g.zero} for i in range(n)]
    left, count = set(range(n)), 0
    order: list[int] = []
    while left:
        i = min(left, key=lambda i: (len(beside[i]), i)) if given is None else given[len(order)]
        near = beside[i]
        for j in near:
            beside[j] |= near
            beside[j] -= {i, j}
        left.remove(i)
        order.append(i)
        count += len(near) * (len(near) + 1) // 2
    return count, order


def schur_complement(g: Graph, rows: Table, across: Table, symmetric: bool = False) -> Matrix:
    """C M^-1 B for the rows of C and the columns `across` of M^-1 B; if `symmetric`, the lower triangle alone."""
    sparse = [[(k, e) for k, e in enumerate(row) if e != g.zero] for row in rows]
    return [
        [g.sum(g.mul(e, x[k]) for k, e in row) for x in across[: i + 1 if symmetric else None]]
        for i, row in enumerate(sparse)
    ]


def diagonal_sizes(g: Graph, rows: Table, across: Table) -> list[Node]:
    """The sums of the magnitudes of the terms of the diagonal entries of C M^-1 B.

    Where B = C^T such an entry is a sum of squares, and a pivot is compared with it.
    """
    return [
        g.sum(g.call("abs", g.mul(a, b)) for a, b in zip(c, x, strict=True))
        for c, x in zip(rows, across, strict=True)
    ]


def solve_definite(
    g: Graph, rows: Table, across: Table, right: Sequence[Node]
) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """The solution of (C W C^T) y = right for the rows of C and the columns `across` of W C^T, W positive definite.

    With it come the pivots that are not constant, each with its limit.
    """
    factors = LDL(g, schur_complement(g, rows, across, symmetric=True))
    checks = [
        (pivot, limit(g, size, MASS_THRESHOLD))
        for pivot, size in zip(factors.pivots, diagonal_sizes(g, rows, across), strict=True)
        if g.constant_value(pivot) is None
    ]
    return factors.solve(right), checks


def choose_pivots(values: Sequence[Sequence[float]], tolerance: float = 1e-10) -> list[tuple[int, int]]:
    """Rows and columns of a well-conditioned square submatrix of a numeric matrix, by complete pivoting.

    Returns as many (row, column) pairs as the numerical rank; ties go to the last column and the first row.
    """
    work = np.array(values, dtype=float).reshape(len(values), -1)
    rows, columns = np.arange(work.shape[0]), np.arange(work.shape[1])
    preference = 1 + 1e-9 * columns
    least = tolerance * np.abs(work).max(initial=0.0)
    pivots: list[tuple[int, int]] = []
    while work.size:
        sizes = np.abs(work) * preference
        largest = sizes.max()
        if not largest > least:
            break
        column = int(np.flatnonzero((sizes == largest).any(axis=0))[-1])
        row = int(np.flatnonzero(sizes[:, column] == largest)[0])
        pivots.append((int(rows[row]), int(columns[column])))
        work = work - np.outer(work[:, column] / work[row, column], work[row])
        work = np.delete(np.delete(work, row, axis=0), column, axis=1)
        rows = np.delete(rows, row)
        columns, preference = np.delete(columns, column), np.delete(preference, column)
    return pivots


def solve(
    g: Graph, matrix: Matrix, right: Matrix, value: Callable[[Node], float]
) -> tuple[Matrix, list[tuple[Node, Node]]]:
    """Solve matrix @ X = right on the graph by elimination, choosing rows by the values of the pivots at a point.

    Returns X and the nonconstant pivots, each with its limit (a fraction of the size of its row).
    Raises ZeroDivisionError if the matrix is singular at that point.
    """
    n = len(matrix)
    a = [list(row) for row in matrix]
    b = [list(row) for row in right]
    scale = [g.sum(g.call("abs", e) for e in [*r, *s]) for r, s in zip(a, b, strict=True)]
    pivots: list[tuple[Node, Node]] = []
    for k in range(n):
        candidates = [(abs(value(a[r][k])), r) for r in range(k, n) if a[r][k] != g.zero]
        largest = max((v for v, _ in candidates), default=0)
        if largest == 0:
            raise ZeroDivisionError("singular matrix")
        # A constant pivot of reasonable size is never singular, wherever the run goes.
        constants = [r for v, r in candidates if g.constant_value(a[r][k]) is not None and v > 1e-3 * largest]
        row = constants[0] if constants else next(r for v, r in candidates if v > 0.5 * largest)
        a[k], a[row], b[k], b[row] = a[row], a[k], b[row], b[k]
        scale[k], scale[row] = scale[row], scale[k]
        pivot = a[k][k]
        if g.constant_value(pivot) is None:
            pivots.append((pivot, limit(g, scale[k], CONSTRAINT_THRESHOLD)))
        for r in range(k + 1, n):
            if a[r][k] == g.zero:
                continue
            factor = g.div(a[r][k], pivot)
            a[r] = [
                g.sub(x, g.mul(factor, y)) if j > k else g.zero
                for j, (x, y) in enumerate(zip(a[r], a[k], strict=True))
            ]
            b[r] = [g.sub(x, g.mul(factor, y)) for x, y in zip(b[r], b[k], strict=True)]
    for k in reversed(range(n)):
        for j in range(len(b[k])):
            rest = b[k][j]
            for c in range(k + 1, n):
                rest = g.sub(rest, g.mul(a[k][c], b[c][j]))
            b[k][j] = g.div(rest, a[k][k])
    return b, pivots


def solve_whole(g: Graph, matrix: Matrix, right: Matrix) -> tuple[Matrix, list[tuple[Node, Node]]]:
    """Solve matrix @ X = right on the graph for a matrix that is regular, though its entries may vanish anywhere.

    Only constant entries are pivots. What they leave is solved by Cramer's rule, from four rows on by normal equations.
    Returns X and the divisors that are not constant, each with its limit.
    """
    a, b = [list(row) for row in matrix], [list(row) for row in right]
    scale = [g.sum(g.call("abs", e) for e in row) for row in a]
    rows, columns = list(range(len(a))), list(range(len(a)))
    order: list[tuple[int, int]] = []
    while (found := _constant_entry(g, a, rows, columns)) is not None:
        r, c = found
        order.append(found)
        rows.remove(r)
        columns.remove(c)
        for i in rows:
            if a[i][c] != g.zero:
                factor = g.div(a[i][c], a[r][c])
                a[i] = [g.sub(x, g.mul(factor, y)) for x, y in zip(a[i], a[r], strict=True)]
                b[i] = [g.sub(x, g.mul(factor, y)) for x, y in zip(b[i], b[r], strict=True)]
    block, rest = [[a[r][c] for c in columns] for r in rows], [b[r] for r in rows]
    if len(block) <= 3:
        solved, checks = _by_cramer(g, block, rest, [scale[r] for r in rows])
    else:
        turned = [list(column) for column in zip(*block, strict=True)]
        factors = LDL(g, [[g.dot(turned[i], turned[j]) for j in range(i + 1)] for i in range(len(turned))])
        moved = [factors.solve([g.dot(row, side) for row in turned]) for side in zip(*rest, strict=True)]
        solved, checks = [list(row) for row in zip(*moved, strict=True)], factors.checks()
    solution: Matrix = [[] for _ in a]
    for c, values in zip(columns, solved, strict=True):
        solution[c] = values
    known = list(columns)
    for r, c in reversed(order):
        solution[c] = [
            g.div(g.sub(e, g.dot([a[r][k] for k in known], [solution[k][j] for k in known])), a[r][c])
            for j, e in enumerate(b[r])
        ]
        known.append(c)
    return solution, checks


def _constant_entry(
    g: Graph, a: Matrix, rows: Sequence[int], columns: Sequence[int]
) -> tuple[int, int] | None:
    """A number that is not small beside the others, in the row with the fewest entries."""
    found = []
    for r in rows:
        numbers = {c: g.constant_value(a[r][c]) for c in columns if a[r][c] != g.zero}
        largest = max((abs(v) for v in numbers.values() if v is not None), default=0)
        found += [
            (len(numbers), r, c)
            for c, v in numbers.items()
            if v is not None and abs(v) > Fraction(1, 1000) * Fraction(largest)
        ]
    return min(found)[1:] if found else None


def _by_cramer(
    g: Graph, matrix: Matrix, right: Matrix, scale: Sequence[Node]
) -> tuple[Matrix, list[tuple[Node, Node]]]:
    every = tuple(range(len(matrix)))

    def minor(rows: Sequence[int], columns: Sequence[int]) -> Node:
        if not rows:
            return g.one
        total = g.zero
        for k, c in enumerate(columns):
            term = g.mul(matrix[rows[0]][c], minor(rows[1:], (*columns[:k], *columns[k + 1 :])))
            total = g.sub(total, term) if k % 2 else g.add(total, term)
        return total

    if not every:
        return [], []
    determinant = minor(every, every)
    solution: Matrix = []
    for c in every:
        cofactors = [minor((*every[:r], *every[r + 1 :]), (*every[:c], *every[c + 1 :])) for r in every]
        signed = [g.neg(m) if (r + c) % 2 else m for r, m in zip(every, cofactors, strict=True)]
        solution.append([g.div(g.dot(signed, side), determinant) for side in zip(*right, strict=True)])
    size = g.one
    for s in scale:
        size = g.mul(size, s)
    if g.constant_value(determinant) is not None:
        return solution, []
    return solution, [(determinant, limit(g, size, CONSTRAINT_THRESHOLD))]


def eliminate(
    g: Graph,
    matrix: Matrix,
    right: Sequence[Node],
    scales: Sequence[Node],
    pivoting: int,
    guarded: bool = False,
) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """Solve matrix @ x = right by straight-line code; returns x and the nonconstant pivots with their limits.

    In the columns from `pivoting` on, the emitted code pivots at run time: it exchanges two rows if the lower one has
    the larger entry relative to the `scales` of the rows. A pivot below a fraction of its scale counts as zero; with
    `guarded` the unknown of such a pivot is set to zero.
    """
    n = len(matrix)
    a, b, scale = [list(row) for row in matrix], list(right), list(scales)
    pivots: list[tuple[Node, Node]] = []
    for k in range(n):
        for r in range(k + 1, n) if k >= pivoting else ():
            if a[r][k] == g.zero:
                continue
            ours, theirs = (g.mul(g.call("abs", a[i][k]), scale[j]) for i, j in ((k, r), (r, k)))
            exchange = g.relation("lt", ours, theirs)

            def swapped(x: Node, y: Node, exchange: Node = exchange) -> tuple[Node, Node]:
                return g.select(exchange, y, x), g.select(exchange, x, y)

            for j in range(k, n):
                a[k][j], a[r][j] = swapped(a[k][j], a[r][j])
            b[k], b[r] = swapped(b[k], b[r])
            scale[k], scale[r] = swapped(scale[k], scale[r])
        pivot = a[k][k]
        if g.constant_value(pivot) is None:
            pivots.append((pivot, limit(g, scale[k], MASS_THRESHOLD)))
        for r in range(k + 1, n):
            if a[r][k] == g.zero:
                continue
            factor = _quotient(g, a[r][k], pivot, scale[k], guarded)
            for j in range(k + 1, n):
                a[r][j] = g.sub(a[r][j], g.mul(factor, a[k][j]))
            a[r][k] = g.zero
            b[r] = g.sub(b[r], g.mul(factor, b[k]))
    x = list(b)
    for k in reversed(range(n)):
        for c in range(k + 1, n):
            x[k] = g.sub(x[k], g.mul(a[k][c], x[c]))
        x[k] = _quotient(g, x[k], a[k][k], scale[k], guarded)
    return x, pivots


def _quotient(g: Graph, above: Node, pivot: Node, scale: Node, guarded: bool) -> Node:
    if not guarded or g.constant_value(pivot) is not None:
        return g.div(above, pivot)
    small = g.relation("le", g.call("abs", pivot), limit(g, scale, MASS_THRESHOLD))
    return g.select(small, g.zero, g.div(above, g.select(small, g.one, pivot)))


class LDL:
    """M = L D L^T by straight-line code, for a symmetric matrix given by its lower triangle (rows).

    The unknowns are eliminated in the `order`; zeros that are left are not computed with. In that order, `lower` and
    `pivots` are the entries of L and D, `scaled` those of L D, all below the diagonal.
    """

    def __init__(self, g: Graph, rows: Table, order: Sequence[int] | None = None) -> None:
        self.graph = g
        self.order = range(len(rows)) if order is None else order
        lower = [[entry(rows, i, j) for j in self.order[: a + 1]] for a, i in enumerate(self.order)]
        n = len(lower)
        self.lower: Matrix = [[g.zero] * i for i in range(n)]
        self.pivots: list[Node] = []
        self.diagonal = [lower[i][i] for i in range(n)]
        self.scaled: Matrix = []
        self.filled: list[list[int]] = []  # the columns of L that are not zero, by row
        for i in range(n):
            scaled = [g.zero] * i
            self.scaled.append(scaled)
            for j in range(i):
                value = lower[i][j]
                for k in self.filled[j]:
                    value = g.sub(value, g.mul(scaled[k], self.lower[j][k]))
                scaled[j] = value
                self.lower[i][j] = g.div(value, self.pivots[j])
            self.filled.append([j for j in range(i) if self.lower[i][j] != g.zero])
            value = lower[i][i]
            for k in self.filled[i]:
                value = g.sub(value, g.mul(scaled[k], self.lower[i][k]))
            self.pivots.append(value)

    def checks(self, sizes: Sequence[Node] | None = None) -> list[tuple[Node, Node]]:
        """Pivots with their limits, fractions of the diagonal entries or of the `sizes` of the rows.

        A pivot that is the diagonal entry itself is not a difference: its limit is 0.
        """
        g = self.graph
        scales = self.diagonal if sizes is None else [sizes[i] for i in self.order]
        return [
            (pivot, g.zero if pivot == diagonal else limit(g, scale, MASS_THRESHOLD))
            for pivot, diagonal, scale in zip(self.pivots, self.diagonal, scales, strict=True)
            if g.constant_value(pivot) is None
        ]

    def solve(self, right: Sequence[Node]) -> list[Node]:
        """The solution of M x = right."""
        y = self.forward([right[i] for i in self.order])
        x = self.backward([self.graph.div(v, d) for v, d in zip(y, self.pivots, strict=True)])
        return [v for _, v in sorted(zip(self.order, x, strict=True))]

    def forward(self, right: Sequence[Node]) -> list[Node]:
        """The solution of L y = right, or of its first rows."""
        g, y = self.graph, list(right)
        for i, columns in enumerate(self.filled[: len(y)]):
            for j in columns:
                y[i] = g.sub(y[i], g.mul(self.lower[i][j], y[j]))
        return y

    def backward(self, right: Sequence[Node]) -> list[Node]:
        """The solution of L^T x = right."""
        g, x = self.graph, list(right)
        below: list[list[int]] = [[] for _ in x]
        for j, columns in enumerate(self.filled):
            for i in columns:
                below[i].append(j)
        for i in reversed(range(len(x))):
            for j in below[i]:
                x[i] = g.sub(x[i], g.mul(self.lower[j][i], x[j]))
        return x

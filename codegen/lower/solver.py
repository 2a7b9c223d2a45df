"""Linear systems of the dynamics: M theta' = f, momenta, and the rows of friction forces and multipliers.

Small ones are solved in nodes, large ones by loops of the emitted code (`Solve`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..derive.equation_nodes import Friction, Implicit
from ..derive.friction import FrictionRows
from ..graph.differentiate import forward
from ..graph.graph import Graph, Node
from ..graph.linear import (
    LDL,
    RANK_THRESHOLD,
    UNROLLED_VELOCITIES,
    Table,
    diagonal_sizes,
    eliminate,
    elimination_order,
    entry,
    is_triangle,
    schur_complement,
    upper,
)
from .lowered import Solve


class Mass:
    """M, factored once for all right-hand sides: in nodes, or by the emitted loop if it is large.

    `rows` are the lower triangle of M, all of its rows if it need not be symmetric (then it is reduced in nodes, with
    rows exchanged by the emitted code), or none for the unit matrix. `name` is that of the factors.
    """

    def __init__(self, g: Graph, rows: Table, name: str = "mass") -> None:
        self.graph, self.name = g, name
        self.factors: LDL | None = None
        self.upper: tuple[Node, ...] = ()
        self.square: Table = ()
        if rows and not is_triangle(rows):
            self.square = rows
        elif rows and (order := elimination_order(g, rows)) is not None:
            self.factors = LDL(g, rows, order)
        elif rows:
            self.upper = upper(rows)

    def checks(self) -> list[tuple[Node, Node]]:
        if self.square:
            return self._eliminated([self.graph.zero] * len(self.square))[1]
        return self.factors.checks() if self.factors else []

    def _eliminated(self, right: Sequence[Node]) -> tuple[list[Node], list[tuple[Node, Node]]]:
        g, rows = self.graph, [list(row) for row in self.square]
        return eliminate(g, rows, right, [g.sum(g.call("abs", n) for n in row) for row in rows], 0)

    def solve(self, right: Sequence[Node], name: str, solves: list[Solve]) -> list[Node]:
        """M^-1 right; a solution by the loop is appended to `solves`, with the symbols `cg_<name>_<i>` as results."""
        if self.factors is not None:
            return self.factors.solve(right)
        if self.square:
            return self._eliminated(right)[0]
        if not self.upper:
            return list(right)
        return solve_by_loop(self.graph, self.name, self.upper, right, name, solves)


def solve_by_loop(
    g: Graph,
    factors: str,
    matrix: tuple[Node, ...],
    right: Sequence[Node],
    name: str,
    solves: list[Solve],
    rank: int = 0,
) -> list[Node]:
    """The symbols `cg_<name>_<i>` of a solution, which is appended to `solves`; a matrix is factored only once.

    With a `rank` it is the solution of least norm, and its pivots are the symbols `cg_<name>_pivot_<i>`.
    """
    results = tuple(g.symbol(f"cg_{name}_{i}") for i in range(len(right)))
    known = any(solve.factors == factors for solve in solves)
    pivots = tuple(g.symbol(f"cg_{name}_pivot_{i}") for i in range(rank + 1)) if rank and not known else ()
    solves.append(Solve(() if known else matrix, tuple(right), results, factors, pivots))
    return list(results)


def rank_checks(g: Graph, solves: Sequence[Solve]) -> list[tuple[Node, Node]]:
    """The smallest pivot of each matrix of a lower rank, and the fraction of the largest below which that falls."""
    threshold = g.const(RANK_THRESHOLD)
    return [(s.pivots[-2], g.mul(threshold, s.pivots[0])) for s in solves if s.pivots]


def momentum_solve(implicit: Implicit) -> Solve:
    """The linear system that a kernel has to solve before it can use eta."""
    return Solve(upper(implicit.mass), implicit.right, implicit.unknown, "momenta")


def momentum_variation(
    g: Graph, implicit: Implicit, direction: Mapping[Node, Node], solves: list[Solve]
) -> dict[Node, Node]:
    """d eta along a direction in the states: M d eta = d(y - p_0) - dM eta, appended to `solves`."""
    k = len(implicit.unknown)
    entries = upper(implicit.mass)
    moved = forward(g, [*implicit.right, *entries], direction)
    slopes = dict(zip(entries, moved[k:], strict=True))
    right = reduced(g, moved[:k], implicit.mass, slopes, implicit.unknown)
    results = solve_by_loop(g, "momenta", entries, right, "d", solves)
    return dict(zip(implicit.unknown, results, strict=True))


def reduced(
    g: Graph, right: Sequence[Node], mass: Table, slopes: Mapping[Node, Node], solution: Sequence[Node]
) -> list[Node]:
    """db - dM a for M a = b: the right-hand side that gives da, with dM by the entries of M."""
    k = len(solution)
    return [
        g.sub(d, g.dot([slopes[entry(mass, i, j)] for j in range(k)], solution)) for i, d in enumerate(right)
    ]


@dataclass(frozen=True)
class Coupling:
    """The unknowns r of M theta' = f + B r, C theta' + D r = e: (C M^-1 B + D) r = e - C M^-1 f.

    `across` are the columns of M^-1 B, `matrix` is C M^-1 B + D, `scales` are the magnitudes of its diagonal entries.
    """

    rows: FrictionRows
    across: list[list[Node]]
    matrix: list[list[Node]]
    scales: list[Node]
    pivoting: int
    rank: int

    @classmethod
    def of(cls, g: Graph, friction: Friction, rows: FrictionRows, across: list[list[Node]]) -> Coupling:
        product = schur_complement(g, rows.left, across)
        matrix = [
            [g.add(a, d) for a, d in zip(row, own, strict=True)]
            for row, own in zip(product, rows.own, strict=True)
        ]
        sizes = diagonal_sizes(g, rows.left, across)
        scales = [g.add(size, own[i]) for i, (size, own) in enumerate(zip(sizes, rows.own, strict=True))]
        # Constraints come first: A M^-1 A^T needs no pivoting, nor does the rest unless friction enters N.
        pivoting = rows.first if friction.implicit else len(matrix)
        return cls(rows, across, matrix, scales, pivoting, friction.rank)

    def solve(
        self, g: Graph, free: Sequence[Node], right: Sequence[Node], name: str, solves: list[Solve]
    ) -> tuple[list[Node], list[tuple[Node, Node]]]:
        """r and the pivots, given M^-1 f = free; many or redundant constraints are solved by a loop."""
        rest = [g.sub(e, g.dot(c, free)) for c, e in zip(self.rows.left, right, strict=True)]
        count = len(rest)
        large = count > UNROLLED_VELOCITIES and self.rows.first == count  # A M^-1 A^T, symmetric
        if large and not self.rank and (order := elimination_order(g, self.matrix)) is not None:
            factors = LDL(g, self.matrix, order)
            return factors.solve(rest), factors.checks(self.scales)
        if self.rank or large:
            found = solve_by_loop(g, "constraints", upper(self.matrix), rest, name, solves, self.rank)
            return found, rank_checks(g, solves)
        return eliminate(g, self.matrix, rest, self.scales, self.pivoting)

    def add(self, g: Graph, free: Sequence[Node], unknown: Sequence[Node]) -> list[Node]:
        """theta' = M^-1 f + M^-1 B r."""
        return [
            g.add(a, g.sum(g.mul(r, column[i]) for r, column in zip(unknown, self.across, strict=True)))
            for i, a in enumerate(free)
        ]

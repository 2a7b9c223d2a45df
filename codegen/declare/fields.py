"""Vector fields X_0, X_a of a system, their Lie brackets and structure functions, on the graph.

X_a = xi_a^i d/dx_i,  X_0 = d/dt + xi_0^i d/dx_i,  [X_a, X_b] = c_ab^i X_i,  [X_0, X_b] = c_0b^i X_i.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.branches import branches, is_branched
from ..graph.differentiate import forward, partials
from ..graph.evaluate import evaluate
from ..graph.graph import Graph, Node
from ..graph.identities import vanish
from ..graph.linear import choose_pivots, solve
from ..graph.zero import is_zero
from .symbols import DeclarationError

if TYPE_CHECKING:
    from .declaration import Declaration
    from .entry import Entry

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Fields:
    """The vector fields of a system: `along[a][i]` is xi_a^i, `drift[i]` is xi_0^i."""

    coordinates: tuple[Node, ...]
    time: Node
    drift: tuple[Node, ...]
    along: tuple[tuple[Node, ...], ...]

    def are_rates(self) -> bool:
        """Whether the velocities are the coordinate rates: X_a = d/dx_a, no drift."""
        # In every graph the node 0 is the constant 0 and the node 1 the constant 1.
        n = len(self.coordinates)
        return len(self.along) == n and all(
            self.drift[i] == 0 and all(self.along[a][i] == (1 if a == i else 0) for a in range(n))
            for i in range(n)
        )

    @property
    def components(self) -> list[Node]:
        """Every component, those of X_0 first."""
        return [n for field in (self.drift, *self.along) for n in field]

    def autonomous(self, g: Graph) -> bool:
        """Whether X_0 = d/dt and no component depends on time."""
        return all(n == g.zero for n in self.drift) and not g.depends_on(self.components, [self.time])

    def velocity(self, g: Graph, eta: Sequence[Node]) -> list[Node]:
        """dx_i/dt = xi_0^i + xi_a^i eta_a."""
        return [
            g.add(self.drift[i], g.dot([field[i] for field in self.along], eta))
            for i in range(len(self.coordinates))
        ]

    def flow(self, g: Graph, rates: Sequence[Node]) -> dict[Node, Node]:
        """The direction of a motion: dx/dt along x, 1 along t."""
        return {**dict(zip(self.coordinates, rates, strict=True)), self.time: g.one}

    def apply(self, g: Graph, a: int, functions: Sequence[Node]) -> list[Node]:
        """X_a f for each function f; a = -1 is X_0."""
        return forward(g, functions, self.direction(a, g))

    def direction(self, a: int, g: Graph) -> dict[Node, Node]:
        components = self.drift if a < 0 else self.along[a]
        moves = dict(zip(self.coordinates, components, strict=True))
        if a < 0:
            moves[self.time] = g.one
        return moves

    def bracket(self, g: Graph, a: int, b: int) -> list[Node]:
        """The components of [X_a, X_b]; a = -1 is X_0."""
        first = self.drift if a < 0 else self.along[a]
        second = self.along[b]
        return [g.sub(u, v) for u, v in zip(self.apply(g, a, second), self.apply(g, b, first), strict=True)]

    def brackets(self, g: Graph) -> dict[tuple[int, int], list[Node]]:
        """Every bracket that is not identically zero, for a < b and a = -1 (X_0)."""
        if all(g.op[n] in ("const", "named") for field in (self.drift, *self.along) for n in field):
            return {}
        k = len(self.along)
        found = {}
        every = (*self.along, self.drift)  # X_0 last: index -1
        moved = [{x for x, n in zip(self.coordinates, field, strict=True) if n != g.zero} for field in every]
        moved[-1].add(self.time)
        contained = [{n for n in g.reachable(field) if g.op[n] == "symbol"} for field in every]
        for a in range(-1, k):
            for b in range(a + 1, k):
                if not (moved[a] & contained[b] or moved[b] & contained[a]):
                    continue
                components = self.bracket(g, a, b)
                if any(n != g.zero for n in components):
                    found[a, b] = components
        return found

    def matrix(self) -> list[list[Node]]:
        """xi as a matrix: one row per coordinate, one column per velocity."""
        return [[field[i] for field in self.along] for i in range(len(self.coordinates))]


def affine(
    declared: Declaration, g: Graph, entries: Sequence[Entry], nodes: Sequence[Node]
) -> tuple[list[Node], list[list[Node]]]:
    """Offsets and rows of nodes that are affine in the velocities, node = offset + row . eta.

    Raises DeclarationError for a node that is not.
    """
    eta = [g.symbol(v.name) for v in declared.velocities]
    zeros = dict.fromkeys(eta, g.zero)
    columns = partials(g, nodes, eta)
    rows = [[column[i] for column in columns] for i in range(len(nodes))]
    still: list[list[Node]] = []
    for entry, row in zip(entries, rows, strict=True):
        # A node can be affine only after expansion, so test whether its slopes depend on the velocities.
        try:
            still.append(g.substitute(row, zeros))
            changing = [
                v
                for v, a, b in zip(declared.velocities, row, still[-1], strict=True)
                if not is_zero(g, g.sub(a, b), declared.symbols)
            ]
        except ZeroDivisionError:  # the slope is undefined at rest, as with sqrt(v^2 + w^2)
            changing = list(declared.velocities)
        if changing:
            raise DeclarationError(
                f"{entry} is not affine in the velocities (its slope along {changing[0]} "
                "depends on the velocities); for nonlinear constraints give a parametrization"
            )
    return g.substitute(nodes, zeros), still


def numeric_matrix(g: Graph, matrix: Sequence[Sequence[Node]], point: Point) -> list[list[float]]:
    """The values of a matrix of nodes as floats."""
    columns = len(matrix[0]) if matrix else 0
    flat = evaluate(g, [n for row in matrix for n in row], point)
    return [flat[i * columns : (i + 1) * columns] for i in range(len(matrix))]


def pointwise_rank(g: Graph, fields: Fields, point: Point) -> int:
    """The number of independent directions that the fields X_a span at a point."""
    return len(choose_pivots(numeric_matrix(g, fields.matrix(), point)))


def structure(
    g: Graph,
    fields: Fields,
    points: Sequence[Point],
    shown_zero: Callable[[Graph, Node], bool],
    simplify: Callable[[Graph, Node], Node],
) -> dict[tuple[int, int], list[tuple[int, Node]]]:
    """The structure functions c_ab^i for a < b and a = -1, as lists of (i, node) without zeros.

    A function with the same rational value at several points is replaced by that constant if they can be shown to be
    equal (`shown_zero` of the difference); any other is passed to `simplify`.
    """
    brackets = fields.brackets(g)
    if not brackets:
        return {}
    k = len(fields.along)
    if pointwise_rank(g, fields, points[0]) < k:
        return _constant_structure(g, fields, brackets, points, shown_zero)
    pairs = list(brackets)
    solution = solve_for_components(
        g,
        fields.matrix(),
        [[brackets[p][i] for p in pairs] for i in range(len(fields.coordinates))],
        points[0],
    )
    result: dict[tuple[int, int], list[tuple[int, Node]]] = {}
    for j, pair in enumerate(pairs):
        column = [solution[i][j] for i in range(k)]
        constants = [_guess(g, n, points) for n in column]
        if None not in constants and _combines(g, fields, brackets[pair], constants, shown_zero):
            column = [g.const(c) for c in constants if c is not None]
        else:
            column = recognised(g, column, points, shown_zero, simplify)
        entries = [(i, node) for i, node in enumerate(column) if node != g.zero]
        if entries:
            result[pair] = entries
    return result


def solve_for_components(
    g: Graph, matrix: Sequence[Sequence[Node]], right: Sequence[Sequence[Node]], point: Point
) -> list[list[Node]]:
    """Solve matrix @ X = right for a matrix of full column rank, with the rows that are best conditioned at the point.

    If these rows could be singular on some branch, the normal equations, which are regular on all, are solved instead.
    """
    rows = sorted(r for r, _ in choose_pivots(numeric_matrix(g, matrix, point)))
    square, values = [list(matrix[r]) for r in rows], [list(right[r]) for r in rows]
    solution, pivots = solve(g, square, values, lambda n: evaluate(g, [n], point)[0])
    if is_branched(g, [n for row in matrix for n in row]):
        own = g.copy()
        found = branches(own, [p for p, _ in pivots])
        if found is None or any(vanish(own, [n], [point]) for b in found for n in b.nodes):
            turned = list(zip(*matrix, strict=True))
            columns = list(zip(*right, strict=True))
            square = [[g.dot(a, b) for b in turned] for a in turned]
            values = [[g.dot(a, c) for c in columns] for a in turned]
            solution, _ = solve(g, square, values, lambda n: evaluate(g, [n], point)[0])
    return solution


def _constant_combination(
    g: Graph, fields: Fields, components: Sequence[Node], points: Sequence[Point]
) -> Any:
    """Numbers c with components = c_i X_i at every point; None if there are none."""
    matrix = np.array([row for p in points for row in numeric_matrix(g, fields.matrix(), p)])
    right = np.array([v for p in points for v in evaluate(g, components, p)])
    solution, _, rank, _ = np.linalg.lstsq(matrix, right, rcond=1e-10)
    residual = np.abs(matrix @ solution - right).max()
    return solution if rank == len(fields.along) and residual <= 1e-9 * (1 + np.abs(right).max()) else None


def _constant_structure(
    g: Graph,
    fields: Fields,
    brackets: dict[tuple[int, int], list[Node]],
    points: Sequence[Point],
    shown_zero: Callable[[Graph, Node], bool],
) -> dict[tuple[int, int], list[tuple[int, Node]]]:
    """Structure constants of fields that are linearly dependent at each point, but not with constant coefficients."""
    result: dict[tuple[int, int], list[tuple[int, Node]]] = {}
    for pair, components in brackets.items():
        numbers = _constant_combination(g, fields, components, points)
        assert numbers is not None, "checked when the system was created"
        exact = [Fraction(float(v)).limit_denominator(5040) for v in numbers]
        if not _combines(g, fields, components, exact, shown_zero):
            raise ArithmeticError(f"the structure constants {numbers} could not be verified exactly")
        entries = [(i, g.const(v)) for i, v in enumerate(exact) if v]
        if entries:
            result[pair] = entries
    return result


def _combines(
    g: Graph,
    fields: Fields,
    components: Sequence[Node],
    constants: Sequence[Fraction | None],
    shown_zero: Callable[[Graph, Node], bool],
) -> bool:
    """Whether the components can be shown to equal constants_i X_i."""
    for s, component in enumerate(components):
        terms = [g.mul(g.const(c), fields.along[i][s]) for i, c in enumerate(constants) if c]
        if not shown_zero(g, g.sub(component, g.sum(terms))):
            return False
    return True


def recognised(
    g: Graph,
    nodes: Sequence[Node],
    points: Sequence[Point],
    shown_zero: Callable[[Graph, Node], bool],
    simplify: Callable[[Graph, Node], Node],
) -> list[Node]:
    """The nodes, with those shown to be rational constants replaced by them and the others simplified."""
    result = []
    for node in nodes:
        guess = _guess(g, node, points)
        constant = None if guess is None else g.const(guess)
        known = constant is not None and shown_zero(g, g.sub(node, constant))
        result.append(constant if known and constant is not None else simplify(g, node))
    return result


def _guess(g: Graph, node: Node, points: Sequence[Point]) -> Fraction | None:
    """The rational constant that a node might equal, its value at all of the points; None if there is none."""
    values = [evaluate(g, [node], p)[0] for p in points]
    guess = Fraction(round(values[0] * 5040), 5040)
    return guess if all(abs(v - guess) < 1e-9 * (1 + abs(guess)) for v in values) else None

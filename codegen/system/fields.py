"""Vector fields X_0, X_a of a system and their Lie brackets, on the graph.

X_a = xi_a^i d/dx_i,  X_0 = d/dt + xi_0^i d/dx_i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..declare.declaration import Declaration
from ..graph.differentiate import forward, partials
from ..graph.evaluate import evaluate, numeric_matrix
from ..graph.graph import Graph, Node
from ..graph.linear import choose_pivots, solve
from ..identities.branches import branches, is_branched
from ..identities.identities import vanish
from ..identities.zero import are_zero, is_zero
from ..symbols.place import Entry
from ..symbols.symbols import DeclarationError

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Fields:
    """The vector fields of a system: `along[a][i]` is xi_a^i, `drift[i]` is xi_0^i.

    `driven` maps the inputs whose rates enter the equations to these rates, which are inputs too: they are functions of
    the time, so X_0 = d/dt + u' d/du + u'' d/du' + xi_0^i d/dx_i.
    """

    coordinates: tuple[Node, ...]
    time: Node
    drift: tuple[Node, ...]
    along: tuple[tuple[Node, ...], ...]
    driven: Mapping[Node, Node]

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
        """Whether X_0 has no drift and no component depends on time, or on an input that moves."""
        moving = [self.time, *self.driven]
        return all(n == g.zero for n in self.drift) and not g.depends_on(self.components, moving)

    def velocity(self, g: Graph, eta: Sequence[Node]) -> list[Node]:
        """dx_i/dt = xi_0^i + xi_a^i eta_a."""
        return [g.add(d, g.dot(row, eta)) for d, row in zip(self.drift, self.matrix(), strict=True)]

    def flow(self, g: Graph, rates: Sequence[Node]) -> dict[Node, Node]:
        """The direction of a motion: dx/dt along x, 1 along t, and the rates of inputs."""
        return {**dict(zip(self.coordinates, rates, strict=True)), **self.clock(g)}

    def clock(self, g: Graph) -> dict[Node, Node]:
        """The direction in which time passes: 1 along t, and the rates of inputs."""
        return {self.time: g.one, **self.driven}

    def apply(self, g: Graph, a: int, functions: Sequence[Node]) -> list[Node]:
        """X_a f for each function f; a = -1 is X_0."""
        return forward(g, functions, self.direction(a, g))

    def direction(self, a: int, g: Graph) -> dict[Node, Node]:
        """The direction of X_a; a = -1 is X_0."""
        if a < 0:
            return self.flow(g, self.drift)
        return dict(zip(self.coordinates, self.along[a], strict=True))

    def bracket(self, g: Graph, a: int, b: int) -> list[Node]:
        """The components of [X_a, X_b]; a = -1 is X_0."""
        first = self.drift if a < 0 else self.along[a]
        moved = zip(self.apply(g, a, self.along[b]), self.apply(g, b, first), strict=True)
        return [g.sub(u, v) for u, v in moved]

    def brackets(self, g: Graph) -> dict[tuple[int, int], list[Node]]:
        """Every bracket that is not identically zero, for a < b and a = -1 (X_0)."""
        if all(g.op[n] in ("const", "named") for n in self.components):
            return {}
        k = len(self.along)
        found = {}
        every = (*self.along, self.drift)  # X_0 last: index -1
        moved = [{x for x, n in zip(self.coordinates, field, strict=True) if n != g.zero} for field in every]
        moved[-1].update((self.time, *self.driven))
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
                if g.depends_on([a], eta) and not is_zero(g, g.sub(a, b), declared.symbols)
            ]
        except ZeroDivisionError:  # the slope is undefined at rest, as with sqrt(v^2 + w^2)
            changing = list(declared.velocities)
        if changing:
            advice = (
                "; for nonlinear constraints give a parametrization"
                if entry.argument == "constraints"
                else ""
            )
            raise DeclarationError(
                f"{entry} is not affine in the velocities (its slope along {changing[0]} depends on the "
                f"velocities){advice}"
            )
    return g.substitute(nodes, zeros), still


def are_constant(
    g: Graph, slopes: Sequence[Node], variables: Sequence[Node], symbols: Mapping[str, Any]
) -> bool:
    """Whether slopes do not depend on the variables, so that what they belong to is affine in these."""
    if not g.depends_on(slopes, variables):
        return True
    try:
        still = g.substitute(slopes, dict.fromkeys(variables, g.zero))
    except ZeroDivisionError:  # undefined where the variables are zero, as with sqrt(v^2 + w^2)
        return False
    return are_zero(g, [g.sub(a, b) for a, b in zip(slopes, still, strict=True)], symbols)


def pointwise_rank(g: Graph, fields: Fields, point: Point) -> int:
    """The number of independent directions that the fields X_a span at a point."""
    return len(choose_pivots(numeric_matrix(g, fields.matrix(), point)))


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

"""Accelerations as nodes: solve M theta' = f, together with friction forces and multipliers if there are contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..derive.friction import Friction, Rows, friction_rows
from ..graph.differentiate import forward
from ..graph.graph import Graph, Node
from ..graph.linear import LDL, UNROLLED_VELOCITIES, eliminate
from .program import Solve

if TYPE_CHECKING:
    from ..derive.equation_nodes import EquationNodes
    from ..derive.implicit import Implicit


class Mass:
    """M, factored once for all right-hand sides: in nodes, or by the emitted loop if it is large."""

    def __init__(self, eqs: EquationNodes) -> None:
        k = len(eqs.force)
        self.graph = eqs.graph
        self.factors: LDL | None = None
        self.upper: tuple[Node, ...] = ()
        if eqs.mass and k <= UNROLLED_VELOCITIES:
            self.factors = LDL(eqs.graph, [list(row) for row in eqs.mass])
        elif eqs.mass:
            self.upper = upper(eqs.mass)

    def checks(self) -> list[tuple[Node, Node]]:
        return self.factors.checks() if self.factors else []

    def solve(self, right: Sequence[Node], name: str, solves: list[Solve]) -> list[Node]:
        """M^-1 right; a solution by the loop is appended to `solves`, with the symbols `cg_<name>_<i>` as results."""
        if self.factors is not None:
            return self.factors.solve(right)
        if not self.upper:
            return list(right)
        results = tuple(self.graph.symbol(f"cg_{name}_{i}") for i in range(len(right)))
        known = any(solve.factors == "mass" for solve in solves)
        solves.append(Solve(() if known else self.upper, tuple(right), results))
        return list(results)


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
    slope = dict(zip(entries, moved[k:], strict=True))
    right = [
        g.sub(d, g.dot([slope[entry(implicit.mass, i, j)] for j in range(k)], implicit.unknown))
        for i, d in enumerate(moved[:k])
    ]
    results = tuple(g.symbol(f"cg_d_{i}") for i in range(k))
    solves.append(Solve((), tuple(right), results, "momenta"))
    return dict(zip(implicit.unknown, results, strict=True))


def entry(lower: Sequence[Sequence[Node]], i: int, j: int) -> Node:
    """An entry of a symmetric matrix given by its lower triangle."""
    return lower[max(i, j)][min(i, j)]


def upper(lower: Sequence[Sequence[Node]]) -> tuple[Node, ...]:
    """The upper triangle, by rows, of a symmetric matrix given by its lower triangle."""
    k = len(lower)
    return tuple(entry(lower, i, j) for i in range(k) for j in range(i, k))


@dataclass(frozen=True)
class Coupling:
    """The unknowns r of M theta' = f + B r, C theta' + D r = e: (C M^-1 B + D) r = e - C M^-1 f.

    `across` are the columns of M^-1 B, `matrix` is C M^-1 B + D, `scales` are the magnitudes of its diagonal entries.
    """

    rows: Rows
    across: list[list[Node]]
    matrix: list[list[Node]]
    scales: list[Node]
    pivoting: int

    @classmethod
    def of(cls, g: Graph, friction: Friction, rows: Rows, across: list[list[Node]]) -> Coupling:
        matrix = [
            [g.add(g.dot(c, column), d) for column, d in zip(across, own, strict=True)]
            for c, own in zip(rows.left, rows.own, strict=True)
        ]
        # A diagonal entry is a sum of squares, or 1 where a contact slips; a pivot is compared with that sum.
        scales = [
            g.sum([*(g.call("abs", g.mul(a, b)) for a, b in zip(c, x, strict=True)), own[i]])
            for i, (c, x, own) in enumerate(zip(rows.left, across, rows.own, strict=True))
        ]
        # Constraints come first: A M^-1 A^T needs no pivoting, nor does the rest unless friction enters N.
        return cls(rows, across, matrix, scales, rows.first if friction.implicit else len(matrix))

    def solve(
        self, g: Graph, free: Sequence[Node], right: Sequence[Node], name: str, solves: list[Solve]
    ) -> tuple[list[Node], list[tuple[Node, Node]]]:
        """r and the pivots, given M^-1 f = free; many constraints are solved by a loop, as in `Mass.solve`."""
        rest = [g.sub(e, g.dot(c, free)) for c, e in zip(self.rows.left, right, strict=True)]
        count = len(rest)
        if count > UNROLLED_VELOCITIES and self.rows.first == count:  # A M^-1 A^T, symmetric
            results = tuple(g.symbol(f"cg_{name}_{i}") for i in range(count))
            known = any(solve.factors == "constraints" for solve in solves)
            solves.append(Solve(() if known else upper(self.matrix), tuple(rest), results, "constraints"))
            return list(results), []
        return eliminate(g, self.matrix, rest, self.scales, self.pivoting)

    def add(self, g: Graph, free: Sequence[Node], unknown: Sequence[Node]) -> list[Node]:
        """theta' = M^-1 f + M^-1 B r."""
        return [
            g.add(a, g.sum(g.mul(r, column[i]) for r, column in zip(unknown, self.across, strict=True)))
            for i, a in enumerate(free)
        ]


@dataclass(frozen=True)
class Accelerations:
    """theta' as nodes, and what is needed to solve for other right-hand sides with the same matrix.

    `solution` maps the symbols of friction forces and multipliers to their values; the kernel checks the `pivots`.
    """

    nodes: tuple[Node, ...]
    mass: Mass
    solves: tuple[Solve, ...]
    pivots: list[tuple[Node, Node]]
    solution: Mapping[Node, Node] = field(default_factory=dict)
    coupling: Coupling | None = None


def solve_for_accelerations(eqs: EquationNodes) -> Accelerations:
    """Solve M theta' = f for theta' and for the friction forces and multipliers that f contains."""
    mass, solves = Mass(eqs), list[Solve]()
    if eqs.implicit is not None:
        solves.append(momentum_solve(eqs.implicit))
    friction = eqs.friction
    if friction is None:
        return Accelerations(tuple(mass.solve(eqs.force, "a", solves)), mass, tuple(solves), mass.checks())
    g = eqs.graph
    free = mass.solve(g.substitute(eqs.force, dict.fromkeys(friction.unknown, g.zero)), "a", solves)
    across = [mass.solve(b, f"c_{j}", solves) for j, b in enumerate(friction.columns())]
    coupling = Coupling.of(g, friction, friction_rows(g, friction), across)
    unknown, pivots = coupling.solve(g, free, coupling.rows.right, "r", solves)
    return Accelerations(
        tuple(coupling.add(g, free, unknown)),
        mass,
        tuple(solves),
        [*mass.checks(), *pivots],
        dict(zip(friction.unknown, unknown, strict=True)),
        coupling,
    )


def variation(
    eqs: EquationNodes, found: Accelerations, direction: Mapping[Node, Node], solves: list[Solve]
) -> tuple[list[Node], list[Node]]:
    """The derivatives of dx/dt and of theta' along a direction in the states.

    M a = f gives M da = df - dM a: one more solution with the same factors, whatever the direction. With contacts,
    C da + D dr = -d(C a + D r - e) at fixed a and r is solved too.
    """
    g = eqs.graph
    mass = [node for row in eqs.mass for node in row]
    n, k = len(eqs.rates), len(eqs.force)
    if eqs.implicit is not None:
        direction = {**direction, **momentum_variation(g, eqs.implicit, direction, solves)}
    # Do not freeze a in M a instead: the graph folds constants, so M a need not contain the nodes of a.
    moved = forward(g, [*eqs.rates, *eqs.force, *mass], direction)
    right = moved[n : n + k]
    if eqs.mass:
        d_mass = dict(zip(mass, moved[n + k :], strict=True))
        right = [
            g.sub(f, g.dot([d_mass[eqs.entry(i, j)] for j in range(k)], found.nodes))
            for i, f in enumerate(right)
        ]
    right = g.substitute(right, found.solution)
    free = found.mass.solve(right, "b", solves)
    if found.coupling is None:
        return moved[:n], free
    names = [g.symbol(f"cg_acceleration_{i}") for i in range(k)]
    rows = found.coupling.rows.residuals(g, names, list(found.solution))
    known = {**dict(zip(names, found.nodes, strict=True)), **found.solution}
    left = g.substitute(forward(g, rows, direction), known)
    unknown, _ = found.coupling.solve(g, free, [g.neg(e) for e in left], "s", solves)
    return moved[:n], found.coupling.add(g, free, unknown)


def project_slips(
    eqs: EquationNodes, found: Accelerations
) -> tuple[list[Node], tuple[Solve, ...], list[tuple[Node, Node]]]:
    """The velocities shifted by M^-1 W^T r so that v = 0 in the sticking contacts; the solves and pivots this needs.

    Constraint residuals keep their values. Redundant sticking contacts are left out. If the slip of a contact is a
    single velocity relative to a support, it is set exactly.
    """
    g, friction = eqs.graph, eqs.friction
    assert friction is not None
    mass, solves = found.mass, list[Solve]()
    across = [mass.solve(b, f"c_{j}", solves) for j, b in enumerate(friction.columns())]
    m, count = len(friction.rows), len(friction.columns())
    sticking = [g.sub(g.one, g.mul(c.mode, c.mode)) for c in friction.contacts]
    left = [
        *friction.rows,
        *([g.mul(s, w) for w in c.row] for s, c in zip(sticking, friction.contacts, strict=True)),
    ]
    own = [[g.zero] * count for _ in range(count)]
    for i, c in enumerate(friction.contacts):
        own[m + i][m + i] = g.mul(c.mode, c.mode)
    rows = Rows([list(row) for row in left], own, [g.zero] * count, m)
    coupling = Coupling.of(g, Friction(friction.contacts), rows, across)
    right = [g.zero] * m + [g.neg(g.mul(s, c.slip)) for s, c in zip(sticking, friction.contacts, strict=True)]
    unknown, _ = eliminate(g, coupling.matrix, right, coupling.scales, count, guarded=True)
    moved = coupling.add(g, eqs.velocity_nodes, unknown)
    for c in friction.contacts:
        alone = [j for j, w in enumerate(c.row) if w != g.zero]
        (j,) = alone if len(alone) == 1 else (-1,)
        if j >= 0 and c.row[j] in (g.one, g.minus_one):
            (rest,) = g.substitute([c.slip], {eqs.velocity_nodes[j]: g.zero})
            held = g.neg(rest) if c.row[j] == g.one else rest
            moved[j] = g.select(g.relation("eq", c.mode, g.zero), held, moved[j])
    return moved, tuple(solves), mass.checks()

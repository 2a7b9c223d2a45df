"""`Dynamics`: equations solved for their accelerations, from which the kernels are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from chaplygin.runtime.interface.description import Variable

from ..derive.equation_nodes import EquationNodes, Friction, Invariant
from ..derive.friction import friction_rows
from ..derive.invariants import find, levels
from ..derive.point_mass_tree import point_tree
from ..graph.differentiate import forward
from ..graph.graph import LEAVES, Node
from .lowered import Kernel, Solve
from .options import DEFAULT, LoweringOptions
from .point_mass_tree import shortest
from .quantities import conserved, guards, outputs
from .solver import Coupling, Mass, momentum_solve, momentum_variation, reduced


class Dynamics:
    """M theta' = f solved for theta' and for the friction forces and multipliers that f contains.

    Attributes
    ----------
    eqs, graph, options : the equations, their graph, and how they are lowered.
    accelerations : theta' as nodes.
    tree : the point masses, for a system that is a tree of them; else empty.
    mass, coupling : M factored, unless `tree` replaces it, and the rows of the unknown forces; `coupling` is None if f
        contains no unknown forces.
    solution : the symbols of friction forces and multipliers, mapped to their values.
    solves : the linear systems that a loop solves before the accelerations are known.
    pivots : what a kernel that uses the accelerations checks; `eqs.pivots` is what every other one checks.
    labels : names for the nontrivial entries of M and f.
    """

    def __init__(
        self,
        eqs: EquationNodes,
        found: Callable[[], tuple[Invariant, ...]] | None = None,
        options: LoweringOptions = DEFAULT,
    ) -> None:
        self.eqs, self.graph, self.options, self._found = eqs, eqs.graph, options, found
        self.labels = _labels(eqs)
        self.solution: dict[Node, Node] = {}
        self.coupling: Coupling | None = None
        g, friction = self.graph, eqs.friction
        solves = self.momentum_solves()
        self.tree = point_tree(eqs)
        if self.tree:
            tensions, self.accelerations = shortest(g, self.tree, eqs.flow, eqs.velocity_nodes)
            pivots = tensions.checks()
        elif friction is None:
            self.accelerations = self.mass.solve(eqs.force, "a", solves)
            pivots = self.mass.checks()
        else:
            free = self.mass.solve(
                g.substitute(eqs.force, dict.fromkeys(friction.unknown, g.zero)), "a", solves
            )
            across = self.across(friction, solves)
            self.coupling = Coupling.of(g, friction, friction_rows(g, friction), across)
            unknown, of_coupling = self.coupling.solve(g, free, self.coupling.rows.right, "r", solves)
            self.accelerations = self.coupling.add(g, free, unknown)
            self.solution = dict(zip(friction.unknown, unknown, strict=True))
            pivots = [*self.mass.checks(), *of_coupling]
        self.solves = tuple(solves)
        self.pivots = (*eqs.pivots, *pivots)
        self._unknown = [n for solve in solves for n in solve.results] + [n for n, _ in pivots]

    def across(self, friction: Friction, solves: list[Solve]) -> list[list[Node]]:
        """The columns of M^-1 B, for the forces per unit of each unknown; what a loop solves for is appended."""
        if friction.across:
            return [list(column) for column in friction.across]
        return [self.mass.solve(b, f"c_{j}", solves) for j, b in enumerate(friction.columns())]

    @cached_property
    def mass(self) -> Mass:
        return Mass(self.graph, self.eqs.mass)

    @cached_property
    def invariants(self) -> tuple[Invariant, ...]:
        """The first integrals: those that `found` gives, or else searched for here."""
        return find(self.eqs) if self._found is None else self._found()

    @cached_property
    def levels(self) -> tuple[Node, ...]:
        """The invariants of the coordinates alone."""
        return levels(self.eqs, self.invariants)

    @cached_property
    def outputs(self) -> list[tuple[Variable, Node]]:
        return outputs(self.eqs, self.invariants, self.accelerations)

    @cached_property
    def conserved(self) -> list[tuple[Variable, Node]]:
        return conserved(self.eqs, self.invariants)

    @cached_property
    def guards(self) -> list[tuple[Variable, Node]]:
        return guards(self.eqs)

    def momentum_solves(self) -> list[Solve]:
        """What a loop solves before the velocities are known; empty unless the states are momenta."""
        return [] if self.eqs.implicit is None else [momentum_solve(self.eqs.implicit)]

    def kernel(self, name: str, nodes: Sequence[Node], comments: Sequence[str]) -> Kernel:
        """The kernel that computes the nodes, and the accelerations if it needs them."""
        nodes = self.graph.substitute(nodes, self.solution)
        solved = self.graph.depends_on(nodes, self._unknown)
        return Kernel(
            name,
            tuple(nodes),
            tuple(comments),
            self.pivots if solved else self.eqs.pivots,
            self.solves if solved else (),
            cells=self.eqs.cells,
        )

    def variation(self, direction: Mapping[Node, Node], solves: list[Solve]) -> list[Node]:
        """The derivatives of dx/dt and of theta' along a direction in the states.

        M a = f gives M da = df - dM a: one more solution with the same factors, whatever the direction. With contacts,
        C da + D dr = -d(C a + D r - e) at fixed a and r is solved too. The few operations of a tree are differentiated.
        """
        g, eqs = self.graph, self.eqs
        mass = [node for row in eqs.mass for node in row]
        n, k = len(eqs.rates), len(eqs.force)
        if self.tree:
            return forward(g, [*eqs.rates, *self.accelerations], direction)
        if eqs.implicit is not None:
            direction = {**direction, **momentum_variation(g, eqs.implicit, direction, solves)}
        # Do not freeze a in M a instead: the graph folds constants, so M a need not contain the nodes of a.
        moved = forward(g, [*eqs.rates, *eqs.force, *mass], direction)
        right = moved[n : n + k]
        if eqs.mass:
            slopes = dict(zip(mass, moved[n + k :], strict=True))
            right = reduced(g, right, eqs.mass, slopes, self.accelerations)
        right = g.substitute(right, self.solution)
        free = self.mass.solve(right, "b", solves)
        if self.coupling is None:
            return [*moved[:n], *free]
        names = [g.symbol(f"cg_acceleration_{i}") for i in range(k)]
        rows = self.coupling.rows.residuals(g, names, list(self.solution))
        known = {**dict(zip(names, self.accelerations, strict=True)), **self.solution}
        left = g.substitute(forward(g, rows, direction), known)
        unknown, _ = self.coupling.solve(g, free, [g.neg(e) for e in left], "s", solves)
        return [*moved[:n], *self.coupling.add(g, free, unknown)]


def _labels(eqs: EquationNodes) -> dict[Node, str]:
    """Names for the nontrivial entries of M and f."""
    g = eqs.graph
    labels: dict[Node, str] = {}
    for i, v in enumerate(eqs.velocities):
        if g.op[eqs.force[i]] not in LEAVES:
            labels.setdefault(eqs.force[i], f"f_{v.name}")
        for j in range(i + 1):
            if eqs.mass and g.op[eqs.mass[i][j]] not in LEAVES:
                labels.setdefault(eqs.mass[i][j], f"M_{eqs.velocities[j].name}_{v.name}")
    return labels

"""The mass matrix of the declared velocities, regular where only the constraints make it so.

M = d2T/(d eta d eta) can be singular: massless coordinates that constraints tie to others, a body with inertia about
one axis. If it is positive on the velocities that A eta = 0 permits, M + A^T W A is positive on all of them for any
positive W, and since A eta' = -b, with b the derivative of A eta + A_0 at fixed eta, M eta' = f + A^T lambda is

    (M + A^T W A) eta' = f - A^T W b + A^T lambda

with the same eta' and lambda. In this metric the states nearest to a given one on the constraints are the same too.
W is diagonal, W_s = tr M / |A_s|^2, so that the terms are of one size.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Graph, Node
from .checked_system import CheckedSystem

Triangle = list[list[Node]]


def inertia(g: Graph, system: CheckedSystem) -> Triangle:
    """The lower triangle of M, or of M + A^T W A where M is singular."""
    mass = system.nodes.mass(g)
    return augmented(g, system, mass) if system.needs_constraints else mass


def augmented(g: Graph, system: CheckedSystem, mass: Sequence[Sequence[Node]]) -> Triangle:
    """M + A^T W A for the lower triangle of M."""
    rows = system.nodes.constraint_rows
    scaled = [[g.mul(w, e) for e in row] for w, row in zip(weights(g, system, mass), rows, strict=True)]
    return [
        [g.add(m, g.dot([row[i] for row in scaled], [row[j] for row in rows])) for j, m in enumerate(line)]
        for i, line in enumerate(mass)
    ]


def weights(g: Graph, system: CheckedSystem, mass: Sequence[Sequence[Node]]) -> list[Node]:
    """W_s, for every constraint."""
    trace = g.sum(line[-1] for line in mass)
    return [g.div(trace, g.dot(row, row)) for row in system.nodes.constraint_rows]

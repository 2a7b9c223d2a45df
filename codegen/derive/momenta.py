"""The balance of momenta along the fields, with the brackets of the fields."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.differentiate import gradient
from ..graph.graph import Graph, Node
from ..system.checked_system import CheckedSystem
from .structure import Structure, structure_functions


def balance(g: Graph, system: CheckedSystem, brackets: bool = True) -> tuple[list[Node], list[Node]]:
    """The momenta and forces of the Poincaré-Chetaev balance d p_j / dt = force_j, for every velocity of the system.

    p_j = dL/d eta_j;  force_j = (c_0j^b + c_aj^b eta_a) p_b + X_j L + Q_j; `brackets=False` omits the terms in c.
    """
    nodes, fields, eta = system.nodes, system.nodes.fields, system.nodes.eta
    lagrangian = nodes.lagrangian(g)
    slopes = gradient(g, lagrangian, [*eta, *fields.coordinates])
    momenta, by_x = slopes[: len(eta)], slopes[len(eta) :]
    forces = [g.add(g.dot(field, by_x), q) for field, q in zip(fields.along, nodes.forces, strict=True)]
    if brackets:
        add_brackets(g, forces, structure_functions(g, system), momenta, eta)
    return momenta, forces


def add_brackets(
    g: Graph, forces: list[Node], structure: Structure, momenta: Sequence[Node], velocities: Sequence[Node]
) -> None:
    """Add (c_0j^b + c_aj^b eta_a) p_b to force_j, for every j."""
    for (a, b), entries in structure.items():
        for i, c in entries:
            term = g.mul(c, momenta[i])
            if a < 0:
                forces[b] = g.add(forces[b], term)
            else:  # c_ab^i = -c_ba^i
                forces[b] = g.add(forces[b], g.mul(term, velocities[a]))
                forces[a] = g.sub(forces[a], g.mul(term, velocities[b]))

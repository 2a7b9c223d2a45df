"""Painlevé's equation: the power balance that every motion satisfies, whatever form the equations were derived in.

h = eta . dL/d eta - L  (= T2 - T0 + V for L of second degree: T = T2 + T1 + T0 by degree in the velocities),
dh/dt = -X_0 L + c_0j^b eta_j p_b + Q_j eta_j + R_j eta_j,   p = dL/d eta.

The forces Q include the friction T_i dv_i/d eta_j of Coulomb contacts.

R are the constraint reactions, R_j = dp_j/dt - (c_0j^b + c_aj^b eta_a) p_b - X_j L - Q_j. They are orthogonal to the
permitted variations, so only the inhomogeneous part of the permitted velocities eta = beta(t, x, theta) contributes:
R_j eta_j = R_j (beta_j - theta_i d beta_j / d theta_i), for affine constraints R_j b_j0. In coordinates and their
rates, without constraints, this is d/dt (T2 - T0 + V) = -dL/dt + Q_i q_i'.

Source: P. Painlevé, Leçons sur l'intégration des équations de la mécanique (1895); Encyclopedia of Mathematics,
"Poincaré equations", for the quasi-velocities; the power of the reactions follows from Q. K. Ghori (1993), (2.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..graph.differentiate import forward, gradient
from ..graph.graph import Graph, Node
from ..identities.identities import vanish_everywhere
from .equation_nodes import EquationNodes
from .friction import friction_power
from .structure import balance, structure_functions

POWER = "power of the forces, drives and constraints that change T2 - T0 + V"


def painleve_function(eqs: EquationNodes) -> tuple[Node, Node, bool]:
    """(h, T + V, whether they are equal) on the permitted velocities, as functions of the states."""
    g, nodes = eqs.graph, eqs.system.nodes
    h, total = nodes.energy(g), g.add(nodes.kinetic, nodes.potential)
    scaled = g.dot(nodes.eta, gradient(g, nodes.kinetic, nodes.eta))
    inertia = g.sub(scaled, g.mul(g.two, nodes.kinetic))
    h, total, inertia = g.substitute([h, total, inertia], eqs.permitted)
    # h - (T + V) = 2 T2 + T1 - 2 T: V cancels, and by Euler's theorem all of it does if T has the degree 2.
    same = inertia == g.zero or _degree(g, nodes.kinetic, nodes.eta) == 2
    return h, total, same or vanish_everywhere(g, [inertia], eqs.points([h, total], 2))


def _degree(g: Graph, root: Node, variables: Sequence[Node]) -> Fraction | None:
    """The degree of a node that is plainly homogeneous in the variables, by its sums and products; else None."""
    degree: dict[Node, Fraction | None] = dict.fromkeys(variables, Fraction(1))
    for n in g.reachable([root]):
        if n not in degree:
            found = [degree[a] for a in g.args[n]]
            known = [d for d in found if d is not None]
            degree[n] = _combined(g, n, known) if len(known) == len(found) else None
    return degree[root]


def _combined(g: Graph, node: Node, degrees: Sequence[Fraction]) -> Fraction | None:
    """The degree of a node by those of its operands."""
    op, exponent = g.op[node], g.constant_value(g.args[node][-1]) if g.args[node] else None
    if not any(degrees):
        return Fraction(0)
    if op == "mul":
        return degrees[0] + degrees[1]
    if op == "div":
        return degrees[0] - degrees[1]
    if op == "pow" and exponent is not None:
        return degrees[0] * exponent
    return degrees[0] if op in ("add", "sub", "neg") and degrees[0] == degrees[-1] else None


def power(eqs: EquationNodes, accelerations: Sequence[Node]) -> Node:
    """dh/dt by the right-hand side of Painlevé's equation, as a function of the states.

    `accelerations` are the rates of `eqs.velocity_nodes`; only the power of constraint reactions needs them.
    """
    g, system = eqs.graph, eqs.system
    fields, eta = system.nodes.fields, system.nodes.eta
    (drive,) = fields.apply(g, -1, [system.nodes.lagrangian(g)])
    total = g.sub(g.dot(system.nodes.forces, eta), drive)
    if not fields.autonomous(g):  # X_0 may fail to commute with the fields
        momenta = system.nodes.momenta(g)
        for (a, b), entries in structure_functions(g, system).items():
            if a < 0:
                for i, c in entries:
                    total = g.add(total, g.mul(c, g.mul(eta[b], momenta[i])))
    (total,) = g.substitute([total], eqs.permitted)
    total = g.add(total, friction_power(eqs))
    return g.add(total, _reactions(eqs, accelerations))


def _reactions(eqs: EquationNodes, accelerations: Sequence[Node]) -> Node:
    """R_j eta_j."""
    g, system = eqs.graph, eqs.system
    if eqs.multiplier_nodes:
        pairs = zip(eqs.multiplier_nodes, system.nodes.constraint_rows, strict=True)
        return g.sum(g.mul(f, g.dot(row, system.nodes.eta)) for f, row in pairs)
    if not (system.constraints or system.parametrization) or eqs.independent is not None:
        return g.zero
    permitted = eqs.permitted
    beta = [permitted[e] for e in system.nodes.eta]
    slopes = [g.mul(v, s) for v in eqs.velocity_nodes for s in forward(g, beta, {v: g.one})]
    k = len(beta)
    rest = [g.sub(b, g.sum(slopes[j::k])) for j, b in enumerate(beta)]
    left = [n for n in rest if n != g.zero]
    # A homogeneous expression can be written in many ways, so its value decides.
    if not left or vanish_everywhere(g, left, eqs.points(left, 3)):
        return g.zero
    return g.dot(rest, _constraint_forces(eqs, accelerations))


def _constraint_forces(eqs: EquationNodes, accelerations: Sequence[Node]) -> list[Node]:
    """R_j = dp_j/dt - (c_0j^b + c_aj^b eta_a) p_b - X_j L - Q_j along the motion."""
    g, system = eqs.graph, eqs.system
    momenta, forces = balance(g, system)
    k = len(momenta)
    for c in system.nodes.contacts:
        force = g.symbol(f"friction_{c.name}")
        forces = [g.add(f, g.mul(force, slope)) for f, slope in zip(forces, c.row, strict=True)]
    moved = g.substitute([*momenta, *forces], eqs.permitted)
    flow = {**eqs.flow, **dict(zip(eqs.velocity_nodes, accelerations, strict=True))}
    return [g.sub(a, b) for a, b in zip(forward(g, moved[:k], flow), moved[k:], strict=True)]

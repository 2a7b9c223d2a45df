"""Ghori's equations of nonholonomic systems in independent parameters, with the coefficients K.

eta_p = b_p0 + b_pi theta_i,  Y_i = b_pi X_p,  Y_0 = X_0 + b_p0 X_p,  L(t, x, theta) = L0(t, x, eta),
d/dt dL/d theta_i - Y_i L + (K_ji^p theta_j + K_0i^p) m_p = b_pi Q_p,  m_p = dL0/d eta_p on the permitted velocities,
K_ji^p = Y_i(b_pj) - Y_j(b_pi) - c_qr^p b_qj b_ri,
K_0i^p = Y_i(b_p0) - Y_0(b_pi) - c_qr^p b_q0 b_ri - c_0r^p b_ri.

Source: Q. K. Ghori, "Whittaker's reduction method for Poincaré's dynamical equations" (1993), (2.4); the terms with
index 0 extend it to affine and time-dependent constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sympy as sp

from ..derive.equation_nodes import EquationNodes
from ..derive.structure import balance, structure_functions
from ..graph.differentiate import gradient, partials
from ..graph.graph import Graph, Node
from ..system.checked_system import CheckedSystem
from ..system.fields import Fields
from .constraints import Permitted, equations_of, impose
from .form import Form
from .reduction import Motion, momentum_equations, project


def derive(system: CheckedSystem, independent: Sequence[sp.Symbol] | None = None) -> EquationNodes:
    """Ghori's equations (2.4) in all coordinates and the independent velocities or parameters.

    Option `independent`: the velocities kept as states, as for `maggi`. For a system without constraints K = -c and the
    equations are Poincaré's. A parametrization that is not affine has no K: (2.3) is used with b = d beta/d theta,
    which is Chetaev's rule, an axiom of nonlinear nonholonomic mechanics, not a theorem.

    Hypothesis: the independent velocities determine the others.
    """
    g = system.nodes.graph.copy()
    choice = impose(g, system, "nonholonomic", independent)
    if choice.affine(g):
        motion = _motion(g, system, choice, Permission.of(g, system, choice))
        title = "Ghori's equations, d/dt dL/d theta_i - Y_i L + (K_ji^p theta_j + K_0i^p) m_p = b_pi Q_p"
    else:
        motion = project(g, system, balance(g, system), choice.theta, choice.permitted)
        title = "Ghori's equations (2.3), b_pi = d beta_p/d theta_i"
    return equations_of(system, "nonholonomic", g, title, choice, motion)


FORM = Form("nonholonomic", derive, contacts=True)


@dataclass(frozen=True)
class Permission:
    """Permitted velocities eta_p = b_p0 + b_pi theta_i and their fields Y_0, Y_i: `slopes[i][p]` = b_pi."""

    offsets: list[Node]
    slopes: list[list[Node]]
    fields: Fields

    @classmethod
    def of(cls, g: Graph, system: CheckedSystem, choice: Permitted) -> Permission:
        permitted = choice.permitted or {}
        beta = [permitted.get(e, e) for e in system.nodes.eta]
        zeros = dict.fromkeys(choice.theta, g.zero)
        offsets = g.substitute(beta, zeros)
        # At theta = 0, because an affine beta can be written so that its slopes seem to depend on theta.
        slopes = [g.substitute(column, zeros) for column in partials(g, beta, choice.theta)]
        free = system.nodes.fields
        drift = tuple(free.velocity(g, offsets))
        along = tuple(tuple(g.dot(row, b) for row in free.matrix()) for b in slopes)
        return cls(offsets, slopes, replace(free, drift=drift, along=along))


def bracket_coefficients(
    g: Graph, system: CheckedSystem, permission: Permission
) -> dict[tuple[int, int], list[Node]]:
    """K_ji^p as {(j, i): [node for p]}; j = -1 is the index 0."""
    k, fields = len(permission.slopes), permission.fields
    structure = structure_functions(g, system)
    table: dict[tuple[int, int], list[Node]] = {}
    for i in range(k):
        for j in range(-1, k):
            if i == j:
                continue
            b_i = permission.slopes[i]
            b_j = permission.offsets if j < 0 else permission.slopes[j]
            moved = zip(fields.apply(g, i, b_j), fields.apply(g, j, b_i), strict=True)
            entry = [g.sub(a, b) for a, b in moved]
            for (q, r), constants in structure.items():
                if q < 0:
                    weight = b_i[r] if j < 0 else g.zero
                else:  # c_qr and c_rq = -c_qr
                    weight = g.sub(g.mul(b_j[q], b_i[r]), g.mul(b_j[r], b_i[q]))
                for p, c in constants:
                    entry[p] = g.sub(entry[p], g.mul(c, weight))
            if any(node != g.zero for node in entry):
                table[j, i] = entry
    return table


def _motion(g: Graph, system: CheckedSystem, choice: Permitted, permission: Permission) -> Motion:
    nodes, theta, fields = system.nodes, choice.theta, permission.fields
    permitted = choice.permitted or {}
    free = nodes.lagrangian(g)
    lagrangian, *momenta = g.substitute([free, *gradient(g, free, nodes.eta)], permitted)
    rates = fields.velocity(g, theta)
    slopes = gradient(g, lagrangian, [*theta, *fields.coordinates])
    by_theta, by_x = slopes[: len(theta)], slopes[len(theta) :]
    external = g.substitute(nodes.forces, permitted)
    pairs = zip(fields.along, permission.slopes, strict=True)
    forces = [g.add(g.dot(y, by_x), g.dot(b, external)) for y, b in pairs]
    for (j, i), entry in bracket_coefficients(g, system, permission).items():
        term = g.dot(entry, momenta)
        forces[i] = g.sub(forces[i], term if j < 0 else g.mul(term, theta[j]))
    flow = fields.flow(g, rates)
    return Motion(rates, *momentum_equations(g, by_theta, forces, theta, flow))

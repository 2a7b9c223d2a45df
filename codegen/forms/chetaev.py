"""Chetaev's canonical equations in (x, y), y_j = dL/d eta_j.

H = y . eta - L,  eta_j = dH/dy_j,
dx_i/dt = xi_0^i + xi_a^i dH/dy_a,
dy_j/dt = c_0j^b y_b + c_aj^b (dH/dy_a) y_b - X_j H + Q_j
(Encyclopedia of Mathematics, "Poincaré equations"; the terms with c_0 and Q belong to rheonomic and forced systems).
"""

from __future__ import annotations

from ..derive.equation_nodes import EquationNodes, Implicit
from ..derive.structure import add_brackets, structure_functions
from ..graph.differentiate import gradient
from ..graph.graph import Graph, Node
from ..graph.linear import LDL, UNROLLED_VELOCITIES
from ..symbols.symbols import Velocity
from ..system.checked_system import CheckedSystem
from .form import Form, constrained
from .reduction import hessian, new_symbols


def derive(system: CheckedSystem) -> EquationNodes:
    """Chetaev's canonical equations; the states are all coordinates and the momenta `p_<velocity>`. No options.

    Hypotheses: no constraints on the velocities; L of second degree in them with a nonsingular Hessian.
    """
    nodes = system.nodes
    g, fields = nodes.graph.copy(), nodes.fields
    lagrangian, momenta = nodes.lagrangian(g), nodes.momenta(g)
    names = new_symbols(system, Velocity, (f"p_{v.name}" for v in system.velocities), "a momentum")
    y = tuple(g.symbol(s.name) for s in names)
    mass, right = _legendre(g, system, momenta, y)
    implicit: Implicit | None = None
    pivots: tuple[tuple[Node, Node], ...] = ()
    if len(y) > UNROLLED_VELOCITIES:
        # dH/dx at fixed y is -dL/dx at fixed eta: with eta as symbols, nothing is differentiated through the solution.
        implicit = Implicit(tuple(map(tuple, mass)), tuple(right), nodes.eta, tuple(momenta))
        eta = by_y = list(nodes.eta)
        by_x = [g.neg(slope) for slope in gradient(g, lagrangian, fields.coordinates)]
    else:
        factors = LDL(g, mass)
        eta, pivots = factors.solve(right), tuple(factors.checks())
        # H in (t, x, y); its derivatives in y give the velocities again, those along the fields the forces.
        permitted = dict(zip(nodes.eta, eta, strict=True))
        (energy,) = g.substitute([g.sub(g.dot(y, nodes.eta), lagrangian)], permitted)
        slopes = gradient(g, energy, [*y, *fields.coordinates])
        by_y, by_x = slopes[: len(y)], slopes[len(y) :]
    forces = [g.sub(q, g.dot(field, by_x)) for field, q in zip(fields.along, nodes.forces, strict=True)]
    forces = g.substitute(forces, dict(zip(nodes.eta, eta, strict=True)))
    add_brackets(g, forces, structure_functions(g, system), y, by_y)
    return EquationNodes(
        system=system,
        form="chetaev",
        options={},
        graph=g,
        title="Chetaev's canonical equations, dy_j/dt = c_0j^b y_b + c_aj^b dH/dy_a y_b - X_j H + Q_j",
        velocities=names,
        velocity_nodes=y,
        rates=tuple(fields.velocity(g, by_y)),
        mass=(),
        force=tuple(forces),
        declared=dict(zip(system.velocities, eta, strict=True)),
        pivots=pivots,
        initial_nodes=(*fields.coordinates, *momenta, *(g.symbol(p.name) for p in system.parameters)),
        momentum_nodes=y,
        implicit=implicit,
    )


FORM = Form("chetaev", derive, constrained)


def _legendre(
    g: Graph, system: CheckedSystem, momenta: list[Node], y: tuple[Node, ...]
) -> tuple[list[list[Node]], list[Node]]:
    """The lower triangle of M, and y - y_0, where y = M eta + y_0."""
    nodes = system.nodes
    columns = hessian(g, system, "chetaev", momenta, nodes.eta)
    offsets = g.substitute(momenta, dict.fromkeys(nodes.eta, g.zero))
    mass = [[columns[j][i] for j in range(i + 1)] for i in range(len(y))]
    return mass, [g.sub(a, b) for a, b in zip(y, offsets, strict=True)]

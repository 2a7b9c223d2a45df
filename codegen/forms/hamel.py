"""The Boltzmann-Hamel equations with their three-index symbols.

With the coframe omega^a = A_as (dx_s - xi_0^s dt), A the inverse of the fields' matrix xi,
gamma_bc^a = (d A_as/dx_r - d A_ar/dx_s) xi_b^r xi_c^s = -c_bc^a   (index 0 is time, with xi_0 along it),
d/dt dL/d eta_j - X_j L + (gamma_0j^b + gamma_aj^b eta_a) dL/d eta_b = Q_j.

Source: L. Boltzmann (1902), G. Hamel (1904); signs as in the conventions of this package. Constraints on the
velocities are imposed as in Maggi's equations: the equations are projected on the permitted velocities.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ..derive.equation_nodes import EquationNodes
from ..derive.structure import balance, generic_points, recognised
from ..graph.differentiate import forward, partials
from ..graph.graph import Graph, Node
from ..system.checked_system import CheckedSystem
from ..system.fields import solve_for_components
from ..system.points import example_point
from .constraints import equations_of, impose
from .form import Form
from .reduction import project


def derive(system: CheckedSystem, independent: Sequence[sp.Symbol] | None = None) -> EquationNodes:
    """The Boltzmann-Hamel equations; states as for `poincare`, with constraints as for `maggi`.

    Option `independent`: with constraints, the velocities kept as states.

    Hypothesis: as many velocities as coordinates (the coframe needs the inverse of the fields' matrix).
    """
    g = system.nodes.graph.copy()
    momenta, forces = balance(g, system, brackets=False)
    for (a, j, b), gamma in three_index_symbols(g, system).items():
        term = g.mul(gamma, momenta[b])
        forces[j] = g.sub(forces[j], term if a < 0 else g.mul(term, system.nodes.eta[a]))
    choice = impose(g, system, "hamel", independent)
    motion = project(g, system, (momenta, forces), choice.theta, choice.permitted)
    title = "Boltzmann-Hamel equations, d/dt dL/d eta_j - X_j L + gamma_aj^b eta_a dL/d eta_b = Q_j"
    return equations_of(system, "hamel", g, title, choice, motion)


def _refusal(system: CheckedSystem) -> str | None:
    n, k = len(system.coordinates), len(system.velocities)
    return None if n == k else f"'as many velocities as coordinates' fails ({k} for {n})"


FORM = Form("hamel", derive, _refusal, contacts=True)


def three_index_symbols(g: Graph, system: CheckedSystem) -> dict[tuple[int, int, int], Node]:
    """gamma_aj^b as {(a, j, b): node}, nonzero entries only; a = -1 is time."""
    fields, k = system.nodes.fields, len(system.velocities)
    if fields.are_rates():
        return {}
    point = example_point(system.nodes)
    unit = [[g.one if i == j else g.zero for j in range(k)] for i in range(k)]
    inverse = solve_for_components(g, fields.matrix(), unit, point)
    # The coframe over (t, x): its time component is -A xi_0.
    coframe = [[g.neg(g.dot(row, fields.drift)), *row] for row in inverse]
    basis = [[g.one, *fields.drift], *([g.zero, *field] for field in fields.along)]
    entries = [n for row in coframe for n in row]
    # slopes[r][b * (k + 1) + s] = d A_bs / dx_r
    slopes = [forward(g, entries, fields.clock(g)), *partials(g, entries, fields.coordinates)]
    symbols = {}
    for b in range(k):
        start, every = b * (k + 1), range(k + 1)
        curl = [[g.sub(slopes[r][start + s], slopes[s][start + r]) for s in every] for r in every]
        for a in every:
            along = [g.dot([curl[r][s] for r in every], basis[a]) for s in every]
            for j in range(1, k + 1):
                node = g.dot(along, basis[j])
                if a != j and node != g.zero:
                    symbols[a - 1, j - 1, b] = node
    nodes = recognised(g, system, list(symbols.values()), generic_points(system))
    return {key: node for key, node in zip(symbols, nodes, strict=True) if node != g.zero}

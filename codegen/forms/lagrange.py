"""Lagrange's equations: d/dt dL/dq' - dL/dq = Q.

The case c = 0, X_i = d/dx_i of the Poincaré equations (Encyclopedia of Mathematics, "Poincaré equations").
"""

from __future__ import annotations

from ..derive.equation_nodes import EquationNodes
from ..derive.structure import balance
from ..system.checked_system import CheckedSystem
from .constraints import equations_of, impose
from .form import Form, constrained
from .reduction import project


def derive(system: CheckedSystem) -> EquationNodes:
    """Lagrange's equations in the coordinates and their rates. No options.

    Hypotheses: the velocities are the coordinate rates; no constraints.
    """
    g = system.nodes.graph.copy()
    motion = project(g, system, balance(g, system, brackets=False), system.nodes.eta)
    title = "Lagrange's equations, d/dt dL/dq' - dL/dq = Q"
    return equations_of(system, "lagrange", g, title, impose(g, system, "lagrange", None), motion)


def _refusal(system: CheckedSystem) -> str | None:
    if constrained(system) or system.nodes.fields.are_rates():
        return constrained(system)
    return (
        "'the velocities are the coordinate rates' fails (kinematics are given instead of coordinates=[...])"
    )


FORM = Form("lagrange", derive, _refusal, contacts=True)

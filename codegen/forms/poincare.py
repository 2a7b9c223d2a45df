"""The Poincaré-Chetaev equations in quasi-velocities.

d/dt dL/d eta_j = (c_0j^b + c_aj^b eta_a) dL/d eta_b + X_j L + Q_j
(Encyclopedia of Mathematics, "Poincaré equations", (1), with the terms of a rheonomic and of a forced system).
"""

from __future__ import annotations

from ..derive.equation_nodes import EquationNodes
from ..derive.structure import balance
from ..system.checked_system import CheckedSystem
from .constraints import equations_of, impose
from .form import Form, constrained
from .reduction import project


def derive(system: CheckedSystem) -> EquationNodes:
    """The Poincaré-Chetaev equations in all coordinates and all velocities. No options.

    Hypotheses: no constraints on the velocities; the brackets stay in the span of the fields (checked when the
    system is declared).
    """
    g = system.nodes.graph.copy()
    motion = project(g, system, balance(g, system), system.nodes.eta)
    title = "Poincaré-Chetaev equations, d/dt dL/d eta_j = (c_0j^b + c_aj^b eta_a) dL/d eta_b + X_j L + Q_j"
    return equations_of(system, "poincare", g, title, impose(g, system, "poincare", None), motion)


FORM = Form("poincare", derive, constrained, contacts=True)

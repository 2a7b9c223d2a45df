"""The Poincaré-Chetaev equations in quasi-velocities.

d/dt dL/d eta_j = (c_0j^b + c_aj^b eta_a) dL/d eta_b + X_j L + Q_j
(Encyclopedia of Mathematics, "Poincaré equations", (1), with the terms of a rheonomic and of a forced system).
"""

from __future__ import annotations

from ...declare.system import System
from ..equation_nodes import EquationNodes
from . import FormError
from .constraints import equations_of, impose
from .reduction import balance, project


def refuse_constraints(system: System, form: str) -> None:
    if system.constraints or system.parametrization:
        raise FormError(
            f"{form} does not fit {system.name!r}: hypothesis 'no constraints on the velocities' fails "
            f"({len(system.constraints) or 'a parametrization'} given); use 'maggi'"
        )


def derive(system: System) -> EquationNodes:
    """The Poincaré-Chetaev equations in all coordinates and all velocities. No options.

    Hypotheses: no constraints on the velocities; the brackets stay in the span of the fields (checked when the
    system is declared).
    """
    refuse_constraints(system, "poincare")
    g = system.nodes.graph.copy()
    motion = project(g, system, balance(g, system), system.nodes.eta)
    title = "Poincaré-Chetaev equations, d/dt dL/d eta_j = (c_0j^b + c_aj^b eta_a) dL/d eta_b + X_j L + Q_j"
    return equations_of(system, "poincare", g, title, impose(g, system, "poincare", None), motion)

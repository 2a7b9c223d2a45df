"""Maggi's equations of nonholonomic systems.

b_pi (d/dt dL0/d eta_p - (c_0p^r + c_qp^r eta_q) dL0/d eta_r - X_p L0 - Q_p) = 0,  eta_p = beta_p(t, x, theta),
b_pi = d beta_p / d theta_i; L0 is taken before the constraints are imposed
(Q. K. Ghori, "Whittaker's reduction method for Poincaré's dynamical equations", 1993, (2.3)).
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ..derive.equation_nodes import EquationNodes
from ..derive.structure import balance
from ..system.checked_system import CheckedSystem
from .constraints import equations_of, impose
from .form import Form
from .reduction import project


def derive(system: CheckedSystem, independent: Sequence[sp.Symbol] | None = None) -> EquationNodes:
    """Maggi's equations in all coordinates and the independent velocities (or parameters).

    Option `independent`: the velocities kept as states; by default they are chosen at the example point. A
    parametrization already has its independent parameters. A nonlinear parametrization follows Chetaev's rule (an
    axiom, not a theorem).

    Hypotheses: there are constraints or a parametrization; the independent velocities determine the others.
    """
    g = system.nodes.graph.copy()
    choice = impose(g, system, "maggi", independent)
    motion = project(g, system, balance(g, system), choice.theta, choice.permitted)
    title = "Maggi's equations, b_pi (d/dt dL0/d eta_p - c_qp^r eta_q dL0/d eta_r - X_p L0 - Q_p) = 0"
    return equations_of(system, "maggi", g, title, choice, motion)


def _refusal(system: CheckedSystem) -> str | None:
    return None if system.constraints or system.parametrization else "'the velocities are constrained' fails"


FORM = Form("maggi", derive, _refusal, contacts=True)

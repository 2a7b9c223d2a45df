"""M, f and dx/dt of derived equations as SymPy matrices."""

from __future__ import annotations

import sympy as sp

from ..derive.equation_nodes import EquationNodes


def mass_matrix(eqs: EquationNodes) -> sp.Matrix:
    """M, with all its entries; the unit matrix if the form gives theta' directly."""
    k = len(eqs.velocities)
    if not eqs.mass:
        return sp.eye(k)
    entries = [n for row in eqs.mass for n in row]
    seen = dict(zip(entries, eqs.view(entries), strict=True))
    return sp.Matrix(k, k, lambda i, j: seen[eqs.entry(i, j)])


def forcing(eqs: EquationNodes) -> sp.Matrix:
    """f, as a column."""
    return sp.Matrix(len(eqs.force), 1, eqs.view(eqs.force))


def kinematics(eqs: EquationNodes) -> sp.Matrix:
    """dx/dt, as a column."""
    return sp.Matrix(eqs.view(eqs.rates))

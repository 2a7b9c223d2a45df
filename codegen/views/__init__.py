"""Equations for people: LaTeX, notebooks, linear equations, SymPy systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .latex import equations_to_latex as equations_to_latex
    from .linearize import linearized as linearized
    from .notebook import equations_table as equations_table, system_table as system_table
    from .structure_constants import structure_expressions as structure_expressions
    from .to_sympy_system import symbolic_system as symbolic_system

__getattr__ = face(
    __name__,
    {
        "equations_table": ".notebook",
        "equations_to_latex": ".latex",
        "linearized": ".linearize",
        "symbolic_system": ".to_sympy_system",
        "structure_expressions": ".structure_constants",
        "system_table": ".notebook",
    },
)

"""PyDy: its generated Cython function of M, f and the kinematics, integrated by SciPy's LSODA, PyDy's own default.

The matrices are given to its code generator directly: SymPy's KanesMethod would use other velocities for the sleigh
and angles instead of the top's quaternion.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from cases import TOLERANCE, Case

from . import Single
from .plain import solved


@cache
def _generated(case: Case) -> Any:
    import sympy as sp
    from pydy.codegen.ode_function_generators import generate_ode_function
    from sympy.physics.mechanics import dynamicsymbols

    rates, mass, forcing = case._expressions()
    moving = {sp.Symbol(name, real=True): dynamicsymbols(name) for name in case.model.states}
    n = len(rates)
    states = [moving[symbol] for symbol in case._symbols[1 : 1 + len(moving)]]
    return generate_ode_function(
        forcing.xreplace(moving),
        states[:n],
        states[n:],
        constants=case._symbols[1 + len(moving) :],
        mass_matrix=mass.xreplace(moving),
        coordinate_derivatives=sp.Matrix(rates).xreplace(moving),
        generator="cython",
        constants_arg_type="array",
    )


def single(case: Case, tolerance: float = TOLERANCE, method: str = "LSODA") -> Single:
    """One run by SciPy's ``solve_ivp``."""
    field, parameters = _generated(case), case.parameters
    return solved(lambda t, y: field(y, t, parameters), tolerance, method)

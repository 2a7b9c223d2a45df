"""Pure Python: SciPy's ``solve_ivp`` on lambdified equations, and RK4 on NumPy arrays of all trajectories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import TOLERANCE, Case, rk4_numpy
from scipy.integrate import solve_ivp

from . import Array, Many, Single


def solved(field: Callable[[float, Array], Any], tolerance: float, method: str) -> Single:
    """One run of y' = field(t, y) by SciPy's ``solve_ivp``."""

    def run(y0: Array, t_end: float) -> Array:
        end = solve_ivp(field, (0.0, t_end), y0, method, [t_end], rtol=tolerance, atol=tolerance)
        return np.asarray(end.y[:, -1])

    return run


def single(case: Case, tolerance: float = TOLERANCE, method: str = "LSODA") -> Single:
    """One run of the equations as ``sympy.lambdify`` prints them, with common subexpressions.

    They are called with Python floats: with NumPy scalars the same arithmetic is more than twice as slow.
    """
    field = case.python_field()
    return solved(lambda t, y: field(t, y.tolist()), tolerance, method)


def many(case: Case, y: Array, t_end: float, step: float) -> Many:
    """RK4 with fixed steps on arrays of shape (n, N)."""
    field = case.python_field("numpy")
    return lambda: rk4_numpy(field, y, step, round(t_end / step))

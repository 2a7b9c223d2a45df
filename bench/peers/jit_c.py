"""JiTCODE: C compiled from SymEngine expressions, integrated by SciPy's ``ode``."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from cases import TOLERANCE, Case

from . import Array, Single
from .graph import right_hand_side


@cache
def _compiled(case: Case) -> Any:
    import symengine
    from jitcode import jitcode, y

    names = ("sin", "cos", "tan", "sqrt", "exp", "log", "sinh", "cosh", "tanh")
    functions = {name: getattr(symengine, name) for name in names}
    states = [y(i) for i in range(len(case.model.states))]
    helpers: list[tuple[Any, Any]] = []

    def share(value: Any) -> Any:
        helpers.append((symengine.Symbol(f"shared_{len(helpers)}"), value))
        return helpers[-1][0]

    rates = right_hand_side(case, states, functions, share)
    system = jitcode([symengine.sympify(rate) for rate in rates], helpers=helpers, verbose=False)
    system.compile_C()
    return system


def single(case: Case, tolerance: float = TOLERANCE) -> Single:
    """One run with SciPy's dop853, final state only."""
    system = _compiled(case)

    def run(y0: Array, t_end: float) -> Array:
        system.set_integrator("dop853", rtol=tolerance, atol=tolerance, nsteps=10_000_000)
        system.set_initial_value(y0, 0.0)
        return np.asarray(system.integrate(t_end))

    return run

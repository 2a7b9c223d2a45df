"""diffrax: Dopri8 in double precision, one compiled solve vectorized over the trajectories by jax.vmap."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from cases import TOLERANCE, Case

from . import Array, Many, Single
from .graph import right_hand_side


@cache
def _solve(case: Case) -> tuple[Any, Any]:
    """Compiled solves of (y0, t_end, tolerance): for one trajectory, and for an array of rows."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    names = ("sin", "cos", "tan", "sqrt", "exp", "log", "sinh", "cosh", "tanh")
    functions = {name: getattr(jnp, name) for name in names} | {"pow": jnp.power}

    def field(t: Any, y: Any, _: Any) -> Any:
        return jnp.stack(right_hand_side(case, list(y), functions))

    def solve(y0: Any, t_end: Any, tolerance: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Dopri8(),
            0.0,
            t_end,
            None,
            y0,
            saveat=diffrax.SaveAt(t1=True),
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
            adjoint=diffrax.ForwardMode(),
            max_steps=1_000_000,
        )
        return solution.ys[-1]

    return jax.jit(solve), jax.jit(jax.vmap(solve, in_axes=(0, None, None)))


def single(case: Case, tolerance: float = TOLERANCE) -> Single:
    """One run; the first call compiles."""
    solve = _solve(case)[0]

    def run(y0: Array, t_end: float) -> Array:
        return np.asarray(solve(y0, t_end, tolerance))

    return run


def many(case: Case, y: Array, t_end: float, tolerance: float = TOLERANCE) -> Many:
    """All at once, on as many cores as XLA uses."""
    solve, rows = _solve(case)[1], np.ascontiguousarray(y.T)

    def run() -> Array:
        columns: Array = np.asarray(solve(rows, t_end, tolerance)).T
        return columns

    return run

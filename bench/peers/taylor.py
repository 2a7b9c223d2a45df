"""heyoka: adaptive Taylor series; its batch integrator in a hand-written loop, and its own ensemble function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import TOLERANCE, Case

from . import Array, Many, Single
from .graph import right_hand_side

BATCH = 8  # trajectories in one AVX-512 register; measured fastest of 4, 8 and 16 on the top and the chain


Equations = Callable[[Case, Any, Any], list[Any]]


def system(case: Case, equations: Equations = right_hand_side) -> list[tuple[Any, Any]]:
    """The emitted right-hand side, or others, as heyoka's expressions, with the parameters as numbers."""
    import heyoka as hy

    names = ("sin", "cos", "tan", "sqrt", "exp", "log", "asin", "acos", "atan", "sinh", "cosh", "tanh", "pow")
    functions = {name: getattr(hy, name) for name in names if hasattr(hy, name)}
    variables = [hy.expression(name) for name in case.model.states]
    zero = variables[0] * 0.0
    return [(x, rate + zero) for x, rate in zip(variables, equations(case, variables, functions))]


def single(case: Case, tolerance: float = TOLERANCE) -> Single:
    """One run; the integrator is compiled here and reused."""
    import heyoka as hy

    integrator = hy.taylor_adaptive(system(case), case.initial, tol=tolerance)

    def run(y0: Array, t_end: float) -> Array:
        integrator.time = 0.0
        integrator.state[:] = y0
        integrator.propagate_until(t_end)
        end: Array = integrator.state.copy()
        return end

    return run


def _batch(case: Case, tolerance: float, equations: Equations = right_hand_side) -> Any:
    import heyoka as hy

    return hy.taylor_adaptive_batch(
        system(case, equations), np.zeros((len(case.initial), BATCH)), tol=tolerance
    )


def many(
    case: Case,
    y: Array,
    t_end: float,
    tolerance: float = TOLERANCE,
    equations: Equations = right_hand_side,
) -> Many:
    """Eight trajectories at a time until all eight have finished, on one core.

    Refilling a finished lane would mean returning to Python after each step, which costs more than it saves.
    """
    integrator = _batch(case, tolerance, equations)
    count = y.shape[1]
    blocks = [np.ascontiguousarray(y[:, np.arange(i, i + BATCH) % count]) for i in range(0, count, BATCH)]
    out = np.empty((len(y), len(blocks) * BATCH))

    def run() -> Array:
        state, set_time, propagate = integrator.state, integrator.set_time, integrator.propagate_until
        for i, block in enumerate(blocks):
            set_time(0.0)
            state[:] = block
            propagate(t_end)
            out[:, i * BATCH : (i + 1) * BATCH] = state
        return out[:, :count]

    return run


def many_by_its_own_call(case: Case, y: Array, t_end: float, tolerance: float = TOLERANCE) -> Many:
    """``ensemble_propagate_until_batch``, which runs the batches in its own threads."""
    import heyoka as hy

    integrator = _batch(case, tolerance)
    count = y.shape[1]
    blocks = [np.ascontiguousarray(y[:, np.arange(i, i + BATCH) % count]) for i in range(0, count, BATCH)]

    def start(copy: Any, i: int) -> Any:
        copy.set_time(0.0)
        copy.state[:] = blocks[i]
        return copy

    def run() -> Array:
        ended = hy.ensemble_propagate_until_batch(integrator, t_end, len(blocks), start)
        return np.concatenate([batch[0].state for batch in ended], axis=1)[:, :count]

    return run

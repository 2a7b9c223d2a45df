"""Many trajectories with scattered velocities, t = 0..10; times are per trajectory.

Both sides do the same arithmetic in the rk4 rows (1000 steps); the dop853 rows add what the adaptive method gives at
rtol = atol = 1e-9. The error is that of the first trajectory, which starts from the catalogue's initial state.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from cases import CASES, TOLERANCE, Case, rk4_numpy

import chaplygin as cg

EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
STEP, STEPS, RUNS = 0.01, 1000, 2000


def scattered(case: Case, runs: int) -> np.ndarray:
    """Initial states of shape (n, runs), the first of them the catalogue's."""
    y = np.repeat(case.initial[:, None], runs, axis=1)
    first_velocity = len(case.equations.kinematics)
    y[first_velocity:, 1:] += 0.1 * np.random.default_rng(5).normal(size=(len(y) - first_velocity, runs - 1))
    return y


def group(case: Case) -> str:
    return f"ensemble, t=0..10, per trajectory: {case.key}"


def ensemble(case: Case, runs: int, threads: int, **options: Any) -> Any:
    y = scattered(case, runs)
    initial = dict(zip(case.model.states, y, strict=True))
    parameters = case.entry.parameters
    return lambda: cg.ensemble(
        case.model,
        (0.0, 10.0),
        n=runs,
        initial=initial,
        parameters=parameters,
        threads=threads,
        progress=False,
        **options,
    )


@EACH_CASE
def test_compiled_rk4(case: Case, timed: Any) -> None:
    timed(
        group(case),
        "chaplygin rk4, 1000 steps, 1 thread",
        ensemble(case, RUNS, 1, method="rk4", step=STEP),
        rounds=3,
        per=RUNS,
        error=lambda ens: case.error_at_10(ens.y[:, 0]),
        baseline=True,
    )


@EACH_CASE
@pytest.mark.parametrize("threads", [1, "all"])
def test_compiled_dop853(case: Case, threads: Any, timed: Any) -> None:
    count = 1 if threads == 1 else len(os.sched_getaffinity(0))
    timed(
        group(case),
        f"chaplygin dop853 1e-9, {count} thread{'s' * (count > 1)}",
        ensemble(case, RUNS, count, method="dop853", rtol=TOLERANCE, atol=TOLERANCE),
        rounds=5,
        per=RUNS,
        error=lambda ens: case.error_at_10(ens.y[:, 0]),
    )


@EACH_CASE
def test_numpy(case: Case, timed: Any) -> None:
    runs = RUNS if case.n is None else RUNS // 10
    field, y = case.python_field("numpy"), scattered(case, runs)
    timed(
        group(case),
        "NumPy RK4, 1000 steps, all runs at once",
        lambda: rk4_numpy(field, y, STEP, STEPS),
        rounds=2,
        per=runs,
        error=lambda final: case.error_at_10(final[:, 0]),
    )

"""Runge-Kutta of order 4 with fixed steps, 1000 steps to t = 10: compiled, and in plain Python."""

from __future__ import annotations

from typing import Any

import pytest
from cases import CASES, Case, rk4_plain

EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
STEP, STEPS = 0.01, 1000


@EACH_CASE
def test_compiled(case: Case, timed: Any) -> None:
    timed(
        f"rk4, 1000 steps: {case.key}",
        "chaplygin rk4",
        lambda: case.run(10.0, method="rk4", step=STEP, t_eval=[10.0]),
        rounds=50,
        error=lambda sol: case.error_at_10(sol.y[:, -1]),
        baseline=True,
    )


@EACH_CASE
def test_plain_python(case: Case, timed: Any) -> None:
    field, y = case.python_field(), case.initial.tolist()
    timed(
        f"rk4, 1000 steps: {case.key}",
        "plain Python RK4, lambdify",
        lambda: rk4_plain(field, y, STEP, STEPS),
        rounds=3,
        error=case.error_at_10,
    )

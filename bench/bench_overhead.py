"""The cost of a call from Python: one right-hand side in every form, one Jacobian, a run of ten steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import EVERY_FORM, SLEIGH, Case

EACH_FORM = pytest.mark.parametrize("case", EVERY_FORM, ids=lambda case: f"{case.key}-{case.form}")
CALLS = 2000


def deviation(case: Case, result: Any) -> float:
    """Deviation from the lambdified equations, relative to the largest entry."""
    expected = np.asarray(case.python_field()(0.0, case.initial.tolist()))
    return float(np.max(np.abs(np.asarray(result) - expected)) / np.max(np.abs(expected)))


@EACH_FORM
def test_rhs(case: Case, timed: Any) -> None:
    rhs, y, p = case.model.rhs, case.initial, case.parameters
    timed(
        f"one right-hand side: {case.key}, {case.form}",
        "model.rhs",
        lambda: rhs(0.0, y, p),
        rounds=50,
        iterations=CALLS,
        error=lambda result: deviation(case, result),
        baseline=True,
    )


@EACH_FORM
def test_rhs_by_lambdify(case: Case, timed: Any) -> None:
    field, y = case.python_field(), case.initial.tolist()
    timed(
        f"one right-hand side: {case.key}, {case.form}",
        "lambdify, math",
        lambda: field(0.0, y),
        rounds=20,
        iterations=CALLS // 10,
        error=lambda result: deviation(case, result),
    )


@EACH_FORM
def test_jacobian(case: Case, timed: Any) -> None:
    y, p = case.initial, case.parameters
    timed(
        f"one right-hand side: {case.key}, {case.form}",
        "model.jacobian",
        lambda: case.model.jacobian(0.0, y, p),
        rounds=20,
        iterations=CALLS // 10,
    )


@pytest.mark.parametrize("as_dicts", [False, True], ids=["arrays", "dicts"])
def test_ten_steps(as_dicts: bool, timed: Any) -> None:
    case = SLEIGH
    states: Any = dict(zip(case.model.states, case.initial.tolist())) if as_dicts else case.initial
    parameters: Any = dict(case.entry.parameters) if as_dicts else case.parameters
    integrate, end = case.model.integrate, np.array([0.1])
    span = (0.0, 0.1)
    timed(
        "integrate, ten steps of rk4: chaplygin_sleigh",
        "dicts" if as_dicts else "arrays",
        lambda: integrate(span, initial=states, parameters=parameters, method="rk4", step=0.01, t_eval=end),
        rounds=50,
        iterations=200,
        baseline=not as_dicts,
    )

"""One trajectory, t = 0..100 at rtol = atol = 1e-9: compiled, SciPy with lambdify, and peers.

The error beside each time is that of the same settings at t = 10, against a reference with 20 digits: the heavy top
magnifies a deviation by about 1e4 in ten seconds, so that nothing can be said about its state at t = 100.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from cases import CASES, T_END, TOLERANCE, Case
from scipy.integrate import solve_ivp

ROUNDS = 30
EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)


def alternating(ours: Callable[[], Any], theirs: Callable[[], Any]) -> float:
    """The median of our time over theirs, the two run by turns: what else the machine does hits both alike."""
    ratios = []
    for _ in range(ROUNDS):
        begin = perf_counter()
        ours()
        middle = perf_counter()
        theirs()
        ratios.append((middle - begin) / (perf_counter() - middle))
    return round(median(ratios), 3)


def group(case: Case) -> str:
    return f"one run, t=0..100, 1e-9: {case.key}"


@EACH_CASE
def test_compiled(case: Case, timed: Any) -> None:
    timed(
        group(case),
        "chaplygin dop853, every step kept",
        lambda: case.run(),
        rounds=50,
        error=case.error_at_10(case.run(10.0).y[:, -1]),
        baseline=True,
    )


@EACH_CASE
def test_compiled_end_only(case: Case, timed: Any) -> None:
    timed(
        group(case),
        "chaplygin dop853, end state only",
        lambda: case.run(t_eval=[T_END]),
        rounds=50,
        error=case.error_at_10(case.run(10.0, t_eval=[10.0]).y[:, -1]),
    )


@EACH_CASE
def test_scipy_with_lambdify(case: Case, timed: Any) -> None:
    field = case.python_field()

    def run(t_end: float) -> Any:
        return solve_ivp(field, (0, t_end), case.initial, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE)

    error = case.error_at_10(run(10.0).y[:, -1])
    timed(group(case), "SciPy DOP853, lambdify", lambda: run(T_END), rounds=3, warmup=False, error=error)


@EACH_CASE
@pytest.mark.parametrize("method", ["dop853", "lsoda"])
def test_numbalsoda(case: Case, method: str, timed: Any) -> None:
    numbalsoda = pytest.importorskip("numbalsoda")
    from peers import emitted_for_numbalsoda

    address, solver = emitted_for_numbalsoda(case), getattr(numbalsoda, method)

    def run(t_end: float) -> Any:
        states, success = solver(
            address,
            case.initial,
            np.array([0.0, t_end]),
            data=case.parameters,
            rtol=TOLERANCE,
            atol=TOLERANCE,
            mxstep=10_000_000,
        )
        assert success
        return states[-1]

    error = case.error_at_10(run(10.0))
    timed(
        group(case),
        f"numbalsoda {method}, emitted C",
        lambda: run(T_END),
        rounds=50,
        error=error,
        ours_to_this_by_turns=alternating(lambda: case.run(t_eval=[T_END]), lambda: run(T_END)),
    )


@EACH_CASE
def test_heyoka(case: Case, timed: Any) -> None:
    heyoka = pytest.importorskip("heyoka")
    from peers import heyoka_system

    integrator = heyoka.taylor_adaptive(heyoka_system(case), case.initial, tol=TOLERANCE)

    def run(t_end: float) -> Any:
        integrator.time = 0.0
        integrator.state[:] = case.initial
        integrator.propagate_until(t_end)
        return integrator.state.copy()

    error = case.error_at_10(run(10.0))
    timed(group(case), "heyoka Taylor 1e-9", lambda: run(T_END), rounds=20, error=error)

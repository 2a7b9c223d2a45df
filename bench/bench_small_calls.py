"""The cost of the small calls that a host makes between two time steps: medians of many calls.

In C each takes about a microsecond, so this measures the Python overhead: reading arguments, looking up names, building
results.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp

import chaplygin as cg

CALLS = 1000
ROUNDS = 100
DT = 1e-3


@cache
def sleigh() -> Any:
    """The Chaplygin sleigh driven by a couple."""
    phi, x, y = cg.coordinates("phi x y")
    omega, v, w = cg.velocities("omega v w")
    m, a, J = cg.parameters("m a J", positive=True)
    tau = cg.inputs("tau")
    system = cg.System(
        "driven_sleigh",
        kinematics={phi: omega, x: v * sp.cos(phi) - w * sp.sin(phi), y: v * sp.sin(phi) + w * sp.cos(phi)},
        kinetic=m * (v**2 + (w + a * omega) ** 2) / 2 + J * omega**2 / 2,
        forces={omega: tau},
        constraints=[w],
        outputs={"speed": sp.sqrt(v**2 + w**2)},
        example={m: 1, a: 0.2, J: 0.5, phi: 0, x: 0, y: 0, omega: 1, v: 1, w: 0, tau: 0},
    )
    return system.compile("maggi", independent=[omega, v])


NAMED = (
    {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": 1.0, "v": 1.0},
    {"m": 1.0, "a": 0.2, "J": 0.5},
    {"tau": 0.1},
)
VECTORS = tuple(np.array(list(table.values())) for table in NAMED)


def stepper() -> Any:
    return sleigh().stepper(*NAMED)


def by_name() -> Callable[[], Any]:
    run = stepper()
    return lambda: run.set_inputs(tau=0.2)


def as_vector() -> Callable[[], Any]:
    run, u = stepper(), np.array([0.3])
    return lambda: run.set_inputs(u)


def alone() -> Callable[[], Any]:
    run = stepper()
    return lambda: run.advance_by(DT)


def after_inputs() -> Callable[[], Any]:
    run, u = stepper(), np.array([0.3])

    def call() -> None:
        run.set_inputs(u)
        run.advance_by(DT)

    return call


def with_friction() -> Callable[[], Any]:
    """The contact's mode is chosen again after every change of the inputs."""
    entry = cg.example("brick_on_incline")
    run, u = entry.system.compile().stepper(entry.initial, entry.parameters, {"F": 30.0}), np.array([30.0])

    def call() -> None:
        run.set_inputs(u)
        run.advance_by(DT)

    return call


def other_state() -> Callable[[], Any]:
    run = stepper()
    return lambda: run.set_state(omega=1.5)


def other_parameter() -> Callable[[], Any]:
    run = stepper()
    return lambda: run.set_parameters(m=2.0)


def state_by_name() -> Callable[[], Any]:
    run = stepper()
    return lambda: run["omega"]


def invariant_by_name() -> Callable[[], Any]:
    run = stepper()
    return lambda: run.evaluate("energy")


def all_outputs() -> Callable[[], Any]:
    run = stepper()
    return lambda: run.outputs


def evaluate(*given: Any) -> Callable[[], Callable[[], Any]]:
    return lambda: lambda: sleigh().evaluate(0.0, *given)


def right_hand_side(*given: Any) -> Callable[[], Callable[[], Any]]:
    return lambda: lambda: sleigh().rhs(0.0, *given)


ROWS = {
    "model.rhs, arrays": right_hand_side(*VECTORS),
    "model.rhs, dicts": right_hand_side(*NAMED),
    "model.evaluate, arrays": evaluate(*VECTORS),
    "model.evaluate, dicts": evaluate(*NAMED),
    "run.set_inputs(tau=0.2)": by_name,
    "run.set_inputs(vector)": as_vector,
    "run.advance_by, one step": alone,
    "run.set_inputs(vector) and run.advance_by": after_inputs,
    "the same with a rough contact": with_friction,
    "run.set_state(omega=1.5)": other_state,
    "run.set_parameters(m=2)": other_parameter,
    'run["omega"], a state': state_by_name,
    'run.evaluate("energy")': invariant_by_name,
    "run.outputs": all_outputs,
}


@pytest.mark.parametrize("row", ROWS)
def test_small_calls(row: str, timed: Any) -> None:
    timed("small calls", row, ROWS[row](), rounds=ROUNDS, iterations=CALLS)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("NumPy and chaplygin.runtime", "import chaplygin.runtime as r; r.Model"),
        ("and load_model", "import sys, chaplygin.runtime as r; r.load_model(sys.argv[1])"),
    ],
)
def test_load_model_in_a_new_process(row: str, code: str, timed: Any) -> None:
    command = [sys.executable, "-c", code, sleigh().owner.__file__]
    timed("a new process", row, lambda: subprocess.run(command, check=True), rounds=10)

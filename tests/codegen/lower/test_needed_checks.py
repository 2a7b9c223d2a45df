"""Kernels check the pivots that they divide by, and no others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from runtime_models import needs_core

import chaplygin as cg
from chaplygin.codegen.emit.python_backend import python_kernel
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.lower.lower import lower
from chaplygin.runtime import KernelError
from chaplygin.runtime.interface.messages import short

FORMS = {
    "heavy_top": "poincare",
    "euler_rigid_body": "poincare",
    "torus_nonuniform": "lagrange",
    "chaplygin_sleigh": "maggi",
    "chaplygin_sleigh in multipliers": "multipliers",
    "double_pendulum": "lagrange",
}


@needs_core
def test_outputs_that_divide_by_nothing() -> None:
    """Of a top without inertia about its first axis, whose equations of motion are singular."""
    from chaplygin.generated.heavy_top import model

    example = cg.example("heavy_top")
    p = {**example.parameters, "I1": 0.0}
    x = [example.initial[name] for name in model.states]
    refused("singular", model.rhs, 0, x, p, error=KernelError)
    q0, q1, q2, q3, w2, w3 = (example.initial[name] for name in ("q0", "q1", "q2", "q3", "w2", "w3"))
    up = 2 * (q1 * q3 - q0 * q2), 2 * (q0 * q1 + q2 * q3), 1 - 2 * (q1**2 + q2**2)
    momentum = up[1] * p["I2"] * w2 + up[2] * p["I3"] * w3
    found = model.call("outputs", 0, x, p)
    assert found[model.outputs.index("vertical_momentum")] == pytest.approx(momentum, rel=1e-12)


@pytest.mark.parametrize("name", FORMS)
def test_a_value_that_exists_is_given(name: str) -> None:
    """With each parameter at 0: where the derived expressions are all finite, a kernel that is as simple gives them.

    A kernel may divide by a sum in which the pivot is one term, so what is refused must contain a division.
    """
    system = cg.example(name.split()[0]).system
    eqs = system.equations(FORMS[name])
    program = eqs.program
    plain = lower(eqs.nodes)
    rng = np.random.default_rng(4)
    given = 0
    for kernel in plain.kernels.values():
        if kernel.takes != "state" or kernel.solves:
            continue
        g = plain.graph
        divides = any(g.op[n] == "div" for n in g.reachable(kernel.outputs))
        run = python_kernel(program, kernel.name)
        assert divides or not program.kernels[kernel.name].pivots
        for k in range(len(program.parameters)):
            p = rng.uniform(0.5, 1.5, len(program.parameters)).tolist()
            p[k] = 0.0
            x, u = (
                rng.normal(size=len(program.states)).tolist(),
                rng.normal(size=len(program.inputs)).tolist(),
            )
            values = {
                **dict(zip((v.name for v in program.states), x)),
                **dict(zip((v.name for v in program.parameters), p)),
                **dict(zip((v.name for v in program.inputs), u)),
                program.independent: 0.3,
            }
            try:
                expected = [float(v) for v in evaluate(g, kernel.outputs, values)]
            except ArithmeticError:
                continue
            if not all(map(math.isfinite, expected)) or divides:
                continue
            found = run(0.3, x, p, u)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (kernel.name, short(values))
            given += 1
    assert given or name == "chaplygin_sleigh in multipliers"


@needs_core
def test_what_is_divided_by_is_still_checked() -> None:
    """A pendulum whose tension is an output, which needs the acceleration, beside its energy, which does not."""
    a = cg.coordinates("a")
    m, length = cg.parameters("m length")
    motion: dict[str, Any] = {
        "coordinates": [a],
        "kinetic": m * length**2 * cg.rate(a) ** 2 / 2,
        "potential": -m * length * sp.cos(a),
    }
    free = cg.System("still", outputs={"speed": length * cg.rate(a)}, **motion).compile()
    x, p = [0.3, 0.2], {"m": 0.0, "length": 2.0}
    found = free.call("outputs", 0, x, p)
    assert found[free.outputs.index("speed")] == 0.4
    refused("singular", free.rhs, 0, x, {"m": 1.0, "length": 0.0}, error=KernelError)

"""The table of kernels: one added by a row, calls by name, the independent variable, and checks of pivots."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from integrations import need
from refusals import refused
from runtime_models import model as by_hand, needs_core

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.emit.python_backend import python_kernel
from chaplygin.codegen.emit.targets import emit, emit_to
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.lower import kernels
from chaplygin.codegen.lower.dynamics import Dynamics
from chaplygin.codegen.lower.lower import lower
from chaplygin.codegen.lower.lowered import Kernel, KernelRow
from chaplygin.runtime import ArgumentError, KernelError
from chaplygin.runtime.interface.messages import short

HEADER = Path(__file__).resolve().parents[3] / "runtime" / "c" / "chaplygin.h"

X = cg.coordinates("x")
M, C, K = cg.parameters("m c k", positive=True)
V = cg.rate(X)


def divergence(d: Dynamics) -> Iterator[Kernel]:
    """The sum of d(dx_i/dt)/dx_i over the states."""
    slopes = [d.variation({s: d.graph.one}, [])[i] for i, s in enumerate(d.eqs.state_nodes)]
    yield d.kernel("divergence", [d.graph.sum(slopes)], ["divergence of the flow"])


@pytest.fixture
def equations(monkeypatch: pytest.MonkeyPatch) -> Any:
    """m x'' = -k x - c x'^3, lowered with one more row in the table of kernels."""
    row = KernelRow("divergence", "the divergence of the flow")
    monkeypatch.setattr(kernels, "KERNELS", {**kernels.KERNELS, row: divergence})
    damped = cg.System(
        "damped", coordinates=[X], kinetic=M * V**2 / 2, potential=K * X**2 / 2, forces={V: -C * V**3}
    )
    equations = damped.equations("lagrange")
    assert "divergence" in equations.program.kernels
    return equations


@needs_core
def test_a_kernel_of_one_row_is_called_from_python(equations: Any) -> None:
    speeds = np.linspace(-2, 2, 7)
    y, p = np.array([np.full(7, 0.3), speeds]), {"m": 2.0, "c": 0.5, "k": 7.0}
    for model in (cg.compile(equations), python_model(equations.program, quiet=True)):
        assert model.kernels["divergence"] == 1
        values = model.call("divergence", 0, y, p)
        assert values.shape == (1, 7)
        np.testing.assert_allclose(values[0], -3 * 0.5 * speeds**2 / 2.0, rtol=1e-15)
        assert model.call("divergence", 0, {"x": 0.3, "x_dot": 2.0}, p).tolist() == [-3.0]


MAIN = """
#include <stdio.h>
#include "damped_core.h"

int main(void)
{
    const cg_kernel_entry_t *const entry = cg_kernel(&damped_model, "divergence");
    const double x[2] = {0.3, 2.0}, p[3] = {%s};
    double out[1];

    if (entry == NULL || entry->takes != CG_TAKES_STATE || entry->length != 1) return 1;
    if (cg_kernel(&damped_model, "no_such_kernel") != NULL || cg_kernel(&damped_model, "guards") != NULL) return 2;
    if (cg_kernel(&damped_model, "rhs")->function != (cg_function_t)damped_model.rhs) return 3;
    if (((cg_kernel_t)entry->function)(0.0, x, p, NULL, out, NULL) != CG_OK) return 4;
    printf("%%s: %%.17g\\n", entry->text, out[0]);
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_a_kernel_of_one_row_is_called_from_c(equations: Any, compiler: str, tmp_path: Path) -> None:
    emit_to(equations.program, tmp_path)
    values = {"m": 2.0, "c": 0.5, "k": 7.0}
    (tmp_path / "main.c").write_text(
        MAIN % ", ".join(str(values[v.name]) for v in equations.program.parameters)
    )
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
    if compiler == "g++":
        flags += ["-x", "c++", "-std=c++17"]
    command = [need(compiler), *flags, "-o", "main", "main.c", "damped_core.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    text = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert text == "the divergence of the flow: -3\n"


def test_the_emitted_table_is_in_the_order_of_the_header(equations: Any) -> None:
    """C++17 has no designated initializers, so the members are told apart by their order alone."""
    header = HEADER.read_text(encoding="utf-8")
    body = header[header.index("typedef struct cg_model {") : header.index("} cg_model_t;")]
    members = re.findall(r"(\w+);", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    text = emit(equations.program).files["damped_core.c"]
    emitted = re.findall(r", /\* (\w+) \*/$", text[text.index("const cg_model_t damped_model = {") :], re.M)
    assert emitted == members
    assert len(members) > 40


@needs_core
def test_calls_by_name_give_what_the_methods_give() -> None:
    model = by_hand("oscillator")
    assert model.kernels == {"rhs": 2, "jvp": 2, "jacobian": 4, "outputs": 2, "invariants": 1}
    y, p, u, dy = [0.5, -1.0], [2.0, 8.0], [3.0], [0.25, 4.0]
    assert model.call("rhs", 0, y, p, u).tolist() == model.rhs(0, y, p, u).tolist() == [-1.0, -0.5]
    assert model.call("jvp", 0, y, p, u, dy=dy).tolist() == model.jvp(0, y, p, dy, u).tolist() == [4.0, -1.0]
    assert model.call("jacobian", 0, y, p, u).tolist() == [0.0, 1.0, -4.0, 0.0]
    assert model.call("invariants", 0, y, p, u).tolist() == [2.0]
    momentum = by_hand("momentum")
    assert momentum.call("initial", 0, [0.5, -1.0], [2.0, 8.0, 0.0]).tolist() == [0.5, -2.0, 2.0, 8.0, 2.0]


@needs_core
def test_a_kernel_of_events_takes_the_name_of_an_event() -> None:
    z, g = cg.coordinates("z"), cg.parameters("g")
    floor = cg.Event(z, name="floor", reset={cg.rate(z): -cg.rate(z) / 4})
    top = cg.Event(cg.rate(z), name="top")
    ball = cg.System(
        "ball", coordinates=[z], kinetic=cg.rate(z) ** 2 / 2, potential=g * z, events=[top, floor]
    )
    model = ball.compile()
    assert model.call("reset", 0, [5.0, -8.0], [9.81], event="floor").tolist() == [5.0, 2.0]
    assert model.call("reset", 0, [5.0, -8.0], [9.81], event="top").tolist() == [5.0, -8.0]
    assert model.call("guards", 0, [5.0, -8.0], [9.81]).tolist() == [-8.0, 5.0]
    with pytest.raises(ArgumentError, match="event: unknown flor; did you mean floor"):
        model.call("reset", 0, [5.0, -8.0], [9.81], event="flor")
    refused(r"ball\.reset: event is missing", model.call, "reset", 0, [5.0, -8.0], [9.81])


@needs_core
def test_calls_that_are_refused() -> None:
    model = by_hand("oscillator")
    y, p, u = [0.5, -1.0], [2.0, 8.0], [3.0]
    refused(
        r"'output' is not a kernel of oscillator; .*did you mean outputs", model.call, "output", 0, y, p, u
    )
    refused(r"oscillator\.jvp: dy is missing", model.call, "jvp", 0, y, p, u)
    refused(r"oscillator\.rhs: dy is not used", model.call, "rhs", 0, y, p, u, dy=y)
    refused(r"dy has shape \(3,\)", model.call, "jvp", 0, y, p, u, dy=[1.0, 2.0, 3.0])
    with pytest.raises(KernelError, match=r"oscillator.rhs at t = 0: the mass matrix .* singular"):
        model.call("rhs", 0, y, [0.0, 8.0], u)


@needs_core
def test_the_independent_variable_has_a_name() -> None:
    for name, form, along in (("chaplygin_sleigh", "maggi", None), ("chaplygin_sleigh", "whittaker", "phi")):
        equations = cg.example(name).system.equations(form)
        for model in (equations.compile(), python_model(equations.program, quiet=True)):
            assert model.independent == (along or "t")
            assert model.along == along


def test_a_jacobian_is_given_up_where_it_becomes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waist of the arm has no effect; the columns of two more joints have more than 4000 operations."""
    taken: list[Any] = []
    variation = Dynamics.variation

    def counted(d: Dynamics, direction: Any, solves: Any) -> Any:
        taken.append(direction)
        return variation(d, direction, solves)

    d = Dynamics(cg.example("robot_arm").system.equations("lagrange").nodes, tuple)
    monkeypatch.setattr(Dynamics, "variation", counted)
    assert not list(kernels.jacobian(d))
    assert len(taken) == 3


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

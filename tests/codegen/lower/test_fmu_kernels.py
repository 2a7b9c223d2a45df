"""The kernels that only FMUs have: frozen relations, and derivatives along directions and in reverse."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp
from dense_chain import dense_chain

import chaplygin as cg
from chaplygin.codegen.emit.graph_file import graph_files
from chaplygin.codegen.emit.python_backend import python_kernel
from chaplygin.codegen.lower.lowered import Lowered
from chaplygin.codegen.lower.lowered_text import QUANTITIES, read_graph
from chaplygin.codegen.plan.fmu_kernels import with_fmu_kernels
from chaplygin.codegen.plan.plan import Program, plan


def of_fmu(program: Lowered) -> Program:
    """The program as an FMU gets it, from the text of its graph, with the kernels of the model."""
    (text,) = graph_files(program, "").values()
    graph, kernels, unarranged = read_graph(text)
    made = with_fmu_kernels(replace(program, graph=graph, kernels=kernels, unarranged=unarranged), QUANTITIES)
    return plan(replace(made, kernels={**kernels, **made.kernels}))


@functools.cache
def chain() -> tuple[Program, Program]:
    """A pendulum with so many links that its accelerations are solved for by a loop; alone, and as an FMU gets it."""
    program = dense_chain(13).system.equations("lagrange").program
    assert program.kernels["rhs"].solves
    return program, of_fmu(program)


def test_a_graph_is_read_as_it_was_written() -> None:
    program, _ = chain()
    ((name, text),) = graph_files(program, "make").items()
    graph, kernels, unarranged = read_graph(text)
    again = plan(replace(program, graph=graph, kernels=kernels, unarranged=unarranged))
    assert graph_files(again, "make") == {name: text}
    point = 0.0, [0.1 * i for i in range(26)], [1.0 + 0.1 * i for i in range(len(program.parameters))], ()
    for kernel in ("rhs", "outputs", "invariants"):
        found, ours = (python_kernel(p, kernel)(*point) for p in (again, program))
        np.testing.assert_allclose(found, ours, rtol=1e-13, atol=1e-13)  # parameters alone are not hoisted


def test_derivatives_go_through_solved_systems() -> None:
    program, made = chain()
    random = np.random.default_rng(3)
    n, n_p = len(program.states), len(program.parameters)
    y, p = random.normal(size=n), random.uniform(1, 2, n_p)
    variables = 1 + n + n_p
    v, w = np.zeros(variables), random.normal(size=n)
    v[1 : 1 + n] = random.normal(size=n)
    ours = np.array(python_kernel(program, "jvp")(0.0, y, p, (), v[1 : 1 + n]))
    along = np.array(python_kernel(made, "along_rhs")(0.0, y, p, (), v))
    scale = np.abs(ours).max()
    np.testing.assert_allclose(along, ours, rtol=0, atol=1e-13 * scale)
    weighted = np.array(python_kernel(made, "adjoint_rhs")(0.0, y, p, (), w))
    assert weighted @ v == pytest.approx(w @ ours, rel=1e-12, abs=1e-12 * scale)


def test_derivatives_by_a_parameter_that_scales_all_forces() -> None:
    """At rest, the accelerations of a pendulum are proportional to g."""
    program, made = chain()
    names = [v.name for v in program.parameters]
    y = [0.1 * i for i in range(13)] + [0.0] * 13
    p = [9.81 if name == "g" else 1.0 for name in names]
    v = [0.0] * (1 + len(y) + len(p))
    v[1 + len(y) + names.index("g")] = 1.0
    ours = np.array(python_kernel(program, "rhs")(0.0, y, p, ())) / 9.81
    found = python_kernel(made, "along_rhs")(0.0, y, p, (), v)
    np.testing.assert_allclose(found, ours, rtol=1e-12, atol=1e-13)


# ---- kinks ----


@functools.cache
def kinked() -> Lowered:
    """Two unit masses, driven by every function that has a kink."""
    x, y = cg.coordinates("x y")
    u, w = cg.rate(x), cg.rate(y)
    pieces = sp.Piecewise((x**2, x < y), (y**3, True))
    forces = {
        u: -3 * sp.Abs(x) - sp.sign(w),
        w: sp.Max(x, y) + 5 * pieces + sp.Min(x, 2) + sp.Abs(sp.Abs(x) - 1),
    }
    system = cg.System("kinked", coordinates=[x, y], kinetic=(u**2 + w**2) / 2, forces=forces)
    return of_fmu(system.equations("lagrange").program)


def sides(state: Any) -> list[float]:
    program = kinked()
    values = python_kernel(program, "guards")(0.0, state, (), ())
    return [float(np.sign(value)) for value in values]


def by_hand(at: Any, state: Any) -> list[float]:
    """The right-hand side at a state, with the relations of another one."""
    (x, y, u, w), (x0, y0, _, w0) = state, at
    distance = x if x0 > 0 else -x
    first = -3 * distance - (1 if w0 > 0 else -1)
    second = (x if x0 > y0 else y) + 5 * (x**2 if x0 < y0 else y**3) + (x if x0 < 2 else 2)
    second += (distance - 1) if abs(x0) > 1 else (1 - distance)
    return [u, w, first, second]


def test_frozen_relations_follow_the_sides_and_not_the_state() -> None:
    program, random = kinked(), np.random.default_rng(4)
    own, frozen = python_kernel(program, "rhs"), python_kernel(program, "frozen_rhs")
    for _ in range(100):
        at, state = random.uniform(-3, 3, (2, 4)).tolist()
        assert own(0.0, at, (), ()) == pytest.approx(by_hand(at, at), rel=1e-14)
        assert frozen(0.0, state, sides(at), ()) == pytest.approx(by_hand(at, state), rel=1e-14)


def test_on_a_kink_the_side_is_zero_as_is_the_sign() -> None:
    state = [0.0, 1.0, 0.5, 0.0]
    found = python_kernel(kinked(), "frozen_rhs")(0.0, state, sides(state), ())
    assert found == [0.5, 0.0, 0.0, 1.0 + 0.0 + 0.0 + 1.0]


def test_derivatives_are_frozen_too() -> None:
    program, random = kinked(), np.random.default_rng(5)
    along, adjoint = (python_kernel(program, f"{kind}_rhs") for kind in ("along", "adjoint"))
    h = 2.0**-12
    for _ in range(20):
        at, state, v = random.uniform(-3, 3, (3, 4))
        ahead, behind = (np.array(by_hand(at, state + s * h * v)) for s in (1, -1))
        twice = [np.array(by_hand(at, state + s * 2 * h * v)) for s in (1, -1)]
        # exact for cubic polynomials
        ours = (8 * (ahead - behind) - (twice[0] - twice[1])) / (12 * h)
        found = along(0.0, state.tolist(), sides(at.tolist()), (), [0.0, *v.tolist()])
        np.testing.assert_allclose(found, ours, rtol=1e-9, atol=1e-9)
        weights = random.normal(size=4)
        back = np.array(adjoint(0.0, state.tolist(), sides(at.tolist()), (), weights.tolist()))
        assert back[1:] @ v == pytest.approx(weights @ found, rel=1e-12, abs=1e-12)

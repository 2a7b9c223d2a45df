"""Random kernels in every language: each compiles, and has the values and derivatives of mpmath."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
import sympy.physics.mechanics as me
from c_runtime import run
from integrations import need
from mpmath import mp
from random_kernels import (
    INPUTS,
    NAMES,
    PARAMETERS,
    STATES,
    c_unit,
    lanes_unit,
    random_program,
    slopes_of,
    values_of,
)
from sympy.codegen import ast

import chaplygin as cg
from chaplygin.codegen.emit.python_backend import python_kernel
from chaplygin.codegen.emit.single_precision import single_precision
from chaplygin.codegen.emit.write_folder import headers_of
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.lower.derivatives import with_derivatives
from chaplygin.codegen.lower.lowered import Lowered
from chaplygin.codegen.plan.plan import Program, plan
from chaplygin.runtime.interface.files import INCLUDE

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
STRICT += ["-Wno-unused-function", "-Wno-psabi"]
BLOCK = 20
BLOCKS = [range(start, start + BLOCK) for start in range(0, 500, BLOCK)]

Call = Callable[[str, Sequence[float], int], np.ndarray]
"""(kernel, (t, x, p, u, v), number of results) -> results, one row for each lane."""


def built(text: str, folder: Path, lanes: int, scalar: str = "double") -> Call:
    texts = {"unit.c": text}
    if scalar == "float":
        texts = single_precision(texts | headers_of(texts))
    folder.mkdir()
    for name, content in texts.items():
        (folder / name).write_text(content, encoding="utf-8")
    library = folder / "unit.so"
    flags = [*STRICT, "-O0", "-ffp-contract=off", f"-DCG_LANES={lanes}", "-shared", "-fPIC", f"-I{INCLUDE}"]
    run([need("gcc"), *flags, folder / "unit.c", "-o", library, "-lm"])
    loaded = ctypes.CDLL(str(library))
    real = ctypes.c_double if scalar == "double" else ctypes.c_float

    def call(kernel: str, given: Sequence[float], count: int) -> np.ndarray:
        found = (real * (count * lanes))()
        assert loaded[f"call_{kernel}"]((real * len(given))(*given), found) == 0
        return np.array(found).reshape(count, lanes).T

    return call


def by_sympy(program: Program, kernel: str, given: Sequence[float], count: int) -> list[float]:
    """The results of the statements of `to_sympy`."""
    arrays: dict[Any, Any] = {}
    for array, begin, names in (("x", 1, STATES), ("p", 4, PARAMETERS), ("u", 6, INPUTS)):
        arrays |= {(f"cg_{array}", i): given[begin + i] for i in range(len(names))}
    known = {"t": given[0], "cg_t": given[0]}

    def value(e: Any) -> Any:
        if isinstance(e, ast.Element):
            return arrays[str(e.symbol), int(e.indices[0])]
        names = {str(s): known[str(s)] for s in e.free_symbols}
        called = sp.lambdify(list(e.free_symbols), e, modules=[{"fma": lambda a, b, c: a * b + c}, "math"])
        return called(*(names[str(s)] for s in e.free_symbols))

    for line in program.to_sympy(kernel).args:
        if isinstance(line, ast.Declaration):
            known[str(line.variable.symbol)] = value(line.variable.value)
        elif isinstance(line, ast.Assignment):
            arrays[str(line.lhs.symbol), int(line.lhs.indices[0])] = value(line.rhs)
        else:
            angle, sine, cosine = line.function_args
            known |= {str(sine): np.sin(value(angle)), str(cosine): np.cos(value(angle))}
    return [arrays["cg_out", i] for i in range(count)]


def point(seed: int, count: int) -> list[float]:
    draw = random.Random(seed)
    return [draw.uniform(0.1, 0.9) * draw.choice([-1, 1]) for _ in range(count)]


def usual(
    program: Lowered, seeds: Sequence[int]
) -> tuple[dict[str, tuple[list[float], list[float]]], set[str]]:
    """{kernel: (point, values)} where doubles determine the values: not at a jump, as sign(sin(pi)) is.

    Then the kernels of these that single precision determines too: 24 bits make another sin(pi).
    """
    found, short = {}, set()
    for seed in seeds:
        kernel, given = program.kernels[f"k{seed}"], point(seed, len(NAMES))
        with mp.workdps(60):
            values = [float(v) for v in values_of(program.graph, kernel.outputs, given)]
        with mp.workprec(24):
            coarse = [float(v) for v in values_of(program.graph, kernel.outputs, given)]
        rough = evaluate(program.graph, kernel.outputs, dict(zip(NAMES, given, strict=True)))
        if max(map(abs, values)) < 1e4 and rough == pytest.approx(values, rel=1e-11, abs=1e-11):
            found[kernel.name] = given, values
            if coarse == pytest.approx(values, rel=1e-4, abs=1e-4):
                short.add(kernel.name)
    assert len(found) >= len(short) > 0.9 * len(seeds)
    return found, short


EVERY = pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: str(seeds[0]))


@pytest.mark.slow
@EVERY
def test_random_kernels_have_mpmaths_values_in_every_language(seeds: Sequence[int], tmp_path: Path) -> None:
    program = random_program(seeds)
    (expected, coarse), made = usual(program, seeds), plan(program)
    single = built(c_unit(made), tmp_path / "c", 1)
    lanes = [built(lanes_unit(made), tmp_path / f"lanes{n}", n) for n in (1, 4)]
    short = built(c_unit(made), tmp_path / "float", 1, "float")
    for name, (given, values) in expected.items():
        close, begin = pytest.approx(values, rel=1e-11, abs=1e-11), 1 + len(STATES)
        (found,) = single(name, given, 2)
        assert found == close, name
        for each in lanes:
            assert (each(name, given, 2) == found).all(), name
        if name in coarse:
            assert short(name, given, 2)[0] == pytest.approx(values, rel=1e-3, abs=1e-3), name
        python = python_kernel(made, name)(given[0], given[1:begin], given[begin:-1], given[-1:])
        assert python == close, name
        assert by_sympy(made, name, given, 2) == close, name


@pytest.mark.sample(1)
@EVERY
def test_random_kernels_have_the_derivatives_of_differences(seeds: Sequence[int], tmp_path: Path) -> None:
    program = random_program(seeds)
    (expected, _), unit = usual(program, seeds), np.eye(len(NAMES))
    made = [plan(with_derivatives(random_program(seeds), kind)) for kind in ("along", "adjoint")]
    along, adjoint = (built(lanes_unit(m), tmp_path / str(i), 2) for i, m in enumerate(made))
    for name, (given, values) in expected.items():
        outputs = program.kernels[name].outputs
        columns = np.array([slopes_of(program.graph, outputs, given, v) for v in unit], float)
        v, w = point(1, len(NAMES)), point(2, len(outputs))
        size = max(1.0, np.abs(columns).max())
        for row in along(f"along_{name}", [*given, *v], 4):
            assert row == pytest.approx([*values, *v @ columns], rel=1e-9, abs=1e-9 * size), name
        for row in adjoint(f"adjoint_{name}", [*given, *w], 2 + len(NAMES)):
            assert row == pytest.approx([*values, *columns @ w], rel=1e-9, abs=1e-9 * size), name


def test_a_sum_of_constants_that_is_used_twice() -> None:
    """q'' = -(1 + pi)^2 q: q = q0 cos((1 + pi) t), and its derivative by q0, with several lanes."""
    q, m = cg.coordinates("q"), cg.parameters("m", positive=True)
    system = cg.System(
        "twice", coordinates=[q], kinetic=m * cg.rate(q) ** 2 / 2, potential=m * (1 + sp.pi) ** 2 * q**2 / 2
    )
    model, turn = system.compile(), (1 + np.pi) * 0.7
    starts, tight = np.array([0.3, -0.5, 1.1]), {"rtol": 1e-11, "atol": 1e-11, "parameters": {"m": 2.0}}
    found = cg.ensemble(model, (0, 0.7), initial={"q": starts, "q_dot": 0.0}, lanes=2, **tight)
    assert found["q"] == pytest.approx(starts * np.cos(turn), abs=1e-9)
    run = model.integrate((0, 0.7), {"q": 0.3, "q_dot": 0.0}, sensitivities=["q"], **tight)
    assert run.sensitivity["q", "q"][-1] == pytest.approx(np.cos(turn), abs=1e-9)


def test_the_negation_of_a_negative_product() -> None:
    """Two unit links without weight, turned relative to each other by the integral of cos t, which slows u1 down.

    With c = cos(q1 - q2), s = sin(q1 - q2) and u1 - u2 = cos t, the equation of u1 is that of the momentum:
    (3 + 2 c) u1' = s (u1 + u2) cos t - (1 + c) sin t, from T = u1^2 + u2^2/2 + c u1 u2.
    """
    q1, q2, u1, u2, f = me.dynamicsymbols("q1 q2 u1 u2 f")
    space, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(space, 0)
    bodies, joint = [], origin
    for i, (q, u) in enumerate(((q1, u1), (q2, u2))):
        frame = space.orientnew(f"A{i}", "Axis", [q, space.z])
        frame.set_ang_vel(space, u * space.z)
        end = joint.locatenew(f"P{i}", frame.x)
        end.v2pt_theory(joint, space, frame)
        bodies.append(me.Particle(f"p{i}", end, 1))
        joint = end
    kane = me.KanesMethod(
        space, [q1, q2], [u1], kd_eqs=[q1.diff() - u1, q2.diff() - u2],
        u_dependent=[u2], velocity_constraints=[u1 - u2 - f], bodies=bodies,
    )  # fmt: skip
    model = cg.from_sympy(kane, "links", prescribed={f: sp.cos(me.dynamicsymbols._t)}).compile()
    at, a, b, u = 0.3, 0.4, -0.5, 0.7
    v, c, s = u - math.cos(at), math.cos(a - b), math.sin(a - b)
    state = dict(zip(("q1", "q2", "u1", "u2"), (a, b, u, v), strict=True))
    rates = dict(zip(model.states, model.rhs(at, [state[n] for n in model.states], []), strict=True))
    # d/dt(2 u1 + c u2) + s u1 u2 + d/dt(u2 + c u1) - s u1 u2 = 0, with u2' = u1' + sin t and c' = -s (u1 - u2)
    expected = (s * (u - v) * (u + v) - (1 + c) * math.sin(at)) / (3 + 2 * c)
    assert rates["u1"] == pytest.approx(expected, rel=1e-14)

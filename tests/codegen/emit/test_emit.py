"""Emitted texts: the golden set, the SymPy view, the pure-Python backend, warnings, every function in compiled code."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from c_runtime import STRICT, run
from dense_chain import dense_chain
from fused import fma
from integrations import need
from sympy.codegen import ast
from sympy.printing.c import C99CodePrinter
from sympy.printing.precedence import PRECEDENCE

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.emit.python_backend import python_source
from chaplygin.codegen.emit.targets import emit, emit_to
from chaplygin.codegen.lower.lowered import has_functions
from chaplygin.generated.__main__ import GOLDEN, differences

ROOT = Path(__file__).resolve().parents[3]


def every_function() -> cg.System:
    """A system with a force that contains every function that can be emitted."""
    x, y = cg.coordinates("x y")
    a = cg.parameters("a", positive=True)
    u = cg.inputs("u")
    vx, vy = cg.rate(x), cg.rate(y)
    force = (
        sp.sqrt(1 + x**2) + sp.exp(-(y**2)) * sp.log(2 + x**2) + sp.tan(x / 4) + sp.asin(x / 9) - sp.acos(y / 9)
        + sp.atan(x * y) + sp.atan2(y, 1 + x**2) + sp.sinh(x / 2) - sp.cosh(y / 3) * sp.tanh(x) + sp.Abs(x - y)
        + sp.sign(vx) * a + sp.Max(x, y, vx) - sp.Min(2 * x, vy) + (2 + x**2) ** sp.Rational(7, 3) + x**3 / 7
        + sp.Piecewise((x**2, x < y), (sp.sin(y), sp.And(x > 1, y < 2)), (u * sp.pi - sp.E * sp.cos(cg.time), True))
        + sp.Piecewise((x, sp.Eq(y, 1) | (sp.Ne(x, y) & ~(u > sp.sin(y)))), (y, True)) * sp.Max(x, sp.Rational(1, 2))
        + (2 + y**2) ** a
    )  # fmt: skip
    kinetic = (2 + sp.sin(x)) * vx**2 / 2 + a * vy**2 + vx * vy * sp.cos(y) / 3
    return cg.System(
        "every_function", coordinates=[x, y], kinetic=kinetic, forces={vx: force, vy: -force * vy / 3}
    )


class CPrinter(C99CodePrinter):
    """SymPy's C99 printer, with round-trip constants, terms in the given order and compact conditions."""

    def __init__(self) -> None:
        own = {
            name: f"cg_{name}" for name in "sin cos tan asin acos atan atan2 sinh cosh tanh exp log".split()
        }
        super().__init__({"order": "none", "precision": 17, "user_functions": own})

    def _print_Pow(self, expr: Any) -> str:
        if expr.exp == sp.Rational(1, 2):
            return f"sqrt({self._print(expr.base)})"
        return f"cg_pow({self._print(expr.base)}, {self._print(expr.exp)})"

    def _print_fma(self, expr: Any) -> str:
        product, sign, parts = "", "a", list(expr.args)
        for i in (0, 2):
            if parts[i].is_Mul and parts[i].args[0] is sp.S.NegativeOne:
                product, sign = ("n", sign) if i == 0 else (product, "s")
                rest = parts[i].args[1:]
                parts[i] = rest[0] if len(rest) == 1 else sp.Mul(*rest, evaluate=False)
        return f"cg_f{product}m{sign}({', '.join(map(self._print, parts))})"

    def _print_Min(self, expr: Any) -> str:
        return f"cg_min({', '.join(sorted(map(self._print, expr.args)))})"

    def _print_Max(self, expr: Any) -> str:
        return f"cg_max({', '.join(sorted(map(self._print, expr.args)))})"

    def _print_number(self, expr: Any) -> str:
        return repr(float(expr))

    _print_Float = _print_Rational = _print_Integer = _print_number
    _print_One = _print_Zero = _print_NegativeOne = _print_Half = _print_number

    def _print_Mul(self, expr: Any) -> str:
        # SymPy's own method combines constants, which changes the order of operations.
        sign, factors = ("-", expr.args[1:]) if expr.args[0] is sp.S.NegativeOne else ("", expr.args)
        below = [f for f in factors if f.is_Pow and f.exp is sp.S.NegativeOne]
        above = [f for f in factors if f not in below]
        text = "*".join(self.parenthesize(f, PRECEDENCE["Mul"]) for f in above) or "1.0"
        return sign + text + "".join(f"/{self.parenthesize(f.base, PRECEDENCE['Mul'])}" for f in below)

    def _print_Element(self, elem: Any) -> str:
        return f"{self._print(elem.symbol)}[{int(elem.indices[0])}]"

    def _print_sign(self, func: Any) -> str:
        return f"cg_sign({self._print(func.args[0])})"

    def _print_Piecewise(self, expr: Any) -> str:
        *choices, (last, _) = expr.args
        texts = [f"{self._print(condition)} ? {self._print(value)} : " for value, condition in choices]
        return f"({''.join(texts)}{self._print(last)})"

    def _print_And(self, expr: Any) -> str:
        return self._joined(" && ", expr)

    def _print_Or(self, expr: Any) -> str:
        return self._joined(" || ", expr)

    def _joined(self, connective: str, expr: Any) -> str:
        return f"({connective.join(sorted(map(self._print, expr.args)))})"


SYSTEMS = {name: (lambda name=name: cg.example(name).system) for name in GOLDEN}
SYSTEMS["every_function"] = every_function
SYSTEMS["dense_chain_14"] = lambda: dense_chain(14).system


@pytest.fixture(scope="module", params=SYSTEMS)
def equations(request: pytest.FixtureRequest) -> cg.Equations:
    system = SYSTEMS[request.param]()
    return system.equations(GOLDEN.get(request.param, "lagrange"))


def test_the_golden_set_is_what_is_emitted_now() -> None:
    assert differences(ROOT) == []


@pytest.mark.sample(2)
def test_emitted_c_equals_the_python_backend_bit_for_bit(equations: cg.Equations) -> None:
    model, pure = cg.compile(equations), python_model(equations.program, quiet=True, fma=fma)
    draw = np.random.default_rng(3)
    for _ in range(20):
        y = draw.uniform(-1, 1, len(model.states))
        p = draw.uniform(0.5, 1.5, len(model.parameters))
        u = draw.uniform(-1, 1, len(model.inputs))
        for kernel in ("rhs", "jacobian"):
            ours, theirs = getattr(model, kernel)(0.3, y, p, u), getattr(pure, kernel)(0.3, y, p, u)
            if has_functions(
                equations.program, equations.program.kernels
            ):  # Python's sine rounds differently from ours
                assert ours == pytest.approx(theirs, rel=1e-13, abs=1e-13 * np.abs(theirs).max())
            else:
                assert np.array_equal(ours, theirs)
        ours, theirs = model.evaluate(0.3, y, p, u), pure.evaluate(0.3, y, p, u)
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            assert value == pytest.approx(theirs[name], rel=1e-13, abs=1e-13)


def test_the_opposite_of_a_multiply_add_has_the_same_zero_everywhere() -> None:
    """-a x - b y is +0 where a x = -b y, by IEEE 754; GCC makes -fma(a, x, b y) +0 or -0, depending on its level.

    The force's derivative along v is -a v_x - b v_y.
    """
    x, y = cg.coordinates("x y")
    a, b = cg.parameters("a b")
    force = -a * x - b * y
    kinetic = (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2
    system = cg.System("zeros", coordinates=[x, y], kinetic=kinetic, forces={cg.rate(x): force})
    equations = system.equations("lagrange")
    assert "cg_fnms(" in emit(equations.program).files["zeros_core.c"]
    models = [
        cg.compile(equations),
        cg.compile(equations, wait=True),
        *(python_model(equations.program, quiet=True, fma=multiply_add) for multiply_add in (None, fma)),
    ]
    state, along = [0.1, 0.2, 0.3, 0.4], [2.0, -3.0, 0.0, 0.0]
    zeros = [model.jvp(0.0, state, [3.0, 2.0], along)[2] for model in models]
    assert [(zero, math.copysign(1.0, zero)) for zero in zeros] == [(0.0, 1.0)] * 4


@pytest.mark.sample(2)
def test_numpy_equals_plain_python(equations: cg.Equations) -> None:
    pure = python_model(equations.program, quiet=True)
    draw = np.random.default_rng(4)
    y = draw.uniform(-1, 1, (len(pure.states), 6))
    p = draw.uniform(0.5, 1.5, len(pure.parameters))
    u = draw.uniform(-1, 1, len(pure.inputs))
    wide = pure.rhs(0.3, y, p, u)
    for j in range(6):
        assert wide[:, j] == pytest.approx(pure.rhs(0.3, y[:, j], p, u), rel=1e-12, abs=1e-12)


@pytest.mark.sample(2)
def test_jacobian_and_jvp_equal_differences_of_the_rhs(equations: cg.Equations) -> None:
    """Richardson-extrapolated central differences of the pure-Python backend's right-hand side."""
    model, pure = cg.compile(equations), python_model(equations.program, quiet=True)
    draw = np.random.default_rng(5)
    n = len(model.states)
    y = draw.uniform(0.2, 0.9, n) * np.where(np.arange(n) % 2, 1, -1)
    p = draw.uniform(0.5, 1.5, len(model.parameters))
    u = draw.uniform(-1, 1, len(model.inputs))
    jacobian = model.jacobian(0.3, y, p, u)

    def difference(direction: np.ndarray, h: float) -> np.ndarray:
        return (pure.rhs(0.3, y + h * direction, p, u) - pure.rhs(0.3, y - h * direction, p, u)) / (2 * h)

    scale = np.abs(jacobian).max()
    for direction in [*np.eye(n), draw.normal(size=n)]:
        expected = (4 * difference(direction, 5e-4) - difference(direction, 1e-3)) / 3
        assert jacobian @ direction == pytest.approx(expected, abs=3e-9 * scale)
        assert model.jvp(0.3, y, p, direction, u) == pytest.approx(
            jacobian @ direction, rel=1e-12, abs=1e-12 * scale
        )


@pytest.mark.sample(5)
def test_sympy_nodes_print_to_the_emitted_bytes(equations: cg.Equations) -> None:
    program = equations.program
    emitted = re.sub(r"\s+", " ", emit(program).files[f"{program.name}_core.c"])
    printer = CPrinter()
    for kernel in program.kernels:
        lines = [line for line in program.to_sympy(kernel).args if not isinstance(line, ast.FunctionCall)]
        assert lines
        for line in lines:
            text = re.sub(r"\s+", " ", printer.doprint(line)).rstrip(";") + ";"
            assert text in emitted


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.sample(3)
def test_emitted_c_compiles_without_a_warning(compiler: str, equations: cg.Equations, tmp_path: Path) -> None:
    emit_to(equations.program, tmp_path)
    (core,) = tmp_path.glob("*_core.c")
    run([need(compiler), "-std=c99", *STRICT, "-O1", "-c", core, "-o", tmp_path / "core.o"])


def test_the_emitted_core_stands_alone(tmp_path: Path) -> None:
    """The .c and .h pair with the ABI header, called through ctypes, without the package."""
    paths = cg.example("harmonic_oscillator").system.emit("lagrange", tmp_path)
    assert {p.name for p in paths} >= {
        "harmonic_oscillator_core.c",
        "harmonic_oscillator_core.h",
        "chaplygin.h",
    }
    library = tmp_path / "core.so"
    source = str(tmp_path / "harmonic_oscillator_core.c")
    subprocess.run(
        [need("gcc"), "-std=c99", "-O2", "-shared", "-fPIC", source, "-o", str(library), "-lm"], check=True
    )
    entry = cg.example("harmonic_oscillator")
    parameters = [entry.parameters[s.name] for s in entry.system.parameters]
    inputs = [0.0 for _ in entry.system.inputs]
    function = ctypes.CDLL(str(library)).harmonic_oscillator_rhs

    def array(values: list[float]) -> ctypes.Array[ctypes.c_double]:
        return (ctypes.c_double * max(len(values), 1))(*values)

    out = array([0.0, 0.0])
    status = function(ctypes.c_double(0.0), array([0.5, 2.0]), array(parameters), array(inputs), out, None)
    assert status == 0
    assert out[0] == 2.0
    values = dict(zip((s.name for s in entry.system.parameters), parameters, strict=True))
    force = -values["k"] * 0.5 - values.get("c", 0.0) * 2.0
    assert out[1] == pytest.approx(force / values["m"], rel=1e-15)


def test_long_kernels_are_cut() -> None:
    system = dense_chain(20).system
    text = emit(system.equations("lagrange").program).files["dense_chain_20_core.c"]
    functions = re.split(r"^}", text, flags=re.M)
    computed = [len(re.findall(r"const double \w+ = (?!cg_)", f)) for f in functions]
    assert 100 < max(computed) <= 450


@pytest.mark.slow
def test_fifty_links_compile_and_run() -> None:
    """The loop solver and the looped Jacobian at a size at which nothing is unrolled; the energy is the oracle."""
    entry = dense_chain(50)
    model = entry.system.compile()
    run = model.integrate(
        (0, 0.5), initial=entry.initial, parameters=entry.parameters, rtol=1e-10, atol=1e-10
    )
    assert run.success
    energy = run["energy"]
    assert np.abs(energy - energy[0]).max() < 1e-7 * max(1.0, abs(energy[0]))
    p = np.array([entry.parameters[n] for n in model.parameters])
    y, direction = run.y[:, -1], np.random.default_rng(6).normal(size=100)
    difference = (model.rhs(0, y + 1e-6 * direction, p) - model.rhs(0, y - 1e-6 * direction, p)) / 2e-6
    jacobian = model.jacobian(0, y, p)
    assert jacobian @ direction == pytest.approx(difference, abs=1e-5 * np.abs(difference).max())


def test_names_that_collide_with_c_functions_are_emitted_otherwise() -> None:
    names = cg.coordinates("sin fabs z1")
    rates = [cg.rate(x) for x in names]
    system = cg.System(
        "collisions",
        coordinates=list(names),
        kinetic=sum(r**2 for r in rates),
        potential=sp.sin(names[0]) + names[2] ** 2,
    )
    model = system.compile()
    assert model.states == ("sin", "fabs", "z1", "sin_dot", "fabs_dot", "z1_dot")
    y = np.array([0.4, 0.0, 0.3, 0.0, 0.0, 0.0])
    assert model.rhs(0, y, ())[3:] == pytest.approx([-np.cos(0.4) / 2, 0.0, -0.3], rel=1e-15)


def test_the_python_source_is_readable() -> None:
    source = python_source(cg.example("chaplygin_sleigh").system.equations("maggi").program, "rhs")
    assert "omega = cg_x[3]" in source
    assert "cos(phi)" in source


@pytest.mark.slow
@pytest.mark.parametrize("n", [13, 20])
def test_operations_of_the_bias_are_linear_in_the_links_whatever_their_names(n: int) -> None:
    counts = set()
    for names in (
        [f"theta{i}" for i in range(1, n + 1)],
        [f"q{i:03}" for i in range(n)],
        list(map(_word, range(n))),
    ):
        angles = cg.coordinates(names)
        mass, length, gravity = cg.parameters("mass length gravity", positive=True)
        x_dot = y_dot = depth = kinetic = potential = sp.Integer(0)
        for a in angles:
            x_dot += length * sp.cos(a) * cg.rate(a)
            y_dot += length * sp.sin(a) * cg.rate(a)
            depth += length * sp.cos(a)
            kinetic += mass * (x_dot**2 + y_dot**2) / 2
            potential -= mass * gravity * depth
        eqs = cg.System("chain", coordinates=angles, kinetic=kinetic, potential=potential).equations(
            "lagrange"
        )
        counts.add(eqs.operations["forcing"])
    assert max(counts) <= 50 * n


def _word(i: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[(7 * i) % 26] + "xy"[i % 2] + "k" * (i // 2)

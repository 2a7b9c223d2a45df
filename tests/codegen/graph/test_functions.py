"""The table of elementary functions: its rows against SymPy and mpmath, and functions that one row adds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from mpmath import mp, mpf
from runtime_models import needs_core
from sympy.codegen.cfunctions import hypot

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.emit.targets import emit
from chaplygin.codegen.graph.differentiate import forward, gradient
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.graph.from_sympy import Lowering, UnsupportedExpression
from chaplygin.codegen.graph.functions import FUNCTIONS, Function
from chaplygin.codegen.graph.graph import Graph

POINTS = [(0.3125, -0.625), (-0.84375, 0.375), (0.96875, 0.0625), (-0.125, -0.875)]
POSITIVE = ("sqrt", "log", "pow")
"""Functions whose first argument is taken positive."""
A, B = sp.symbols("a b", real=True)

ADDED = (
    Function(
        "erfc", sp.erfc, math.erfc, None, mp.erfc,
        (lambda g, n, a: g.neg(g.div(g.mul(g.two, g.call("exp", g.neg(g.mul(a, a)))), g.call("sqrt", g.named("pi")))),),
        c="erfc",
    ),
    Function(
        "hypot", hypot, math.hypot, np.hypot, mp.hypot,
        (lambda g, n, a, b: g.div(a, n), lambda g, n, a, b: g.div(b, n)),
        c="hypot",
    ),
)  # fmt: skip
"""Functions of C99 that the table does not have."""


def points(row: Function) -> list[tuple[float, ...]]:
    two = len(row.derivatives) == 2 or (row.switch is not None and row.switch.compares)
    first = {"acosh": lambda a: 1 + abs(a)}.get(row.name, abs if row.name in POSITIVE else float)
    return [(first(a), b) if two else (first(a),) for a, b in POINTS]


@pytest.mark.parametrize("row", [*FUNCTIONS.values(), *ADDED], ids=lambda row: row.name)
def test_values_and_derivatives_are_those_of_sympy(row: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUNCTIONS, row.name, row)
    for at in points(row):
        g = Graph()
        names = (A, B)[: len(at)]
        nodes = [g.symbol(s.name) for s in names]
        symbolic = row.symbolic(*names)
        exact = {s: sp.Rational(x) for s, x in zip(names, at)}
        values = {s.name: x for s, x in zip(names, at)}
        (node,) = Lowering(g, dict(zip(names, nodes))).lower([symbolic])
        assert node == g.call(row.name, *nodes)
        expected = [sp.N(symbolic.subs(exact), 40), *(sp.N(symbolic.diff(s).subs(exact), 40) for s in names)]
        backward = [node, *gradient(g, node, nodes)]
        onward = [forward(g, [node], {v: g.one})[0] for v in nodes]
        assert evaluate(g, backward, values) == pytest.approx([float(e) for e in expected], rel=1e-14)
        assert evaluate(g, onward, values) == pytest.approx([float(e) for e in expected[1:]], rel=1e-14)
        with mp.workdps(40):
            precise = evaluate(g, backward, {name: mpf(x) for name, x in values.items()}, precise=True)
            for found, value in zip(precise, expected):
                assert abs(found - mpf(str(value))) <= mpf(10) ** -37 * abs(found)
        for function in (row.careful, row.array or row.value):
            assert float(function(*at)) == pytest.approx(float(expected[0]), rel=1e-15)


ONE_ARGUMENT = [row for row in FUNCTIONS.values() if len(points(row)[0]) == 1]


@pytest.mark.parametrize("row", ONE_ARGUMENT, ids=lambda row: row.name)
def test_what_a_row_states_about_its_values_holds(row: Function) -> None:
    for at in (Fraction(0), Fraction(1), Fraction(-1), Fraction(-3, 7)):
        exact = row.exact(at)
        assert exact is None or row.symbolic(sp.Rational(at)) == sp.Rational(exact)
    for (a,) in points(row):
        if row.sign == "argument":
            assert row.value(a) * a > 0
        elif row.sign != "any":
            assert row.value(a) > 0
        if row.by_exp is not None:
            assert row.by_exp(mp.exp, mpf(a)) == pytest.approx(row.precise(mpf(a)), rel=1e-14)
    if row.inverse is not None:
        g = Graph()
        (back,) = evaluate(g, [row.inverse(g, Fraction(3, 8))], {})
        assert row.value(back) == pytest.approx(3 / 8, rel=1e-15)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> cg.System:
    """A unit mass in the plane under the added functions and their derivatives; a coordinate has the name of one."""
    for row in ADDED:
        monkeypatch.setitem(FUNCTIONS, row.name, row)
    x, y = cg.coordinates("erfc y")
    vx, vy = cg.rate(x), cg.rate(y)
    return cg.System(
        "added_functions",
        coordinates=[x, y],
        kinetic=(vx**2 + vy**2) / 2,
        potential=sp.erfc(x) * hypot(x, y),
        forces={vx: sp.erfc(x - y), vy: -vy * hypot(vx, 1)},
    )


def accelerations(x: mpf, y: mpf, vx: mpf, vy: mpf) -> list[mpf]:
    """Newton's second law for `system`, by hand."""
    slope, distance = -2 / mp.sqrt(mp.pi) * mp.exp(-(x**2)), mp.sqrt(x**2 + y**2)
    return [
        mp.erfc(x - y) - slope * distance - mp.erfc(x) * x / distance,
        -vy * mp.sqrt(vx**2 + 1) - mp.erfc(x) * y / distance,
    ]


STATE = (0.6, -1.3, 0.4, 0.7)


@needs_core
def test_functions_added_by_a_row_run_compiled_and_in_pure_python(system: cg.System) -> None:
    expected = [*STATE[2:], *map(float, accelerations(*map(mpf, STATE)))]
    slopes = [
        [float(mp.diff(lambda *s, i=i: accelerations(*s)[i], STATE, one)) for one in np.eye(4, dtype=int)]
        for i in range(2)
    ]
    model, pure = system.compile("lagrange"), python_model(system.equations("lagrange").program, quiet=True)
    for backend in (model, pure):
        assert backend.rhs(0, STATE, ()) == pytest.approx(expected, rel=1e-14)
        assert backend.jacobian(0, STATE, ())[2:] == pytest.approx(np.array(slopes), rel=1e-13)
        columns = backend.rhs(0, np.repeat(np.array(STATE)[:, None], 3, axis=1), ())
        assert columns == pytest.approx(np.repeat(np.array(expected)[:, None], 3, axis=1), rel=1e-14)


@needs_core
def test_a_function_of_the_c_library_runs_lane_by_lane_with_the_bits_of_single_runs(
    system: cg.System,
) -> None:
    files = emit(system.equations("lagrange").program).files
    assert "erfc(cg_name_erfc - y)" in files["added_functions_core.c"]
    assert "cg_each_1(erfc, cg_name_erfc - y)" in files["added_functions_lanes.c"]
    assert "cg_each_2(hypot, " in files["added_functions_lanes.c"]
    model = system.compile("lagrange")
    start = dict(zip(model.states, STATE)) | {"y": np.linspace(-2, 2, 11)}
    alone, together = (
        cg.ensemble(model, (0, 5), start, {}, n=11, method="dop853", rtol=1e-8, lanes=lanes)
        for lanes in (1, None)
    )
    assert alone.success
    assert np.ptp(alone.y) > 0.1
    assert alone.y.tobytes() == together.y.tobytes()


def test_a_function_without_a_row_is_refused_and_the_others_are_named(system: cg.System) -> None:
    with pytest.raises(
        UnsupportedExpression, match=r"gamma in .* not supported; supported: .* Abs, .*, erf, .*, erfc, hypot"
    ):
        Lowering(Graph(), {}).lower([sp.gamma(sp.Rational(1, 3))])

"""NaN in, NaN out: functions, selections and conditions of undefined values, in C, in lanes and in pure Python."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from oracle_rodas5p import OracleModel

import chaplygin as cg
from chaplygin.api.python_model import python_kernels
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.graph.from_sympy import Lowering
from chaplygin.codegen.graph.graph import Graph

X = cg.coordinates("x")
ROOT, LOG = sp.sqrt(X), sp.log(X)
NAN, INF = math.nan, math.inf
TINY = sp.Rational(1, 10**9)


def _np(function: Callable[[Any], Any]) -> Callable[[float], float]:
    def value(x: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(np.float64(x)))

    return value


# Expressions and their NumPy values; NumPy skips a branch with an undefined condition, so those are tabulated.
NUMPY: dict[str, tuple[Any, Callable[[float], float]]] = {
    "Max(0, sqrt)": (sp.Max(0, ROOT), _np(lambda x: np.maximum(0, np.sqrt(x)))),
    "Max(x, sqrt, 1)": (sp.Max(X, ROOT, 1), _np(lambda x: np.maximum(np.maximum(x, np.sqrt(x)), 1))),
    "Min(7, log)": (sp.Min(7, LOG), _np(lambda x: np.minimum(7, np.log(x)))),
    "Min(log, sqrt)": (sp.Min(LOG, ROOT), _np(lambda x: np.minimum(np.log(x), np.sqrt(x)))),
    "sign(log)": (sp.sign(LOG), _np(lambda x: np.sign(np.log(x)))),
    "Abs(log)": (sp.Abs(LOG), _np(lambda x: np.abs(np.log(x)))),
    "atan2(log, 1)": (sp.atan2(LOG, 1), _np(lambda x: np.arctan2(np.log(x), 1))),
    "atan2(1, log)": (sp.atan2(1, LOG), _np(lambda x: np.arctan2(1, np.log(x)))),
    "tanh(log)": (sp.tanh(LOG), _np(lambda x: np.tanh(np.log(x)))),
    "exp(sqrt)": (sp.exp(ROOT), _np(lambda x: np.exp(np.sqrt(x)))),
    "1/(x + 0.99)": (1 / (X + sp.Float(0.99)), _np(lambda x: 1 / (x + 0.99))),
    "exp(-800 x)": (sp.exp(-800 * X), _np(lambda x: np.exp(-800 * x))),
    "log(1.5 - x)": (sp.log(sp.Float(1.5) - X), _np(lambda x: np.log(1.5 - x))),
    "x^0.3": (X ** sp.Float(0.3), _np(lambda x: x**0.3)),
    "x^2": (X**2, _np(lambda x: x**2)),
}
# At x = -0.99, where sqrt and log are not defined, and at 0.5 and 9.
CONDITIONS: dict[str, tuple[Any, tuple[float, float, float]]] = {
    "sqrt > 2": (ROOT > 2, (NAN, 2, 1)),
    "sqrt <= 2": (ROOT <= 2, (NAN, 1, 2)),
    "Eq": (sp.Eq(ROOT, 3), (NAN, 2, 1)),
    "Ne": (sp.Ne(ROOT, 3), (NAN, 1, 2)),
    "false & NaN": (sp.And(X > 0, ROOT > 2), (2, 2, 1)),
    "true & NaN": (sp.And(X > -2, ROOT > 2), (NAN, 2, 1)),
    "true | NaN": (sp.Or(X < 0, ROOT > 2), (1, 2, 1)),
    "false | NaN": (sp.Or(X > 20, ROOT > 2), (NAN, 2, 1)),
    "NaN & NaN": (sp.And(ROOT > 2, LOG > 2), (NAN, 2, 1)),
    "not (false & NaN)": (sp.Not(sp.And(X > 0, ROOT > 2)), (1, 1, 2)),
    "nested": (sp.And(sp.Or(ROOT > 2, X < 0), sp.Or(LOG < 9, X > -5)), (1, 2, 1)),
    "nested, undefined": (sp.And(sp.Or(ROOT > 2, X < 0), sp.Or(LOG < 9, X > 7)), (NAN, 2, 1)),
}
POINTS = (-0.99, 0.5, 9.0)


@functools.cache
def cases() -> dict[str, tuple[Any, tuple[float, ...]]]:
    found = {name: (e, tuple(value(x) for x in POINTS)) for name, (e, value) in NUMPY.items()}
    for name, (condition, expected) in CONDITIONS.items():
        found[f"Piecewise {name}"] = (sp.Piecewise((1, condition), (2, True)), expected)
    # decided before the comparison with NaN; undefined in a branch not taken
    found["decided before"] = (sp.Piecewise((5, X < 0), (1, ROOT > 2), (2, True)), (5, 2, 1))
    found["decided after"] = (sp.Piecewise((1, ROOT > 2), (5, X < 0), (2, True)), (NAN, 2, 1))
    found["not taken"] = (sp.Piecewise((ROOT, X >= 0), (3, True)), (3, math.sqrt(0.5), 3))
    return found


@functools.cache
def system() -> cg.System:
    """A particle with one output for each case, and case number `which` as its force."""
    which = cg.parameters("which")
    branches = [(TINY * e, which < i + sp.Rational(1, 2)) for i, (e, _) in enumerate(cases().values())]
    return cg.System(
        "undefined_values",
        coordinates=[X],
        kinetic=cg.rate(X) ** 2 / 2,
        forces={cg.rate(X): sp.Piecewise(*branches, (0, True))},
        outputs={f"case_{i}": e for i, (e, _) in enumerate(cases().values())},
        example={X: 0.5, which: 0},
    )


@functools.cache
def model(kind: str) -> Any:
    equations = system().equations("lagrange")
    return (
        cg.compile(equations)
        if kind == "compiled"
        else OracleModel(python_kernels(equations.program), quiet=True)
    )


KINDS = ("compiled", "pure Python")
BOTH = ["compiled", "pure Python"]


def same(a: float, b: float) -> bool:
    return a == pytest.approx(b, rel=1e-14, nan_ok=True)


@pytest.mark.parametrize("kind", BOTH)
def test_values_one_by_one_and_in_columns(kind: str) -> None:
    """Each output has its own value: undefined ones do not affect the others in their row."""
    m = model(kind)
    rows = [m.evaluate(0.0, [x, 0.0], [0.0]) for x in POINTS]
    columns = m.evaluate(0.0, np.array([POINTS, [0.0] * 3]), [0.0])
    for i, (name, (_, expected)) in enumerate(cases().items()):
        for j, value in enumerate(expected):
            assert same(rows[j][f"case_{i}"], value), (name, POINTS[j])
            assert same(columns[f"case_{i}"][j], value), (name, POINTS[j])


@pytest.mark.parametrize("kind", BOTH)
def test_the_right_hand_side_and_its_columns(kind: str) -> None:
    m = model(kind)
    for i, (name, (_, expected)) in enumerate(cases().items()):
        wide = m.rhs(0.0, np.array([POINTS, [0.0] * 3]), [float(i)])
        for j, x in enumerate(POINTS):
            assert same(1e9 * m.rhs(0.0, [x, 0.0], [float(i)])[1], expected[j]), (name, x)
            assert same(1e9 * wide[1, j], expected[j]), (name, x)


@pytest.mark.parametrize("lanes", [1, 2, 8])
@pytest.mark.sample(1)
def test_lanes_stop_where_the_force_is_not_defined_and_only_there(lanes: int) -> None:
    from chaplygin.runtime.core._core import widest_lanes

    if lanes > widest_lanes():
        pytest.skip("this CPU has no registers of this width")
    count = len(cases())
    for j, x in enumerate(POINTS):
        ens = cg.ensemble(
            model("compiled"), (0, 1e-3), [x, 0.0], {"which": np.arange(float(count))}, n=count, lanes=lanes
        )
        for status, (name, (_, expected)) in zip(ens.status.tolist(), cases().items(), strict=True):
            assert status == (0 if math.isfinite(expected[j]) else -2), (name, x)


@pytest.mark.parametrize("kind", BOTH)
def test_derivatives_of_choices_between_undefined_values_are_undefined(kind: str) -> None:
    m = model(kind)
    for i, (name, (expression, expected)) in enumerate(cases().items()):
        if "x^0.3" in name:
            continue
        slope = 1e9 * m.jacobian(0.0, [-0.99, 0.0], [float(i)])[1, 0]
        if math.isnan(expected[0]) and (
            expression.is_Piecewise or expression.func in (sp.Min, sp.Max, sp.Abs)
        ):
            # a derivative that is zero in all branches needs no selection
            constant = expression.is_Piecewise and all(value.is_number for value, _ in expression.args)
            assert slope == 0.0 if constant else math.isnan(slope), name


@pytest.mark.parametrize("method", ["rk4", "dop853", "tsit5", "vern7", "vern9", "rodas5p"])
def test_a_run_in_pure_python_ends_as_the_compiled_one_where_a_force_is_not_defined(method: str) -> None:
    undefined = float(list(cases()).index("Max(0, sqrt)"))
    options: dict[str, Any] = {"method": method}
    reference = {"method": "tsit5"} if method == "rk4" else options
    options |= {"step": 0.01} if method == "rk4" else {}
    for x, v in ((-0.99, 0.0), (0.5, -1.0)):  # at the start, and later
        runs = [
            model(kind).integrate((0, 2), [x, v], [undefined], **how)
            for kind, how in zip(KINDS, (options, reference))
        ]
        assert [run.status for run in runs] == [-2, -2]
        assert runs[1].t_reached == pytest.approx(runs[0].t_reached, abs=0.02)


def test_the_graph_has_the_same_values() -> None:
    g = Graph()
    x = g.symbol("x")
    names = list(cases())
    nodes = Lowering(g, {X: x}).lower([e for e, _ in cases().values()])
    for precise, (j, point) in itertools.product((False, True), enumerate(POINTS)):
        for name, node in zip(names, nodes, strict=True):
            expected = cases()[name][1][j]
            if math.isfinite(expected):
                (value,) = evaluate(g, [node], {"x": point}, precise)
                assert same(float(value), expected), (name, point)
            elif math.isnan(expected):
                with pytest.raises((ArithmeticError, ValueError)):
                    evaluate(g, [node], {"x": point}, precise)


def test_operands_of_connectives_have_no_order() -> None:
    """Kleene's logic over every triple of truth values, in every order and grouping."""
    g = Graph()
    a, b, c, yes, no = (g.symbol(name) for name in ("a", "b", "c", "yes", "no"))
    below = {s: g.relation("lt", s, g.zero) for s in (a, b, c)}
    number = {True: -1.0, False: 1.0, None: NAN}
    for values in itertools.product(number, repeat=3):
        point = {**dict(zip("abc", (number[v] for v in values), strict=True)), "yes": 1.0, "no": 0.0}
        for op, decisive in (("and", False), ("or", True)):
            expected = decisive if decisive in values else None if None in values else not decisive
            for first, second, third in itertools.permutations((a, b, c)):
                pair = g.connective(op, below[first], below[second])
                for condition in (g.connective(op, pair, below[third]), g.connective(op, below[third], pair)):
                    for turned, want in ((condition, expected), (g.negation(condition), expected)):
                        node = g.select(turned, yes, no) if turned == condition else g.select(turned, no, yes)
                        if want is None:
                            with pytest.raises(ArithmeticError):
                                evaluate(g, [node], point)
                        else:
                            assert evaluate(g, [node], point) == [float(want)]

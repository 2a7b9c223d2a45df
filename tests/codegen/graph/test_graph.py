"""The expression graph against SymPy: values, derivatives, normal form."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
import sympy as sp

from chaplygin.codegen.graph import differentiate
from chaplygin.codegen.graph.differentiate import forward, gradient, partials
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.graph.from_sympy import Lowering, UnsupportedExpression
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.graph.to_sympy import expressions

X, Y, Z = sp.symbols("x y z", real=True)
POINTS = [{"x": 0.3, "y": -0.7, "z": 1.9}, {"x": -0.8, "y": 0.45, "z": 0.6}, {"x": 0.5, "y": 0.5, "z": 0.25}]

CASES = [
    X + Y * Z - 3,
    (X - Y) ** 2 / (Z + 2),
    X**3 - Y**-2 + Z ** sp.Rational(5, 2),
    Z ** sp.Rational(-3, 2) + 2 ** sp.Rational(1, 2) * X,
    Z**0.37 + Z**X,
    sp.exp(X) * sp.log(Z),
    sp.sin(X) * sp.cos(Y) + sp.tan(X * Y),
    sp.asin(X / 2) + sp.acos(Y / 2) - sp.atan(Z),
    sp.atan2(X, Y) + sp.atan2(Z, -X),
    sp.sinh(X) + sp.cosh(Y) - sp.tanh(Z),
    sp.Abs(X) * sp.sign(Y) + sp.Max(X, Y, Z) - sp.Min(X, 2 * Y),
    sp.Piecewise((X**2, X < Y), (sp.log(Z), sp.And(X > 0, Z > 0.5)), (sp.sin(Y), True)),
    sp.Piecewise((X, sp.Or(X >= Y, sp.Not(Z <= 1))), (-X, True)),
    sp.pi * X + sp.E * Y + sp.Float("9.81") * Z,
    sp.exp(sp.sin(X * Y) / (1 + Z**2)) ** 2,
    sp.Rational(1, 3) * X - sp.Rational(1, 3) * Y + 2 * X - 2 * Y,
]


def at(case: sp.Expr, point: dict[str, float]) -> float:
    return float(case.subs({sp.Symbol(name, real=True): value for name, value in point.items()}).evalf(30))


def lowered(*cases: sp.Expr) -> tuple[Graph, list[int], list[int]]:
    g = Graph()
    nodes = {s: g.symbol(s.name) for s in (X, Y, Z)}
    return g, Lowering(g, nodes).lower(cases), list(nodes.values())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_equal_sympy(case: sp.Expr) -> None:
    g, (node,), _ = lowered(case)
    for point in POINTS:
        expected = at(case, point)
        assert evaluate(g, [node], point)[0] == pytest.approx(expected, rel=1e-14, abs=1e-14)
        assert float(evaluate(g, [node], point, precise=True)[0]) == pytest.approx(
            expected, rel=1e-14, abs=1e-14
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_derivatives_equal_sympy(case: sp.Expr) -> None:
    g, (node,), variables = lowered(case)
    reverse = gradient(g, node, variables)
    straight = [forward(g, [node], {v: g.one})[0] for v in variables]
    for point in POINTS[:2]:  # the third is on kinks
        for s, a, b in zip((X, Y, Z), evaluate(g, reverse, point), evaluate(g, straight, point), strict=True):
            expected = at(sp.diff(case, s), point)
            assert a == pytest.approx(expected, rel=1e-13, abs=1e-13)
            assert b == pytest.approx(expected, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_way_back_to_sympy_keeps_the_value(case: sp.Expr) -> None:
    g, (node,), _ = lowered(case)
    (view,) = expressions(g, [node], {s.name: s for s in (X, Y, Z)})
    for point in POINTS:
        assert at(view, point) == pytest.approx(at(case, point), rel=1e-13, abs=1e-13)


def test_a_branch_that_is_not_taken_does_not_poison_derivatives() -> None:
    case = sp.Piecewise((sp.sqrt(X), X > 0), (0, True)) * Y
    g, (node,), variables = lowered(case)
    kink = {"x": 0.0, "y": 2.0, "z": 0.0}
    for derivative in (gradient(g, node, variables), [forward(g, [node], {v: g.one})[0] for v in variables]):
        assert evaluate(g, derivative, kink) == [0.0, 0.0, 0.0]


def test_at_a_kink_the_derivative_is_that_of_the_branch_taken() -> None:
    g, (node,), variables = lowered(sp.Piecewise((3 * X, X <= 0), (5 * X, True)) + sp.Max(Y, 2 * Y))
    assert evaluate(g, gradient(g, node, variables), {"x": 0.0, "y": 0.0, "z": 0.0})[0] == 3.0


def test_equal_expressions_are_one_node() -> None:
    g, nodes, (x, y, z) = lowered(X * Y + Z, Z + Y * X)
    assert nodes[0] == nodes[1]
    assert g.add(x, g.neg(x)) == g.zero
    assert g.add(x, x) == g.mul(g.two, x)
    assert g.sub(g.mul(g.const(3), x), g.mul(g.const(3), y)) == g.mul(g.const(3), g.sub(x, y))
    assert g.div(g.mul(g.const(2), x), g.const(4)) == g.div(x, g.two)
    assert g.neg(g.sub(x, y)) == g.sub(y, x)
    assert g.mul(g.div(g.one, z), x) == g.div(x, z)


def test_substitution_and_dependence() -> None:
    g, (node,), (x, y, z) = lowered(sp.sin(X) * Y + Z**2)
    (moved,) = g.substitute([node], {x: g.zero, z: y})
    assert moved == g.mul(y, y)
    assert g.depends_on([node], [x])
    assert not g.depends_on([moved], [x, z])
    assert g.symbols([node]) == {"x", "y", "z"}


@pytest.mark.slow
def test_random_expressions_against_sympy() -> None:
    draw = random.Random(7)

    def grow(depth: int) -> sp.Expr:
        if depth == 0:
            return draw.choice([X, Y, Z, sp.Integer(draw.randint(1, 3)), sp.Rational(draw.randint(1, 5), 3)])
        a, b = grow(depth - 1), grow(depth - 1)
        build = draw.choice(
            ["a+b", "a-b", "a*b", "a/(2+b*b)", "sin(a)", "cos(a)*b", "sqrt(2+a*a)", "atan(a)", "a**2"]
        )
        return sp.sympify(0) + eval(
            build, {"a": a, "b": b, "sin": sp.sin, "cos": sp.cos, "sqrt": sp.sqrt, "atan": sp.atan}
        )

    for _ in range(60):
        case = grow(4)
        g, (node,), variables = lowered(case)
        slopes = gradient(g, node, variables)
        point = {s: draw.uniform(-1, 1) for s in "xyz"}
        assert evaluate(g, [node], point)[0] == pytest.approx(at(case, point), rel=1e-12, abs=1e-12)
        for s, value in zip((X, Y, Z), evaluate(g, slopes, point), strict=True):
            assert value == pytest.approx(at(sp.diff(case, s), point), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(
    ("case", "named"),
    [
        (sp.gamma(X), "gamma"),
        (sp.Function("f")(X), "f"),
        (sp.Integral(sp.gamma(X * Y), X), "gamma|Integral"),
        (sp.oo * X, "infinity|oo|not a finite|Infinity"),
        (sp.I * X, "I|Imaginary"),
        (sp.LambertW(X), "LambertW"),
        (sp.Piecewise((X, X > 0)), "does not cover all other cases"),
        (sp.Symbol("unknown") + X, "unknown"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(case: sp.Expr, named: str) -> None:
    with pytest.raises(UnsupportedExpression, match=named):
        lowered(case)


def test_sums_that_contain_one_another_share_their_parts() -> None:
    terms = [sp.Symbol(f"a{i}", real=True) for i in range(40)]
    g = Graph()
    lowering = Lowering(g, {s: g.symbol(s.name) for s in terms})
    nodes = lowering.lower([sp.Add(*terms[: i + 1]) ** 2 for i in range(40)])
    # 39 additions and 40 squares (the first square needs no sum); without sharing there would be 780 additions.
    assert g.count_operations(nodes) == 39 + 40


def test_constants_are_exact() -> None:
    g, (node,), _ = lowered(sp.Rational(1, 3) * X * 3)
    assert g.op[node] == "symbol"
    tenth, fifth = Fraction(0.1), Fraction(0.2)
    assert g.constant_value(g.add(g.const(0.1), g.const(0.2))) == tenth + fifth
    assert g.constant_value(g.div(g.const(1), g.const(3))) == Fraction(1, 3)


def test_partial_derivatives_by_each_variable_visit_what_depends_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """sin(v_0) sin(v_1), ..., each of only two variables: as many visits as dependences, not variables times roots."""
    g, count = Graph(), 40
    v = [g.symbol(f"v{i}") for i in range(count)]
    sines = [g.call("sin", a) for a in v]
    roots = [g.mul(a, b) for a, b in itertools.pairwise(sines)]
    visited = []
    positions = differentiate._positions

    def counted(graph: Graph, node: int) -> range:
        visited.append(node)
        return positions(graph, node)

    monkeypatch.setattr(differentiate, "_positions", counted)
    columns = partials(g, roots, v)
    assert len(visited) == count + 2 * len(roots)
    for j, a in enumerate(v):
        slope = g.call("cos", a)
        expected = {i: g.mul(slope, sines[i + 1 if i == j else i]) for i in (j - 1, j) if 0 <= i < len(roots)}
        assert columns[j] == [expected.get(i, g.zero) for i in range(len(roots))]
        assert columns[j] == forward(g, roots, {a: g.one})

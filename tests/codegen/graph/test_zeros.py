"""Products whose odd powers make way for their bases: the same zeros and signs, and slopes."""

from __future__ import annotations

import pytest
import sympy as sp

from chaplygin.codegen.graph.from_sympy import Lowering
from chaplygin.codegen.graph.graph import Graph, Node
from chaplygin.codegen.graph.sides import simple_zero
from chaplygin.codegen.graph.to_sympy import expressions

X, Y, B = sp.symbols("x y b", real=True)
BESIDE = sp.Abs(sp.Add(B, -X, evaluate=False), evaluate=False)


def lowered(g: Graph, expression: sp.Expr) -> list[Node]:
    return Lowering(g, {s: g.symbol(s.name) for s in (X, Y, B)}).lower([expression])


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        (X**3, X),
        (X * sp.Abs(X), X),
        (2 * X**5 / 3, 2 * X / 3),
        (-(X**3), -X),
        (B**3 * (X - Y) ** 7, B * (X - Y)),
        ((X - B) * BESIDE, X - B),
        ((X - B) ** 2 * (B - X), B - X),
        (X**3 / (1 + Y**2), X / (1 + Y**2)),
        (X**3 * Y**2, X * Y**2),
        (X**3 * sp.Abs(Y), X * sp.Abs(Y)),
    ],
)
def test_an_odd_power_makes_way(guard: sp.Expr, expected: sp.Expr) -> None:
    g = Graph()
    (node,) = lowered(g, guard)
    (found,) = expressions(g, [simple_zero(g, node)], {s.name: s for s in (X, Y, B)})
    assert sp.expand(found - expected) == 0


@pytest.mark.parametrize(
    "guard",
    [
        10**6 * (X - Y),
        X**2,
        X**2 * Y,
        sp.Abs(X),
        X**3 - Y**3,
        X * Y,
        X**3 / sp.Abs(X),
        X**3 / sp.Abs(2 * X),
        sp.Rational(3, 4) * sp.pi * X,
    ],
)
def test_others_stay(guard: sp.Expr) -> None:
    g = Graph()
    (node,) = lowered(g, guard)
    assert simple_zero(g, node) == node

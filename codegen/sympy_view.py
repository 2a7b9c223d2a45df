"""Graph nodes back into SymPy: expressions to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from .graph import BINARY, UNARY, Graph, Node

BUILD: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "pow": sp.Pow,
    "sqrt": sp.sqrt,
    "abs": sp.Abs,
    "min": sp.Min,
    "max": sp.Max,
    "lt": sp.StrictLessThan,
    "le": sp.LessThan,
    "eq": sp.Equality,
    "ne": sp.Unequality,
    "and": sp.And,
    "or": sp.Or,
    "select": lambda c, a, b: sp.Piecewise((a, c), (b, True)),
}
BUILD |= {name: getattr(sp, name) for name in (*UNARY, *BINARY) if name not in BUILD}


def constant(value: Fraction) -> Any:
    """A rational where it was meant as one, else the decimal number it is (9.81, not 5522...)."""
    if value.denominator <= 10_000:
        return sp.Rational(value.numerator, value.denominator)
    return sp.Float(float(value))


def leaf(g: Graph, node: Node, symbols: Mapping[str, sp.Symbol]) -> Any:
    payload, kind = g.value[node], g.op[node]
    if kind == "const":
        assert isinstance(payload, Fraction)
        return constant(payload)
    if kind == "named":
        return {"pi": sp.pi, "e": sp.E}[str(payload)]
    if kind == "bool":
        return sp.true if payload == "true" else sp.false
    return symbols.get(str(payload)) or sp.Symbol(str(payload), real=True)


def expressions(
    g: Graph,
    roots: Sequence[Node],
    symbols: Mapping[str, sp.Symbol],
    known: Mapping[Node, sp.Symbol] | None = None,
) -> list[Any]:
    """The roots as SymPy expressions in the given symbols (by name); nodes in `known` appear as their symbols."""
    built: dict[Node, Any] = dict(known or {})
    for node in g.reachable(roots, stop=built):
        if node in built:
            continue
        args = g.args[node]
        built[node] = BUILD[g.op[node]](*[built[a] for a in args]) if args else leaf(g, node, symbols)
    return [built[r] for r in roots]

"""Scheduled statements as nodes of `sympy.codegen.ast`, in the order and association in which they are emitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from chaplygin._lazy import later

from ..graph.graph import Graph
from ..graph.to_sympy import symbolic
from .fma import FUSED
from .language import expression
from .statements import Assign, Check, FactorSolve, Load, Schedule, SineCosine, Store

ast, cfunctions = later("sympy.codegen.ast"), later("sympy.codegen.cfunctions")


class _Trees:
    """Unevaluated expressions: a `Language`."""

    def number(self, value: float) -> Any:
        return sp.Float(value, 17)

    def name(self, name: str) -> Any:
        return sp.Symbol(name, real=True)

    def operation(self, op: str, parts: Sequence[Any]) -> Any:
        first = parts[0]
        if op in ("add", "sub"):
            last = parts[1] if op == "add" else _negative(parts[1])
            return sp.Add(*(first.args if first.is_Add else [first]), last, evaluate=False)
        if op == "neg":
            return _negative(first)
        if op == "mul" and first.is_Float and first < 0:
            return sp.Mul(-1, -first, parts[1], evaluate=False)
        if op == "mul":
            return sp.Mul(*_factors(first), parts[1], evaluate=False)
        if op == "div":
            above, below = _factors(first), sp.Pow(parts[1], -1, evaluate=False)
            return below if first == 1 else sp.Mul(*above, below, evaluate=False)
        if op == "sqrt":
            return sp.Pow(first, sp.Rational(1, 2), evaluate=False)
        if op == "floor":
            return sp.floor(first, evaluate=False)
        if op in FUSED:
            a, b, c = parts
            product = _negative(a) if op in ("fnma", "fnms") else a
            return cfunctions.fma(product, b, _negative(c) if op in ("fms", "fnms") else c, evaluate=False)
        return symbolic(op)(*parts, evaluate=False)

    def relation(self, op: str, a: Any, b: Any) -> Any:
        if op != "ne":
            return symbolic(op)(a, b, evaluate=False)
        return sp.Or(*(sp.StrictLessThan(x, y, evaluate=False) for x, y in ((a, b), (b, a))), evaluate=False)

    def joined(self, op: str, parts: Sequence[Any]) -> Any:
        return symbolic(op)(*parts, evaluate=False)

    def choice(self, truth: Any, value: Any, opposite: Any, other: Any) -> Any:
        return sp.Piecewise((value, truth), (other, opposite), (sp.nan, True), evaluate=False)


def _factors(e: Any) -> Sequence[Any]:
    return e.args if e.is_Mul else [e]


def _negative(e: Any) -> Any:
    factors = _factors(e)
    return sp.Mul(-1, *([e] if factors[0] == -1 else factors), evaluate=False)


def assignments(g: Graph, schedule: Schedule) -> Any:
    """One kernel as a `CodeBlock`: constants declared at first use, stores into `cg_out`, `cg_work` and `cg_q`."""
    trees, lines = _Trees(), list[Any]()

    def constant(name: str, value: Any) -> Any:
        symbol = sp.Symbol(name, real=True)
        variable = ast.Variable(symbol, type=ast.float64, attrs={ast.value_const})
        return variable.as_Declaration(value=value)

    def element(array: str, index: int) -> Any:
        return ast.Element(sp.Symbol(f"cg_{array}"), indices=(sp.Integer(index),))

    for part, s in [(one, s) for one in schedule.passes for s in one.statements]:
        if isinstance(s, Load):
            clock = s.array == "t"
            lines.append(constant(s.name, sp.Symbol("cg_t") if clock else element(s.array, s.index)))
        elif isinstance(s, Assign):
            lines.append(constant(s.name, expression(g, s.node, part.names, True, trees)))
        elif isinstance(s, SineCosine):
            angle = expression(g, g.args[s.sine.node][0], part.names, False, trees)
            lines.append(ast.FunctionCall("cg_sincos", (angle, s.sine.name, s.cosine.name)))
        elif isinstance(s, Store):
            value = expression(g, s.node, part.names, False, trees)
            lines.append(ast.Assignment(element(s.array, s.index), value))
        elif isinstance(s, Check):
            values = [expression(g, n, part.names, False, trees) for pair in s.pairs for n in pair]
            lines.append(ast.FunctionCall("cg_check", values))
        elif isinstance(s, FactorSolve):
            prefix, sizes = ("cg_rank_", (s.size, s.rank)) if s.rank else ("cg_", (s.size,))
            if s.factor:
                lines.append(ast.FunctionCall(f"{prefix}factor", (*sizes, element("work", s.matrix))))
            places = element("work", s.matrix), element("work", s.right)
            lines.append(ast.FunctionCall(f"{prefix}solve", (*sizes, *places)))
    return ast.CodeBlock(*lines)

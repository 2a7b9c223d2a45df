"""Scheduled statements as nodes of `sympy.codegen.ast`, in the order and association in which they are emitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp
from sympy.codegen import ast
from sympy.codegen.cfunctions import fma

from ..graph.functions import NAMED
from ..graph.graph import CONDITIONS, RELATIONS, Graph, Node
from ..graph.to_sympy import symbolic
from ..plan.fma import FUSED
from ..plan.plan import Plan
from ..plan.statements import Assign, Check, FactorSolve, Load, SineCosine, Store
from .function_bodies import array_name


def expression(g: Graph, node: Node, names: Mapping[Node, str], top: bool = True) -> Any:
    """A node as an unevaluated SymPy expression in the names of its parts."""
    if not top and node in names:
        return sp.Symbol(names[node], real=True)
    op, args = g.op[node], g.args[node]
    if op in ("const", "named"):
        value = g.constant_value(node)
        return sp.Float(NAMED[str(g.value[node])].value if value is None else float(value), 17)
    if op == "symbol":
        return sp.Symbol(names[node], real=True)
    if op == "select":
        value, other = (expression(g, a, names, False) for a in args[1:])
        truth, opposite = (_condition(g, args[0], names, wanted) for wanted in (True, False))
        return sp.Piecewise((value, truth), (other, opposite), (sp.nan, True), evaluate=False)
    if op in CONDITIONS:
        return _condition(g, node, names, True)
    parts = [expression(g, a, names, False) for a in args]
    if op in ("add", "sub"):
        last = parts[1] if op == "add" else _negative(parts[1])
        return sp.Add(*(parts[0].args if parts[0].is_Add else parts[:1]), last, evaluate=False)
    if op == "neg":
        return _negative(parts[0])
    if op == "mul":
        if parts[0].is_Float and parts[0] < 0:
            return sp.Mul(-1, -parts[0], parts[1], evaluate=False)
        return sp.Mul(*(parts[0].args if parts[0].is_Mul else parts[:1]), parts[1], evaluate=False)
    if op == "div":
        top_parts = parts[0].args if parts[0].is_Mul else [] if parts[0] == 1 else parts[:1]
        below = sp.Pow(parts[1], -1, evaluate=False)
        return sp.Mul(*top_parts, below, evaluate=False) if top_parts else below
    if op == "sqrt":
        return sp.Pow(parts[0], sp.Rational(1, 2), evaluate=False)
    if op in FUSED:
        a, b, c = parts
        first = _negative(a) if op in ("fnma", "fnms") else a
        return fma(first, b, _negative(c) if op in ("fms", "fnms") else c, evaluate=False)
    return symbolic(op)(*parts, evaluate=False)


def _condition(g: Graph, node: Node, names: Mapping[Node, str], wanted: bool) -> Any:
    """A condition or, with `wanted` False, its opposite; see `expressions.condition`."""
    op, args = g.op[node], g.args[node]
    if op not in RELATIONS:
        join = sp.And if (op == "and") == wanted else sp.Or
        return join(*(_condition(g, a, names, wanted) for a in args), evaluate=False)
    a, b = (expression(g, arg, names, False) for arg in args)
    if (op == "eq") == wanted and op in ("eq", "ne"):
        return sp.Equality(a, b, evaluate=False)
    if op in ("eq", "ne"):
        less, more = (sp.StrictLessThan(x, y, evaluate=False) for x, y in ((a, b), (b, a)))
        return sp.Or(less, more, evaluate=False)
    if wanted:
        return symbolic(op)(a, b, evaluate=False)
    return symbolic("le" if op == "lt" else "lt")(b, a, evaluate=False)


def _negative(e: Any) -> Any:
    return sp.Mul(-1, *(e.args if e.is_Mul else [e]), evaluate=False)


def assignments(program: Plan, kernel: str) -> Any:
    """One kernel as a `CodeBlock`: constants declared at first use, stores into `cg_out`, `cg_work` and `cg_q`."""
    g, plan = program.graph, program.written_out(kernel)
    lines: list[Any] = []

    def constant(name: str, value: Any) -> Any:
        symbol = sp.Symbol(name, real=True)
        variable = ast.Variable(symbol, type=ast.float64, attrs={ast.value_const})
        return variable.as_Declaration(value=value)

    def element(array: str, index: int) -> Any:
        return ast.Element(sp.Symbol(array_name(array)), indices=(sp.Integer(index),))

    for part, s in [(one, s) for one in plan.passes for s in one.statements]:
        if isinstance(s, Load):
            clock = s.array == "t"
            lines.append(constant(s.name, sp.Symbol("cg_t") if clock else element(s.array, s.index)))
        elif isinstance(s, Assign):
            lines.append(constant(s.name, expression(g, s.node, part.names)))
        elif isinstance(s, SineCosine):
            angle = expression(g, g.args[s.sine.node][0], part.names, False)
            lines.append(ast.FunctionCall("cg_sincos", (angle, s.sine.name, s.cosine.name)))
        elif isinstance(s, Store):
            lines.append(ast.Assignment(element(s.array, s.index), expression(g, s.node, part.names, False)))
        elif isinstance(s, Check):
            values = [expression(g, n, part.names, False) for pair in s.pairs for n in pair]
            lines.append(ast.FunctionCall("cg_check", values))
        elif isinstance(s, FactorSolve):
            prefix, sizes = ("cg_rank_", (s.size, s.rank)) if s.rank else ("cg_", (s.size,))
            if s.factor:
                lines.append(ast.FunctionCall(f"{prefix}factor", (*sizes, element("work", s.matrix))))
            places = element("work", s.matrix), element("work", s.right)
            lines.append(ast.FunctionCall(f"{prefix}solve", (*sizes, *places)))
    return ast.CodeBlock(*lines)

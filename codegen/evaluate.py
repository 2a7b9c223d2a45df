"""Values of graph nodes at a point: with floats (quick checks) or with mpmath (30 digits and more)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf

from .graph import Graph, Node

Function = Callable[..., Any]


def _sign(a: Any) -> Any:
    return (a > 0) - (a < 0)


_SHARED: dict[str, Function] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "abs": abs,
    "min": min,
    "max": max,
    "sign": _sign,
}

_NAMES = ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "atan2")

_FLOAT: dict[str, Function] = {**_SHARED, **{n: getattr(math, n) for n in _NAMES}, "pow": math.pow}
_MP: dict[str, Function] = {**_SHARED, **{n: getattr(mp, n) for n in _NAMES}, "pow": mp.power}


def _leaf(g: Graph, node: Node, values: Mapping[str, Any], precise: bool) -> Any:
    payload = g.value[node]
    kind = g.op[node]
    if kind == "const":
        assert isinstance(payload, Fraction)
        return (
            mpf(payload.numerator) / payload.denominator
            if precise
            else payload.numerator / payload.denominator
        )
    if kind == "named":
        return (
            {"pi": +mp.pi, "e": +mp.e}[str(payload)]
            if precise
            else {"pi": math.pi, "e": math.e}[str(payload)]
        )
    if kind == "bool":
        return payload == "true"
    return values[str(payload)]


def evaluate(g: Graph, roots: Sequence[Node], values: Mapping[str, Any], precise: bool = False) -> list[Any]:
    """The values of the roots, with the variables set by name.

    With `precise` the arithmetic is mpmath's at its present working precision, otherwise Python floats.
    Branches that are not taken are not computed: their domain errors do not matter.

    Raises ArithmeticError or ValueError where a function leaves its domain.
    """
    functions = _MP if precise else _FLOAT
    result: dict[Node, Any] = {}
    selects = any(g.op[n] == "select" for n in g.reachable(roots))
    if not selects:
        for node in g.reachable(roots):
            args = g.args[node]
            result[node] = (
                functions[g.op[node]](*[result[a] for a in args]) if args else _leaf(g, node, values, precise)
            )
        return [result[r] for r in roots]

    def value(root: Node) -> Any:
        stack = [root]
        while stack:
            node = stack[-1]
            if node in result:
                stack.pop()
                continue
            args = g.args[node]
            if g.op[node] == "select":
                condition, yes, no = args
                taken = condition if condition not in result else (yes if result[condition] else no)
                if taken not in result:
                    stack.append(taken)
                elif taken != condition:
                    result[node] = result[taken]
                    stack.pop()
                continue
            missing = [a for a in args if a not in result]
            if missing:
                stack.extend(missing)
                continue
            if args:
                result[node] = functions[g.op[node]](*[result[a] for a in args])
            else:
                result[node] = _leaf(g, node, values, precise)
            stack.pop()
        return result[root]

    return [value(r) for r in roots]

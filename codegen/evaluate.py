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
    found = _values(g, roots, values, precise)
    return [found[r] for r in roots]


def evaluate_with_scale(
    g: Graph,
    roots: Sequence[Node],
    values: Mapping[str, Any],
    precise: bool = False,
    sizes: Mapping[str, Any] | None = None,
) -> list[tuple[Any, Any]]:
    """Each root's value with the size of the terms that it is made of.

    A sum that cancels has a small value and a large scale: |value| <= eps * scale says that it may be zero.
    `sizes` are the scales of variables that were computed themselves.
    """
    found = _values(g, roots, values, precise)
    scale: dict[Node, Any] = {}
    for node in sorted(found):
        args = [a for a in g.args[node] if a in found]
        v, a = found[node], [found[x] for x in args]
        s = [scale[x] for x in args]
        op = g.op[node]
        if op == "symbol":
            scale[node] = max(abs(v), (sizes or {}).get(str(g.value[node]), 0))
        elif op in ("add", "sub"):
            scale[node] = s[0] + s[1]
        elif op == "mul":
            scale[node] = abs(a[0]) * s[1] + abs(a[1]) * s[0]
        elif op == "div":
            scale[node] = (s[0] + abs(v) * s[1]) / abs(a[1])
        elif op == "sqrt" and v:
            scale[node] = abs(v) + s[0] / (2 * abs(v))
        elif op == "exp":
            scale[node] = abs(v) * (1 + s[0])
        elif op == "log":
            scale[node] = abs(v) + s[0] / abs(a[0])
        elif op in ("tan", "sinh", "cosh"):
            scale[node] = abs(v) + (1 + v * v) * s[0]
        elif op == "select":
            scale[node] = scale[g.args[node][1] if a[0] else g.args[node][2]]
        else:
            scale[node] = (0 if isinstance(v, bool) else abs(v)) + (
                s[0] if len(s) == 1 and op != "sign" else 0
            )
    return [(found[r], scale[r]) for r in roots]


def branches_taken(g: Graph, roots: Sequence[Node], points: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every branch that the roots contain is taken both ways at some of the points."""
    switches: dict[Node, Function] = {}
    for node in g.reachable(roots):
        args = g.args[node]
        if g.op[node] in ("lt", "le", "min", "max"):
            switches[node] = lambda found, a=args: found[a[0]] < found[a[1]]
        elif g.op[node] in ("abs", "sign"):
            switches[node] = lambda found, a=args: found[a[0]] < 0
    seen: dict[Node, set[bool]] = {n: set() for n in switches}
    for point in points if switches else []:
        for node, side in switches.items():
            try:
                seen[node].add(bool(side(_values(g, g.args[node], point, False))))
            except (ArithmeticError, ValueError):
                continue
    return all(len(sides) == 2 for sides in seen.values())


def _values(g: Graph, roots: Sequence[Node], values: Mapping[str, Any], precise: bool) -> dict[Node, Any]:
    functions = _MP if precise else _FLOAT
    result: dict[Node, Any] = {}
    order = g.reachable(roots)
    if not any(g.op[n] == "select" for n in order):
        for node in order:
            args = g.args[node]
            result[node] = (
                functions[g.op[node]](*[result[a] for a in args]) if args else _leaf(g, node, values, precise)
            )
        return result
    stack = list(roots)
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
        result[node] = (
            functions[g.op[node]](*[result[a] for a in args]) if args else _leaf(g, node, values, precise)
        )
        stack.pop()
    return result

"""Values of graph nodes at a point: with floats (quick checks) or with mpmath (30 digits and more)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from mpmath import mp, mpc, mpf

from .floats import FAST, RENAMED, SAME
from .graph import RELATIONS, Graph, Node

Function = Callable[..., Any]


def _both(a: Any, b: Any) -> Any:
    """Kleene's "and": see `Graph.connective`. Of the truth values True, False and NaN."""
    if a is False or b is False:
        return False
    return True if a is b is True else math.nan


def _either(a: Any, b: Any) -> Any:
    if a is True or b is True:
        return True
    return False if a is b is False else math.nan


def _relation(compare: Function) -> Function:
    return lambda a, b: math.nan if a != a or b != b else bool(compare(a, b))


def _select(condition: Any, a: Any, b: Any) -> Any:
    return a if condition is True else b if condition is False else math.nan


_SHARED: dict[str, Function] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    **{name: _relation(getattr(operator, name)) for name in RELATIONS},
    "and": _both,
    "or": _either,
    "select": _select,
}

_FLOAT: dict[str, Function] = {**FAST, **_SHARED}
_MP: dict[str, Function] = {
    name: getattr(mp, "power" if name == "pow" else name) for name in (*SAME, *RENAMED)
}
_MP |= {**{name: FAST[name] for name in ("abs", "min", "max", "sign")}, **_SHARED}


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

    With `precise` the arithmetic is mpmath's at its present working precision, otherwise Python floats. Where a
    function leaves its domain or overflows its value is NaN, which does not matter in a branch that is not taken.

    Raises ArithmeticError or ValueError where the value of a root is NaN.
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
        args = g.args[node]
        v, a = found[node], [found[x] for x in args]
        s = [scale[x] for x in args]
        op = g.op[node]
        if v != v or (precise and mp.isinf(v)):
            scale[node] = math.nan
        elif op == "symbol":
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
            scale[node] = s[1] if a[0] else s[2]
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
        if g.op[node] in ("and", "or"):
            switches[node] = lambda found, a=args, f=_SHARED[g.op[node]]: f(found[a[0]], found[a[1]])
        elif g.op[node] in ("lt", "le", "min", "max"):
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
    nan = mpf("nan") if precise else math.nan
    result: dict[Node, Any] = {}
    reason: Exception = ArithmeticError("a value is not a number")
    for node in g.reachable(roots):
        args = g.args[node]
        if not args:
            result[node] = _leaf(g, node, values, precise)
            continue
        try:
            value = functions[g.op[node]](*[result[a] for a in args])
        except (ArithmeticError, ValueError) as error:
            value, reason = nan, error
        result[node] = nan if isinstance(value, (complex, mpc)) else value
    # Arrays, in the place of a variable, are the caller's to look at.
    if any((result[root] != result[root]) is True for root in roots):
        raise reason
    return result

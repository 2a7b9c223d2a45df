"""Roots that are absolute values in disguise: sqrt(x^2 - 4 x + 4) is |x - 2|, and so is (x - 2)^4 to the power 1/4.

An identity that holds with sqrt(a) also holds with -sqrt(a), unless a is a square. So each identity is tested with each
root reversed; if it fails, a is examined along lines: a square touches zero without changing sign, and beyond that
point the reversed root applies.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from mpmath import mp

from ..graph.evaluate import evaluate
from ..graph.graph import Graph, Node

_TOUCH = 1e-9
"""A minimum below this fraction of the values around it is zero."""


def reversed_roots(g: Graph, nodes: Sequence[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """The argument of each root below the nodes, and the nodes with that root's sign reversed."""
    for n in g.reachable(nodes):
        if _is_root(g, n) and g.symbols([n]):
            yield g.args[n][0], g.substitute(nodes, {n: g.neg(n)})


def _is_root(g: Graph, node: Node) -> bool:
    if g.op[node] != "pow":
        return g.op[node] == "sqrt"
    exponent = g.constant_value(g.args[node][1])
    return exponent is not None and exponent.denominator != 1


def touches_zero(g: Graph, node: Node) -> bool:
    """Whether a node has a zero along generic lines at which it does not change sign."""
    names = sorted(g.symbols([node]))
    draw = random.Random(50_021)
    steps = np.geomspace(1e-3, 1e6, 120)
    ts = np.concatenate((-steps[::-1], steps))
    for _ in range(3):
        start = np.array([draw.uniform(0.3, 1.7) for _ in names])
        direction = np.array([draw.gauss(0, 1) for _ in names])

        def value(
            t: float, precise: bool = False, start: np.ndarray = start, direction: np.ndarray = direction
        ) -> float:
            at = dict(zip(names, map(float, start + t * direction), strict=True))
            try:
                return float(evaluate(g, [node], at, precise)[0])
            except (ArithmeticError, ValueError, TypeError):
                return math.nan

        values = [value(t) for t in ts]
        for i in range(1, len(ts) - 1):
            around = min(values[i - 1], values[i + 1])
            if not 0 <= values[i] <= around:
                continue
            with mp.workdps(60):  # in floats it would be the root of rounding errors where terms cancel
                least = _least(partial(value, precise=True), ts[i - 1], ts[i + 1])
            if least <= _TOUCH * around:
                return True
    return False


def _least(value: Callable[[float], float], low: float, high: float) -> float:
    """The minimum of a function with a single minimum in an interval, by golden-section search."""
    share = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        a, b = high - share * (high - low), low + share * (high - low)
        if value(a) < value(b):
            high = b
        else:
            low = a
    return value((low + high) / 2)

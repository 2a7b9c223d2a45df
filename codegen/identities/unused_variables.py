"""Removal of variables that an expression contains but does not depend on.

The spin of an axisymmetric body and the length of a rotated vector contain angles only until sin^2 + cos^2 is replaced
by 1. Samples show which variables drop out; they are replaced by fixed values, and the result is used only if it is
proved to equal the original everywhere.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Sequence

from ..graph.evaluate import evaluate_with_scale
from ..graph.graph import Graph, Node
from .rational import vanishes

LARGEST = 400
"""Maximum number of nodes; larger expressions are left unchanged."""


def dropped(g: Graph, nodes: Sequence[Node], variables: Collection[Node]) -> list[Node]:
    """The nodes without those of the variables that they do not depend on."""
    return [_dropped(g, node, variables) for node in nodes]


def _dropped(g: Graph, node: Node, variables: Collection[Node]) -> Node:
    order = g.reachable([node])
    contained = [n for n in order if n in variables]
    if not contained or len(order) > LARGEST:
        return node
    idle = _idle(g, node, contained)
    for values in _fixed(g, order, idle) if idle else ():
        try:
            made = g.substitute([node], {n: g.const(v) for n, v in values.items()})[0]
        except ZeroDivisionError:
            continue
        if vanishes(g, g.sub(node, made)):
            return made
    return node


def _idle(g: Graph, node: Node, contained: Sequence[Node]) -> list[Node]:
    """The variables that do not affect the sampled values."""
    draw = random.Random(41)
    base = {name: draw.uniform(0.2, 0.9) for name in sorted(g.symbols([node]))}
    first = _value(g, node, base)
    if first is None:
        return []
    found = []
    for n in contained:
        moved = [_value(g, node, {**base, str(g.value[n]): draw.uniform(0.2, 0.9)}) for _ in range(2)]
        if all(m is not None and abs(m[0] - first[0]) <= 1e-9 * max(m[1], first[1]) for m in moved):
            found.append(n)
    return found


def _value(g: Graph, node: Node, at: dict[str, float]) -> tuple[float, float] | None:
    try:
        ((value, scale),) = evaluate_with_scale(g, [node], at)
    except (ArithmeticError, ValueError):
        return None
    return (value, scale) if math.isfinite(value) else None


def _fixed(g: Graph, order: Sequence[Node], idle: Sequence[Node]) -> Iterator[dict[Node, int]]:
    """Values at which expressions become short: zeros, or (1, 0, 0, 0) in case the variables are a quaternion."""
    inside = {a for n in order if g.op[n] in ("sin", "cos", "tan") for a in g.reachable(g.args[n])}
    plain = [n for n in idle if n not in inside]
    yield dict.fromkeys(idle, 0)
    if plain:
        yield {**dict.fromkeys(idle, 0), plain[0]: 1}

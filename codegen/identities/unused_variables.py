"""Removal of variables that an expression contains but does not depend on.

The spin of an axisymmetric body and the length of a rotated vector contain angles only until sin^2 + cos^2 is replaced
by 1. Samples show which variables drop out; they are replaced by fixed values, and the result is used only if it is
proved to equal the original everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from ..graph.evaluate import evaluate_many
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


@np.errstate(invalid="ignore")
def _idle(g: Graph, node: Node, contained: Sequence[Node]) -> list[Node]:
    """The variables that do not affect the sampled values: each is moved twice from a first point."""
    draw = random.Random(41)
    count = 1 + 2 * len(contained)
    at = {name: np.full(count, draw.uniform(0.2, 0.9)) for name in sorted(g.symbols([node]))}
    for i, n in enumerate(contained):
        at[str(g.value[n])][1 + 2 * i : 3 + 2 * i] = draw.uniform(0.2, 0.9), draw.uniform(0.2, 0.9)
    (values,), (scales,) = evaluate_many(g, [node], at, {})
    same = np.isfinite(values) & (np.abs(values - values[0]) <= 1e-9 * np.maximum(scales, scales[0]))
    return [n for n, idle in zip(contained, same[1:].reshape(-1, 2).all(axis=1), strict=True) if idle]


def _fixed(g: Graph, order: Sequence[Node], idle: Sequence[Node]) -> Iterator[dict[Node, int]]:
    """Values at which expressions become short: zeros, or (1, 0, 0, 0) in case the variables are a quaternion."""
    inside = {a for n in order if g.op[n] in ("sin", "cos", "tan") for a in g.reachable(g.args[n])}
    plain = [n for n in idle if n not in inside]
    yield dict.fromkeys(idle, 0)
    if plain:
        yield {**dict.fromkeys(idle, 0), plain[0]: 1}

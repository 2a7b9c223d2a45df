"""Does an expression jump where it passes from one branch to another?

On the border between two branches one switch is zero. The expressions of both sides are compared there, at points found
to many digits; only borders between branches that differ in a single switch are examined. Angles jump as well: atan2 by
2 pi across the negative x axis, atan by pi where its argument has a pole.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
from mpmath import mp, mpf

from ..graph.evaluate import evaluate, evaluate_many, evaluate_with_scale
from ..graph.graph import Graph, Node
from ..identities.branches import SWITCHES, Condition, branches, can_border
from ..identities.identities import DIGITS, FAILURES
from .feasible_points import FARTHEST, reach, warn_too_many
from .nodes import SystemNodes
from .points import sample

ANGLES = {"atan", "atan2"}
"""Angles: atan2 jumps where x < 0 and y changes sign, atan where its argument passes through infinity."""
Roots = Callable[[Node], list[dict[str, Any]]]
"""The zeros of a node, found once for each; see `_roots`."""
_MOST_ROOTS = 12
_ROUNDING = 1e-13
"""A jump below this fraction of the terms is the rounding of constants such as 0.01, which no float equals exactly."""


def jump(g: Graph, node: Node, system: SystemNodes) -> Sequence[Condition] | None:
    """None if a node is continuous, else the conditions next to a border at which it jumps or might jump.

    The conditions are empty if an angle in the node jumps, or if there are too many branches.
    """
    roots: Roots = cache(partial(_roots, g, system=system))
    for part in _independent_parts(g, node):
        found = branches(g, [part])
        if found is None:
            warn_too_many(
                system, "a function that might jump between branches is not reported as an integral"
            )
            return ()
        for one, other in combinations(found, 2):
            ours, theirs = dict(one.conditions), dict(other.conditions)
            opposed = [n for n in ours if ours[n] == -theirs.get(n, 0)]
            if len(opposed) != 1 or one.nodes == other.nodes:
                continue
            (border,) = opposed
            if g.symbols([border]) <= {p.name for p in system.parameters}:
                continue  # no motion passes it
            beside = {n: s for n, s in (ours | theirs).items() if n != border}
            (a,), (b,) = one.nodes, other.nodes
            if can_border(g, border, beside) and not _same(g, a, b, _zeros(g, roots, border, [a, b], system)):
                return [*beside.items(), (border, 1)]
        if any(_angle_jumps(g, roots, branch.nodes[0], system) for branch in found):
            return ()
    return None


def _independent_parts(g: Graph, node: Node) -> list[Node]:
    """Sums of those terms of a node that share switches or angles; terms without either are left out."""
    terms, stack = [], [(1, node)]
    while stack:
        sign, n = stack.pop()
        coefficient, rest = g.split(n)
        if g.op[rest] in ("add", "sub") and abs(coefficient) == 1:
            sign *= int(coefficient)
            a, b = g.args[rest]
            stack += [(sign, a), (sign if g.op[rest] == "add" else -sign, b)]
        else:
            terms.append(n if sign > 0 else g.neg(n))
    groups: list[tuple[set[Node], list[Node]]] = []
    for term in terms:
        marks = {n for n in g.reachable([term]) if g.op[n] in SWITCHES | ANGLES}
        if not marks:
            continue
        own = (marks, [term])
        for group in [other for other in groups if other[0] & marks]:
            groups.remove(group)
            own = (own[0] | group[0], own[1] + group[1])
        groups.append(own)
    return [g.sum(sorted(parts)) for _, parts in groups]


def _same(g: Graph, one: Node, other: Node, points: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two nodes agree at all of the points; False if they can be evaluated at none."""

    def agree(point: Mapping[str, Any], precise: bool, limit: float) -> bool:
        (a, size_a), (b, size_b) = evaluate_with_scale(g, [one, other], point, precise)
        return bool(abs(a - b) <= limit * (size_a + size_b))

    looked = False
    with mp.workdps(2 * DIGITS):
        for point in points:
            # Floats can show that they agree, but not that they differ: sqrt(1e-16) is 1e-8.
            with suppress(*FAILURES):
                if agree({name: float(v) for name, v in point.items()}, False, _ROUNDING / 10):
                    looked = True
                    continue
            try:
                if not agree(point, True, _ROUNDING):
                    return False
            except FAILURES:
                continue
            looked = True
    return looked


def _zeros(
    g: Graph, roots: Roots, node: Node, beside: Sequence[Node], system: SystemNodes
) -> list[dict[str, Any]]:
    """Generic points at which a node is zero to many digits, with values for the symbols of the nodes `beside` too."""
    draw = random.Random(70_001)
    base = sample(system, 1)
    rest = sorted(g.symbols(beside) - {p.name for p in system.parameters})
    around = ({**base, **{n: draw.uniform(-2, 2) for n in rest}} for _ in range(_MOST_ROOTS))
    return [{**{n: mpf(v) for n, v in a.items()}, **r} for a, r in zip(around, roots(node), strict=False)]


def _roots(g: Graph, node: Node, system: SystemNodes) -> list[dict[str, Any]]:
    """Generic values of the variables of a node at which it is zero to many digits."""
    names = sorted(g.symbols([node]))
    draw = random.Random(70_003)
    found: list[dict[str, Any]] = []
    for start, end in _crossings(
        g, node, names, {**dict.fromkeys(names, 0.5), **sample(system, 1)}, draw, system
    ):
        with mp.workdps(2 * DIGITS + 10):
            root = _between(g, node, names, start, end)
        if root is not None:
            found.append(root)
        if len(found) == _MOST_ROOTS:
            break
    return found


def _crossings(
    g: Graph,
    node: Node,
    names: Sequence[str],
    base: Mapping[str, float],
    draw: random.Random,
    system: SystemNodes,
) -> Iterator[tuple[Any, Any]]:
    """Pairs of generic points between which a node changes sign."""

    def value(x: Any) -> float:
        try:
            return float(evaluate(g, [node], dict(zip(names, map(float, x), strict=True)))[0])
        except FAILURES:
            return float("nan")

    def noise() -> Any:
        return np.array([draw.gauss(0, 1) for _ in names])

    middle = np.array([base[n] for n in names])
    steps = np.geomspace(1e-3, FARTHEST, 48)
    ts = np.concatenate((-steps[::-1], steps))
    fixed = [i for i, n in enumerate(names) if n in {p.name for p in system.parameters}]
    for _ in range(3):
        start, direction = middle + 0.3 * noise(), noise()
        if len(fixed) < len(names):  # move along the variables, at fixed values of the parameters
            start[fixed], direction[fixed] = middle[fixed] * (1 + 0.1 * noise()[fixed]), 0.0
        line = dict(zip(names, (start + ts[:, None] * direction).T, strict=True))
        values = evaluate_many(g, [node], line)[0]
        changes = [i for i in range(len(ts) - 1) if values[i] * values[i + 1] < 0]
        for i in sorted(changes, key=lambda i: abs(ts[i]))[:4]:
            yield start + ts[i] * direction, start + ts[i + 1] * direction
    ends = [reach(g, [(node, sign)], system)[0] for sign in (1, -1)]
    if ends[0] is None or ends[1] is None:
        return
    for _ in range(3):
        moved = []
        for sign, end in zip((1, -1), ends, strict=True):
            x = np.array([end[n] for n in names])  # type: ignore[index]
            for size in (1.0, 0.1, 1e-2, 1e-4, 1e-6, 1e-9):
                trial = x + size * noise() * (1 + np.abs(x))
                if sign * value(trial) > 0:
                    moved.append(trial)
                    break
        if len(moved) == 2:
            yield moved[0], moved[1]


def _between(g: Graph, node: Node, names: Sequence[str], start: Any, end: Any) -> dict[str, Any] | None:
    """The zero of a node between two points, to the current working precision."""
    a, b = [mpf(v) for v in start], [mpf(v) for v in end]

    def at(t: Any) -> dict[str, Any]:
        return {n: u + t * (v - u) for n, u, v in zip(names, a, b, strict=True)}

    try:
        t = mp.findroot(
            lambda t: evaluate(g, [node], at(t), True)[0], (mpf(0), mpf(1)), solver="anderson", maxsteps=400
        )
    except FAILURES:
        return None
    return at(t)


def _angle_jumps(g: Graph, roots: Roots, node: Node, system: SystemNodes) -> bool:
    """Whether a node without switches jumps where an angle in it jumps."""
    for n in g.reachable([node]):
        if g.op[n] == "atan2":
            y, x = g.args[n]
            (behind,) = g.substitute([node], {n: g.named("pi")})
            (below,) = g.substitute([node], {n: g.neg(g.named("pi"))})
            zeros = _zeros(g, roots, y, [node, x], system) if g.symbols([y]) else []
            with mp.workdps(2 * DIGITS):
                zeros = [p for p in zeros if _is_negative(g, x, p)]
            if zeros and not _same(g, behind, below, zeros):
                return True
        elif g.op[n] == "atan":
            quarter = g.div(g.named("pi"), g.two)
            above, below = (g.substitute([node], {n: v})[0] for v in (quarter, g.neg(quarter)))
            for pole in _poles(g, g.args[n][0]):
                zeros = _zeros(g, roots, pole, [node], system) if g.symbols([pole]) else []
                if zeros and not _same(g, above, below, zeros):
                    return True
    return False


def _is_negative(g: Graph, node: Node, point: Mapping[str, Any]) -> bool:
    try:
        value = evaluate(g, [node], point, True)[0]
    except FAILURES:
        return False
    return isinstance(value, mpf) and bool(value < 0)


def _poles(g: Graph, node: Node) -> list[Node]:
    """Nodes that are zero where the given node passes through infinity."""
    op, args = g.op[node], g.args[node]
    if op == "tan":
        return [g.call("cos", args[0])]
    if op == "div":
        below = args[1]
        even = g.op[below] == "mul" and g.args[below][0] == g.args[below][1]
        return [*_poles(g, args[0]), *([] if even else [below])]
    if op in ("add", "sub", "mul", "neg"):
        return [pole for a in args for pole in _poles(g, a)]
    return []

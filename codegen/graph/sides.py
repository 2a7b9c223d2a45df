"""What decides on which side of a kink or jump an expression is, and its value on each side."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .functions import FUNCTIONS
from .graph import CONDITIONS, RELATIONS, Graph, Node
from .zeros import multiple, simple_zero


def changing(g: Graph, node: Node) -> tuple[Node, str] | None:
    """The function whose sign decides on the value of a node, and its description."""
    op, args = g.op[node], g.args[node]
    if op in RELATIONS:
        return simple_zero(g, g.sub(*args)), "difference of the sides of a condition"
    function = FUNCTIONS.get(op)
    if function is None or function.switch is None:
        return None
    name = function.symbolic.__name__
    if function.switch.compares:
        return simple_zero(g, g.sub(*args)), f"difference of the arguments of {name}"
    return simple_zero(g, args[0]), f"argument of {name}"


def by_side(g: Graph, roots: Sequence[Node], of: Node, side: Node) -> list[Node]:
    """The roots with the number `side` as the sign of `of`: -1, 1, or 0 for the mean of what they are on both sides.

    The sign decides on functions and conditions of multiples of `of`. Equalities, which hold at single points, stay.
    """
    above, below = (_each_on_side(g, roots, of, sign) for sign in (1, -1))
    new: dict[Node, Node] = {}
    for node in g.reachable(roots):
        args, up, down = g.args[node], above[node], below[node]
        chooses = g.op[node] == "select" and above[args[0]] != below[args[0]]
        if (chooses or _sign(g, node, of) != 0) and g.op[node] not in CONDITIONS:
            mean, change = (g.mul(g.const(Fraction(1, 2)), n) for n in (g.add(up, down), g.sub(up, down)))
            new[node] = g.add(mean, g.mul(side, change))
        else:
            moved = tuple(new[a] for a in args)
            new[node] = node if moved == args else g.rebuild(g.op[node], moved)
    return [new[root] for root in roots]


def _sign(g: Graph, node: Node, of: Node) -> int:
    """The sign at which what decides on a node is a multiple of `of`; 0 if nothing does, or something else."""
    found = None if g.op[node] in ("eq", "ne") else changing(g, node)
    factor = None if found is None else multiple(g, found[0], of)
    return 0 if factor is None else 1 if factor > 0 else -1


def on_side(g: Graph, roots: Sequence[Node], of: Node, side: int) -> list[Node]:
    """The roots where `of` has the sign `side`, -1 or 1."""
    found = _each_on_side(g, roots, of, side)
    return [found[root] for root in roots]


def _each_on_side(g: Graph, roots: Sequence[Node], of: Node, side: int) -> dict[Node, Node]:
    """What every node that the roots need is where `of` has the sign `side`."""
    new: dict[Node, Node] = {}
    for node in g.reachable(roots):
        op, args = g.op[node], [new[a] for a in g.args[node]]
        sign = side * _sign(g, node, of)
        if sign == 0:
            new[node] = node if tuple(args) == g.args[node] else g.rebuild(op, args)
        elif op in RELATIONS:
            new[node] = g.boolean(sign < 0)
        else:
            switch = FUNCTIONS[op].switch
            assert switch is not None
            new[node] = switch.chosen(g, -sign if switch.compares else sign, *args)  # `compares`: b - a
    return new

"""What decides on which side of a kink or jump an expression is, its value on each side, and simple zeros."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .functions import FUNCTIONS
from .graph import CONDITIONS, RELATIONS, Graph, Node

_Line = frozenset[tuple[Node, Fraction]]


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


class _Factor(NamedTuple):
    """A factor of a product, how often it occurs there, and whether only its size does."""

    node: Node
    times: int
    size: bool


def simple_zero(g: Graph, node: Node) -> Node:
    """A product with v instead of v**3 or v Abs(v): it has the same zeros and signs, and a slope where v has one.

    Factors v and -v, or 2 v, are powers of one. Other constant factors, even powers and denominators stay; so does a
    node without an odd power.
    """
    factors, below = _factors(g, node)
    if sum(f.times for f in factors) == 1:
        return node
    alike = defaultdict[_Line, list[_Factor]](list)
    for factor in factors:
        alike[_line(g, factor.node)[0]].append(factor)
    kept = {_line(g, n)[0] for n in g.reachable([*below, g.one])}
    found, changed = g.one, False
    for line, powers in alike.items():
        plain = [(f.node, f.times) for f in powers if not f.size]
        odd = sum(times for _, times in plain) % 2 == 1
        if odd and sum(f.times for f in powers) > 1 and line not in kept:
            base = plain[0][0]
            opposite = sum(times for n, times in plain if _line(g, n)[1] * _line(g, base)[1] < 0)
            found, changed = g.mul(found, g.neg(base) if opposite % 2 else base), True
            continue
        for f in powers:
            found = g.mul(found, g.integer_power(g.call("abs", f.node) if f.size else f.node, f.times))
    for n in below:
        found = g.div(found, n)
    return found if changed else node


def multiple(g: Graph, node: Node, of: Node) -> Fraction | None:
    """The number c in node = c of, if both are sums of the same terms; otherwise None."""
    (line, number), (other, unit) = _line(g, node), _line(g, of)
    return number / unit if line == other and line else None


def _factors(g: Graph, node: Node) -> tuple[list[_Factor], list[Node]]:
    """The factors of a product, and the denominators."""
    found, below, left = [], [], [_Factor(node, 1, False)]
    while left:
        factor = left.pop()
        op, args = g.op[factor.node], g.args[factor.node]
        if op == "mul":
            left += [_Factor(n, times * factor.times, factor.size) for n, times in Counter(args).items()]
        elif op == "abs":
            left.append(_Factor(args[0], factor.times, True))
        elif op == "neg":
            left += [_Factor(args[0], factor.times, factor.size), _Factor(g.minus_one, factor.times, False)]
        elif op == "div" and not factor.size:
            left.append(_Factor(args[0], factor.times, False))
            below += [args[1]] * factor.times
        else:
            found.append(factor)
    return found, below


def _line(g: Graph, node: Node) -> tuple[_Line, Fraction]:
    """A sum as a direction, the same for all its multiples, and a number that is proportional along it."""
    terms, left = defaultdict[Node, Fraction](Fraction), [(node, Fraction(1))]
    while left:
        part, times = left.pop()
        number, rest = g.split(part)
        op, args = g.op[rest], g.args[rest]
        if op in ("add", "sub"):
            second = number if op == "add" else -number
            left += [(args[0], times * number), (args[1], times * second)]
        else:
            terms[rest] += times * number
    rests = sorted(rest for rest, number in terms.items() if number != 0)
    size = terms[rests[0]] if rests else Fraction(1)
    return frozenset((rest, terms[rest] / size) for rest in rests), size

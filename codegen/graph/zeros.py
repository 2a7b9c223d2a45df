"""Zeros of products, where odd powers make way for their bases, which have a slope there."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import NamedTuple

from .graph import Graph, Node

_Line = frozenset[tuple[Node, Fraction]]


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

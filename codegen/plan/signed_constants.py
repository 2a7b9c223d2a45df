"""Constants with their signs: a - c b as a + (-c) b, for bodies whose numbers differ.

The graph writes a negative coefficient as a difference, so the signs of numbers decide which operations a body takes.
As sums, bodies that differ in numbers alone take the same ones. The values are the same, bit for bit.
"""

from __future__ import annotations

from dataclasses import replace

from ..graph.graph import Graph, Node
from ..lower.options import LoweringOptions
from .part import Part


def signs(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """A kernel of cells with its differences from constant multiples as sums.

    The part itself if it has fewer constants than cells, which share them.
    """
    kernel, given = part.kernel, set(part.hoisted)
    if not kernel.cells:
        return part
    order = g.reachable(kernel.roots(), stop=given)
    if len({g.args[n][0] for n in order if multiplied(g, n) is not None}) < len(kernel.cells):
        return part
    new: dict[Node, Node] = {}
    for n in order:
        new[n] = n if n in given or not g.args[n] else _with_sign(g, n, new)
    return replace(part, kernel=kernel.map(lambda n: new.get(n, n)))


def _with_sign(g: Graph, n: Node, new: dict[Node, Node]) -> Node:
    """A node of new operands; a sum with a multiple of b has its summands in the order of a and b."""
    op, args = g.op[n], tuple(new[a] for a in g.args[n])
    rests = [multiplied(g, a) for a in g.args[n]]
    if op == "sub" and rests[1] is not None:
        factor, rest = g.args[args[1]]
        value = g.constant_value(factor)
        assert value is not None
        op, args = "add", (args[0], g.same("mul", (g.const(-value), rest)))
    if op == "add" and rests != [None, None]:
        a, b = (a if rest is None else rest for a, rest in zip(g.args[n], rests, strict=True))
        args = args if a <= b else args[::-1]
    return g.same(op, args)


def multiplied(g: Graph, n: Node) -> Node | None:
    """b for a multiple c b whose factor may be a number of a body: no integer, as of derivatives of squares."""
    value = g.constant_value(g.args[n][0]) if g.op[n] == "mul" else None
    return None if value is None or value.denominator == 1 else g.args[n][1]

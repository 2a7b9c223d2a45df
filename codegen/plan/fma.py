"""Multiply-adds: which products of a kernel are added without being rounded first.

A sum and one product in it become one operation: `fma` is a b + c, `fms` a b - c, `fnma` c - a b, `fnms` -a b - c. The
choice is made here, on the graph, and written out in the emitted code, so that results do not depend on what a compiler
would fuse: compilers are told to fuse nothing. The opposite of a multiply-add is another multiply-add, since GCC makes
`-fma(a, b, c)` one when it optimises, and where a b = -c its zero has the other sign.

Fewest operations come first: a product disappears if every use of it is fused. So a product that only sums use is fused
into all of them, unless one of them has fused another product; products that are used once come before others. Where a
sum adds two products, the one that leaves the shorter chain of dependent operations is fused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..graph.graph import Graph, Node
from ..lower.lowered import Kernel
from ..lower.options import LoweringOptions
from .part import Part, counted
from .rebuild import latency

FUSED = ("fma", "fms", "fnma", "fnms")
_OPPOSITE = {"fma": "fnms", "fms": "fnma", "fnma": "fms"}
_SUMS = ("add", "sub")


def fuse(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """The part with multiply-adds, and what is computed beforehand too; what they were is counted first."""
    first = None if part.hoist is None else fuse(g, part.hoist, options)
    kernel = fused(g, part.kernel, set(part.hoisted))
    return replace(part, kernel=kernel, hoist=first, counts=counted(g, part))


def fused(g: Graph, kernel: Kernel, given: Collection[Node]) -> Kernel:
    """A kernel with multiply-adds, extending the graph; the nodes `given` are known before."""
    order = [n for n in g.reachable(kernel.roots(), stop=given) if n not in given]
    chosen = _chosen(g, order, kernel)
    new: dict[Node, Node] = {n: n for n in given}
    for node in order:
        if node in chosen:
            new[node] = _multiply_add(g, node, chosen[node], new)
        elif g.op[node] == "neg" and g.args[node][0] in chosen:
            new[node] = _opposite(g, new[g.args[node][0]])
        else:
            args = tuple(new.get(a, a) for a in g.args[node])
            new[node] = node if args == g.args[node] else g.same(g.op[node], args)
    return kernel.map(lambda n: new.get(n, n))


def _chosen(g: Graph, order: Sequence[Node], kernel: Kernel) -> dict[Node, int]:
    """Sum -> position of the product that is fused into it."""
    users: dict[Node, list[Node]] = defaultdict(list)
    for node in order:
        for a in g.args[node]:
            users[a].append(node)
    kept = {*kernel.roots(), *kernel.labels}
    inside = set(order)

    def fits(product: Node) -> bool:
        return (
            g.op[product] == "mul"
            and product in inside
            and product not in kept
            and all(g.op[user] in _SUMS for user in users[product])
        )

    chosen: dict[Node, int] = {}
    ready: dict[Node, int] = {}

    def when(nodes: Sequence[Node]) -> int:
        return max((ready.get(n, 0) for n in nodes), default=0)

    for node in order:
        args = g.args[node]
        ready[node] = when(args) + (latency(g.op[node]) if args else 0)
        if g.op[node] in _SUMS:
            once = [i for i in (0, 1) if fits(args[i]) and len(users[args[i]]) == 1]
            ends = {i: max(when(g.args[args[i]]), ready.get(args[1 - i], 0)) + latency("add") for i in once}
            if ends:
                chosen[node] = min(ends, key=lambda i: (ends[i], i))
                ready[node] = ends[chosen[node]]
    for product in order:
        if len(users[product]) > 1 and fits(product) and not any(user in chosen for user in users[product]):
            chosen.update({user: g.args[user].index(product) for user in users[product]})
    return chosen


def _multiply_add(g: Graph, node: Node, position: int, new: dict[Node, Node]) -> Node:
    """The multiply-add of a sum; `new` has the operands."""
    args = g.args[node]
    a, b = (new.get(n, n) for n in g.args[args[position]])
    other = args[1 - position]
    c = new.get(other, other)
    if g.op[node] == "add":
        return g.same("fma", (a, b, c))
    subtracted = a if position == 1 else c
    value = g.constant_value(subtracted)
    if value is None:
        return g.same("fnma" if position == 1 else "fms", (a, b, c))
    opposite = g.const(-value)
    return g.same("fma", (opposite, b, c) if position == 1 else (a, b, opposite))


def _opposite(g: Graph, node: Node) -> Node:
    """The multiply-add that is the opposite of another one."""
    a, b, c = g.args[node]
    op = _OPPOSITE[g.op[node]]
    if op == "fnms" and (value := g.constant_value(a)) is not None:
        return g.same("fms", (g.const(-value), b, c))
    if op == "fnms" and (value := g.constant_value(c)) is not None:
        return g.same("fnma", (a, b, g.const(-value)))
    return g.same(op, (a, b, c))

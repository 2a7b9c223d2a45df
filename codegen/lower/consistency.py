"""What must be zero at the start of a run: residuals that a form does not satisfy identically, and coordinate levels.

The runtime compares each residual r with the sum of the magnitudes of its terms, so that the user need not give a
scale, and with the magnitudes of dr/dx_j, which bound the effect on r of state errors of the size of `atol`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaplygin.runtime.interface.assumptions import ZERO_AT_START

from ..graph.differentiate import gradient
from ..graph.graph import Graph, Node
from .dynamics import Dynamics
from .lowered import Kernel


def consistency(d: Dynamics) -> Iterator[Kernel]:
    """For each quantity r: r, the sum of the magnitudes of its terms, and the sum of |dr/dx_j| over the states x."""
    g = d.graph
    outputs: list[Node] = []
    comments: list[str] = []
    for variable, node in d.conserved:
        if variable.flags & ZERO_AT_START:
            slopes = term_magnitudes(g, gradient(g, node, d.eqs.state_nodes))
            outputs += [node, *term_magnitudes(g, [node]), g.sum(slopes)]
            comments += [variable.name, f"{variable.name}: its terms", f"{variable.name}: its slopes"]
    if outputs:
        yield Kernel("consistency", tuple(outputs), tuple(comments))


def term_magnitudes(g: Graph, nodes: Sequence[Node]) -> list[Node]:
    """The sum of the magnitudes of the terms of each node, as if its products of sums were expanded.

    >>> g = Graph()
    >>> x, y = g.symbol("x"), g.symbol("y")
    >>> found, = term_magnitudes(g, [g.mul(x, g.sub(y, g.two))])      # |x| |y| + 2 |x|
    >>> found == g.mul(g.call("abs", x), g.add(g.call("abs", y), g.two))
    True
    """
    size: dict[Node, Node] = {}
    for node in g.reachable(nodes):
        op, args = g.op[node], g.args[node]
        if op in ("add", "sub"):
            size[node] = g.add(size[args[0]], size[args[1]])
        elif op == "neg":
            size[node] = size[args[0]]
        elif op == "mul" and args[0] == args[1] and g.op[args[0]] == "symbol":
            size[node] = node
        elif op == "mul":
            size[node] = g.mul(size[args[0]], size[args[1]])
        elif op == "div":
            size[node] = g.div(size[args[0]], g.call("abs", args[1]))
        elif op == "select":
            size[node] = g.select(args[0], size[args[1]], size[args[2]])
        elif op not in ("lt", "le", "eq", "ne", "bool"):
            size[node] = g.call("abs", node)
    return [size[n] for n in nodes]

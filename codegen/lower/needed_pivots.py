"""Which pivots a kernel has to check: those that it divides by."""

from __future__ import annotations

from dataclasses import replace

from ..graph.graph import Graph, Node
from .lowered import Kernel


def with_needed_checks(g: Graph, kernel: Kernel) -> Kernel:
    """The kernel without the checks of pivots that are below none of its divisions and solves.

    A value that needs no division, such as an angular velocity or an energy, exists where the equations are singular.
    A pivot counts as divided by if one of its factors is, since products of divisors are split and joined.
    """
    if not kernel.pivots:
        return kernel
    values = [*kernel.outputs, *(n for solve in kernel.solves for n in (*solve.matrix, *solve.rhs))]
    divisors = [g.args[n][1] for n in g.reachable(values) if g.op[n] == "div"]
    below = set(g.reachable([*divisors, *(n for solve in kernel.solves for n in solve.matrix)]))
    below.update(n for solve in kernel.solves for n in solve.pivots)
    needed = tuple(pair for pair in kernel.pivots if not below.isdisjoint(_factors(g, pair[0])))
    return replace(kernel, pivots=needed)


def _factors(g: Graph, node: Node) -> set[Node]:
    """The factors of a product or quotient that are not constant."""
    found, stack = set[Node](), [node]
    while stack:
        n = stack.pop()
        if g.op[n] in ("mul", "div", "neg"):
            stack.extend(g.args[n])
        elif g.constant_value(n) is None:
            found.add(n)
    return found

"""What each result of a model depends on, for the ModelStructure of FMUs."""

from __future__ import annotations

from ..graph.differentiate import partials
from ..graph.graph import Graph, Node
from ..lower.lowered import Kernel, Lowered

LARGEST_DIFFERENTIATED = 2000
"""Maximum number of nodes of a kernel whose dependencies are also classified."""


def dependencies(program: Lowered, kernel: str) -> list[dict[str, str]]:
    """For each result of a kernel the names on which it depends, each with a kind.

    A name is the time, a state, an input or a parameter. Its kind is "constant" if the derivative by it is a number,
    "fixed" if it depends on parameters alone, else "dependent": these are FMI's words.
    """
    found = program.kernels.get(kernel)
    return [] if found is None else _dependencies(program, found)


def _dependencies(program: Lowered, kernel: Kernel) -> list[dict[str, str]]:
    g = program.graph.copy()
    names = [program.independent, *(v.name for v in (*program.states, *program.inputs, *program.parameters))]
    known = {g.symbol(name): name for name in names}
    fixed = {g.symbol(v.name) for v in program.parameters}
    leaves = _leaves(g, kernel)
    found = [{known[n]: "dependent" for n in known if n in leaves[root]} for root in kernel.outputs]
    if kernel.solves or len(g.reachable(kernel.outputs)) > LARGEST_DIFFERENTIATED:
        return found
    for symbol, column in zip(known, partials(g, kernel.outputs, list(known)), strict=True):
        for row, slope in zip(found, column, strict=True):
            if known[symbol] in row:
                depends = _support(g, slope)
                if depends <= fixed:
                    row[known[symbol]] = "fixed" if depends else "constant"
    return found


def _support(g: Graph, root: Node) -> set[Node]:
    """The symbols in an expression."""
    return {n for n in g.reachable([root]) if g.op[n] == "symbol"}


def _leaves(g: Graph, kernel: Kernel) -> dict[Node, set[Node]]:
    """For each result the symbols on which it depends, also through the linear systems that a loop solves."""
    through: dict[Node, set[Node]] = {}

    def expanded(symbols: set[Node]) -> set[Node]:
        return set().union(*(through.get(s, {s}) for s in symbols))

    factored: dict[str, set[Node]] = {}
    for solve in kernel.solves:
        if solve.matrix:
            factored[solve.factors] = expanded(set().union(*(_support(g, n) for n in solve.matrix)))
        right = expanded(set().union(*(_support(g, n) for n in solve.rhs)))
        through |= dict.fromkeys(solve.results, factored[solve.factors] | right)
    return {root: expanded(_support(g, root)) for root in kernel.outputs}

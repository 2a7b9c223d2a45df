"""The graph of a model's kernels as a text, `<name>_graph.txt`, from which further kernels are made without deriving.

First come the nodes, a line each: an operation and the numbers of its arguments, or a leaf and its value. Then the
kernels: `kernel` or `unarranged` with a name and what the kernel takes, and lines with the numbers of their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from ..graph.graph import LEAVES, Graph, Node
from ..lower.program import Kernel, Program, Solve
from .render import provenance

QUANTITIES = ("rhs", "outputs", "invariants", "guards", "contacts")
"""The kernels of what a model computes along a run, which have derivatives in its FMU too."""
_MAPS = ("project", "correction", "initial", "closure")
"""The kernels that give states, or say which are permitted; those of resets come with them."""
_SETS = ("kernel", "unarranged")


def graph_files(program: Program, command: str) -> dict[str, str]:
    """`<name>_graph.txt`; `command` is quoted as the command that regenerates it."""
    g = program.graph
    names = (*QUANTITIES, *_MAPS, *(f"reset_{i}" for i in range(len(program.events))))
    sets = [
        {name: found[name] for name in wanted if name in found}
        for found, wanted in ((program.kernels, names), (program.unarranged, QUANTITIES))
    ]
    kernels = [kernel for found in sets for kernel in found.values()]
    solved = [n for k in kernels for solve in k.solves for n in (*solve.results, *solve.pivots)]
    roots = [n for k in kernels for n in k.roots()]
    # The first four nodes are in every graph.
    number = {n: i for i, n in enumerate(g.reachable([g.zero, g.one, g.minus_one, g.two, *roots, *solved]))}
    lines = [provenance("graph_file.py", program.digest, command)]
    for node in number:
        payload = [str(g.value[node])] if g.op[node] in LEAVES else [str(number[a]) for a in g.args[node]]
        lines.append(" ".join([g.op[node], *payload]))

    def row(word: str, nodes: Iterable[Node]) -> str:
        return " ".join([word, *(str(number[n]) for n in nodes)])

    for word, found in zip(_SETS, sets, strict=True):
        for kernel in found.values():
            lines += [f"{word} {kernel.name} {kernel.takes}", row("outputs", kernel.outputs)]
            lines.append(row("pivots", (n for pair in kernel.pivots for n in pair)))
            for solve in kernel.solves:
                lines += [f"solve {solve.factors}", row("matrix", solve.matrix), row("right", solve.rhs)]
                lines.append(row("results", (*solve.results, *solve.pivots)))
    return {f"{program.name}_graph.txt": "\n".join(lines) + "\n"}


def read_graph(text: str) -> tuple[Graph, dict[str, Kernel], dict[str, Kernel]]:
    """The graph, the kernels, and those before the search for fewer operations, from the text of `graph_files`."""
    g, nodes = Graph(), list[Node]()
    lines = iter([line.split() for line in text.splitlines() if not line.startswith("#")])
    for word, *rest in lines:
        if word in _SETS:
            found = _read_kernels(nodes, [[word, *rest], *lines])
            return g, found["kernel"], found["unarranged"]
        if word in LEAVES:
            nodes.append(_leaf(g, word, *rest))
        else:
            nodes.append(g.same(word, tuple(nodes[int(a)] for a in rest)))
    return g, {}, {}


def _leaf(g: Graph, op: str, value: str) -> Node:
    if op == "const":
        return g.const(Fraction(value))
    if op == "bool":
        return g.boolean(value == "true")
    return g.named(value) if op == "named" else g.symbol(value)


def _read_kernels(nodes: list[Node], lines: list[list[str]]) -> dict[str, dict[str, Kernel]]:
    found: dict[str, dict[str, Kernel]] = {word: {} for word in _SETS}
    starts = [i for i, line in enumerate(lines) if line[0] in _SETS]
    for first, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        word, name, takes = lines[first]
        found[word][name] = _read_kernel(name, takes, nodes, iter(lines[first + 1 : end]))
    return found


def _read_kernel(name: str, takes: str, nodes: list[Node], lines: Iterator[list[str]]) -> Kernel:
    def row() -> tuple[Node, ...]:
        return tuple(nodes[int(i)] for i in next(lines)[1:])

    outputs, pivots = row(), row()
    solves = []
    for _, factors in lines:
        matrix, right, results = row(), row(), row()
        n = len(right)
        solves.append(Solve(matrix, right, results[:n], factors, results[n:]))
    comments = ("",) * len(outputs)
    pairs = tuple(zip(pivots[::2], pivots[1::2]))
    return Kernel(name, outputs, comments, pairs, tuple(solves), takes=takes)

"""The graph of a model's kernels as a text, `<name>_graph.txt`, from which further kernels are made without deriving.

First come the tables and the nodes, a line each: an operation and the numbers of its arguments, or a leaf and its
value. Then the kernels: `kernel` or `unarranged` with a name and what the kernel takes, and lines with the numbers of
their nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..graph.graph import LEAVES, Graph, Node
from ..graph.tables import read_table
from .lowered import Kernel, Solve
from .lowered_text import read_node

QUANTITIES = ("rhs", "outputs", "invariants", "guards", "contacts")
"""The kernels of what a model computes along a run, which have derivatives in its FMU too."""
_MAPS = ("project", "correction", "initial", "closure")
"""The kernels that give states, or say which are permitted; those of resets come with them."""
_SETS = ("kernel", "unarranged")


def read_graph(text: str) -> tuple[Graph, dict[str, Kernel], dict[str, Kernel]]:
    """The graph, the kernels, and those before the search for fewer operations, from the text of `graph_files`."""
    g, nodes = Graph(), list[Node]()
    lines = iter([line.split() for line in text.splitlines() if not line.startswith("#")])
    for word, *rest in lines:
        if word == "table":
            read_table(*rest)
            continue
        if word in _SETS:
            found = _read_kernels(nodes, [[word, *rest], *lines])
            return g, found["kernel"], found["unarranged"]
        nodes.append(read_node(g, word, rest if word in LEAVES else [nodes[int(a)] for a in rest]))
    return g, {}, {}


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

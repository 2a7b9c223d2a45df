"""A `Lowered` as a text, `<name>_lowered.txt`, from which kernels are planned when they are first used.

The first line has the nodes of the graph, all of them, so that they keep their numbers; the second what is said of the
model and of its kernels. Both are JSON.

`<name>_graph.txt`, from which further kernels are made without deriving, has the tables and the nodes first, a line
each: an operation and the numbers of its arguments, or a leaf and its value. Then the kernels: `kernel` or `unarranged`
with a name and what the kernel takes, and lines with the numbers of their nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from chaplygin.runtime.interface.description import Variable

from ..graph.graph import LEAVES, Graph, Node
from ..graph.tables import read_table, tables_in
from .lowered import ContactEntry, EventEntry, Kernel, KernelRow, Lowered, Solve

_VARIABLES = ("states", "parameters", "inputs", "outputs", "invariants", "declared", "guards", "modes")
_PLAIN = ("name", "form", "digest", "n_coordinates", "independent")
QUANTITIES = ("rhs", "outputs", "invariants", "guards", "contacts")
"""The kernels of what a model computes along a run, which have derivatives in its FMU too."""
_MAPS = ("project", "correction", "initial", "closure")
"""The kernels that give states, or say which are permitted; those of resets come with them."""
_SETS = ("kernel", "unarranged")


def lowered_text(program: Lowered) -> str:
    """The text of a program that brings no methods, before its passes."""
    g = program.graph
    nodes = [[op, str(g.value[Node(n)])] if op in LEAVES else [op, *g.args[n]] for n, op in enumerate(g.op)]
    facts: dict[str, Any] = {name: getattr(program, name) for name in (*_PLAIN, *_VARIABLES)}
    facts |= {name: getattr(program, name) for name in ("table", "events", "contacts")}
    facts["kernels"] = [*program.kernels.values()]
    tables = [table.text for table in tables_in(g, map(Node, range(len(g.op))))]
    facts |= {"tables": tables} if tables else {}
    return "\n".join(json.dumps(part, separators=(",", ":"), default=vars) for part in (nodes, facts)) + "\n"


def read_lowered(text: str) -> Lowered:
    """The program of `lowered_text`: its nodes have the numbers that they had."""
    nodes, facts = map(json.loads, text.splitlines())
    for table in facts.pop("tables", ()):
        read_table(table)
    g = Graph()
    for op, *rest in nodes:
        read_node(g, op, rest)
    for name in _VARIABLES:
        facts[name] = tuple(Variable(*row) for row in facts[name])
    for name, kind in (("table", KernelRow), ("events", EventEntry), ("contacts", ContactEntry)):
        facts[name] = tuple(kind(**entry) for entry in facts[name])
    kernels = map(_kernel, facts.pop("kernels"))
    return Lowered(graph=g, kernels={kernel.name: kernel for kernel in kernels}, **facts)


def read_node(g: Graph, op: str, rest: list[Any]) -> Node:
    """The node of an operation and its arguments, or of a leaf and the text of its value."""
    if op not in LEAVES:
        return g.same(op, tuple(rest))
    (value,) = rest
    if op == "const":
        return g.const(Fraction(value))
    if op == "bool":
        return g.boolean(value == "true")
    return g.named(value) if op == "named" else g.symbol(value)


def _kernel(entry: dict[str, Any]) -> Kernel:
    found = {name: _tuples(value) for name, value in entry.items()}
    found["labels"] = {Node(int(node)): label for node, label in entry["labels"].items()}
    found["solves"] = tuple(Solve(**{k: _tuples(v) for k, v in solve.items()}) for solve in entry["solves"])
    return Kernel(**found)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


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

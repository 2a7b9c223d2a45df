"""A `Lowered` as a text, `<name>_lowered.txt`, from which kernels are planned when they are first used.

The first line has the nodes of the graph, all of them, so that they keep their numbers; the second what is said of the
model and of its kernels. Both are JSON.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from chaplygin.runtime.interface.description import Variable

from ..graph.graph import LEAVES, Graph, Node
from ..graph.tables import read_table, tables_in
from .lowered import ContactEntry, EventEntry, Kernel, KernelRow, Lowered, Solve

_VARIABLES = ("states", "parameters", "inputs", "outputs", "invariants", "declared", "guards", "modes")
_PLAIN = ("name", "form", "digest", "n_coordinates", "independent")


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

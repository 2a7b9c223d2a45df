"""Structure functions of a system: as graph nodes for the forms, as SymPy expressions for the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from ..declare.fields import recognised, structure
from ..declare.points import good_points
from ..declare.system import System
from ..graph.graph import Graph, Node
from ..graph.rational import shortened
from ..graph.to_sympy import shown
from ..graph.zero import is_zero


def _points(system: System) -> list[dict[str, float]]:
    return good_points(system, system.nodes.fields.components, 3)


def recognise(g: Graph, system: System, nodes: list[Node]) -> list[Node]:
    """Nodes with hidden constants replaced by their values and the others simplified where that is quick."""
    return recognised(g, nodes, _points(system), _prover(system), shortened)


def structure_functions(g: Graph, system: System) -> dict[tuple[int, int], list[tuple[int, Node]]]:
    """c_ab^i for a < b (a = -1: X_0) as {(a, b): [(i, node), ...]} in the given copy of the system's graph."""
    return structure(g, system.nodes.fields, _points(system), _prover(system), shortened)


def _prover(system: System) -> Callable[[Graph, Node], bool]:
    symbols = system.symbols
    return lambda graph, node: is_zero(graph, node, symbols)


def structure_constants(system: System, with_time: bool = False) -> list[list[list[Any]]]:
    """See `System.structure_constants`."""
    g = system.nodes.graph.copy()
    found = structure_functions(g, system)
    k = len(system.velocities)
    offset = 1 if with_time else 0
    table = [[[sp.Integer(0)] * k for _ in range(k + offset)] for _ in range(k + offset)]
    symbols = system.symbols
    for (a, b), entries in found.items():
        if a < 0 and not with_time:
            continue
        for i, node in entries:
            (value,) = shown(g, [node], symbols)
            table[a + offset][b + offset][i] = value
            table[b + offset][a + offset][i] = -value
    return table

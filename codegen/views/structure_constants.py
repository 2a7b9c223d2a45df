"""The structure functions of a system as SymPy expressions."""

from __future__ import annotations

from typing import Any

import sympy as sp

from chaplygin.runtime.interface.arguments import boolean

from ..derive.structure import structure_functions
from ..graph.to_sympy import shown
from ..system.checked_system import CheckedSystem


def structure_expressions(system: CheckedSystem, with_time: bool = False) -> list[list[list[Any]]]:
    """See `System.structure_constants`."""
    g = system.nodes.graph.copy()
    k, offset = len(system.velocities), int(boolean("with_time", with_time))
    table = [[[sp.Integer(0)] * k for _ in range(k + offset)] for _ in range(k + offset)]
    for (a, b), entries in structure_functions(g, system).items():
        if a < 0 and not with_time:
            continue
        for i, node in entries:
            (value,) = shown(g, [node], system.symbols)
            table[a + offset][b + offset][i] = value
            table[b + offset][a + offset][i] = -value
    return table

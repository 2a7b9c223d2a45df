"""The kernel from which a start is made consistent: the constraints, their slopes, and the mass matrix."""

from __future__ import annotations

from collections.abc import Iterator

from ..declare.inertia import inertia
from ..graph.differentiate import gradient
from ..graph.linear import upper
from .dynamics import Dynamics
from .program import Kernel


def closure(d: Dynamics) -> Iterator[Kernel]:
    """f_s, df_s/dx; A_sa, A_s0 of every constraint; M by its upper triangle: functions of the declared variables."""
    g, system = d.graph, d.eqs.system
    if not system.constraints:
        return
    nodes = system.nodes
    x, f = nodes.fields.coordinates, nodes.holonomic
    outputs = [*f, *(n for e in f for n in gradient(g, e, x))]
    outputs += [n for row in nodes.constraint_rows for n in row] + list(nodes.constraint_offsets)
    names = [v.name for v in system.velocities]
    comments = [f"f_{s + 1}" for s in range(len(f))]
    comments += [f"d f_{s + 1} / d {q.name}" for s in range(len(f)) for q in system.coordinates]
    comments += [f"A of constraint {s + 1}, {v}" for s in range(len(system.constraints)) for v in names]
    comments += [f"A_0 of constraint {s + 1}" for s in range(len(system.constraints))]
    comments += [f"M of {v}, {w}" for i, v in enumerate(names) for w in names[i:]]
    yield Kernel("closure", (*outputs, *upper(inertia(g, system))), tuple(comments))

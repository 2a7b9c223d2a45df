"""The kernel from which a start is made consistent: the constraints, their slopes, the mass matrix and the fields."""

from __future__ import annotations

from collections.abc import Iterator

from ..graph.differentiate import gradient
from ..graph.graph import Node
from ..graph.linear import upper
from ..identities.identities import vanish_everywhere
from .dynamics import Dynamics
from .lowered import Kernel


def closure(d: Dynamics) -> Iterator[Kernel]:
    """f_s, df_s/dx; A_sa, A_s0 of every constraint; M by its upper triangle: functions of the declared variables.

    With holonomic equations in coordinates whose rates are not the velocities, also the fields xi_a^i, and the
    invariants of the kinematics, as |q|^2, with their gradients.
    """
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
    outputs += upper(nodes.mass(g))
    comments += [f"M of {v}, {w}" for i, v in enumerate(names) for w in names[i:]]
    if f and not nodes.fields.are_rates():
        levels = _levels(d)
        outputs += [n for field in nodes.fields.along for n in field]
        comments += [f"d {q.name} / dt by {v}" for v in names for q in system.coordinates]
        outputs += [*levels, *(n for e in levels for n in gradient(g, e, x))]
        comments += [f"invariant {i + 1} of the coordinates" for i in range(len(levels))]
        comments += [f"its slope along {q.name}" for _ in levels for q in system.coordinates]
    yield Kernel("closure", tuple(outputs), tuple(comments))


def _levels(d: Dynamics) -> list[Node]:
    """The invariants of the coordinates that every velocity keeps."""
    g, eqs = d.graph, d.eqs
    fields = eqs.system.nodes.fields
    found = []
    for level in d.levels:
        slopes = [g.dot(gradient(g, level, fields.coordinates), field) for field in fields.along]
        if vanish_everywhere(g, slopes, eqs.points(slopes, 3)):
            found.append(level)
    return found

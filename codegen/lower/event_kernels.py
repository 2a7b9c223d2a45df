"""Kernels of a hybrid system: guards, resets, contacts, projection."""

from __future__ import annotations

from collections.abc import Iterator

from ..derive.friction import FrictionRows, slip_accelerations
from ..derive.resets import resets as states_after
from ..graph.linear import eliminate
from .dynamics import Dynamics
from .lowered import Kernel, Solve
from .solver import Coupling


def guards(d: Dynamics) -> Iterator[Kernel]:
    """The functions whose zeros are events, then those whose zeros are kinks of the right-hand side."""
    if d.guards:
        yield d.kernel("guards", [node for _, node in d.guards], [v.name for v, _ in d.guards])


def conditions(d: Dynamics) -> Iterator[Kernel]:
    """Which events may occur, by their conditions."""
    g, events = d.graph, d.eqs.system.nodes.events
    if any(e.when is not None for e in events):
        nodes = g.substitute([g.one if e.when is None else e.when for e in events], d.eqs.permitted)
        yield d.kernel("when", nodes, [f"whether {e.name} may occur" for e in events])


def resets(d: Dynamics) -> Iterator[Kernel]:
    """The state after each event that has a reset: `reset_<i>` for event i."""
    for i, after in enumerate(states_after(d.eqs)):
        if after is not None:
            yield d.kernel(f"reset_{i}", after, [f"{s} after" for s in d.eqs.states])


def contacts(d: Dynamics) -> Iterator[Kernel]:
    """v, T from the middle of its bounds, mu |N| and what jumps with it, dv/dt, N of every contact."""
    g, friction = d.graph, d.eqs.friction
    if friction is None or not friction.contacts:
        return
    slopes = slip_accelerations(g, friction, d.accelerations)
    what = ("slip velocity", "friction", "limit", "slip acceleration", "normal force")
    nodes, comments = [], []
    for c, slope in zip(friction.contacts, slopes, strict=True):
        nodes += [c.slip, g.add(c.force, c.middle), g.add(c.limit, c.jump), slope, c.normal]
        comments += [f"{quantity} of {c.name}" for quantity in what]
    yield d.kernel("contacts", nodes, comments)


def project(d: Dynamics) -> Iterator[Kernel]:
    """The velocities shifted by M^-1 W^T r so that v = 0 in the sticking contacts.

    Constraint residuals keep their values. Redundant sticking contacts are left out. If the slip of a contact is a
    single velocity relative to a support, it is set exactly.
    """
    g, eqs, friction = d.graph, d.eqs, d.eqs.friction
    if friction is None or not friction.contacts:
        return
    solves = list[Solve]()
    across = d.across(friction, solves)
    m, count = len(friction.rows), len(across)
    sticking = [g.sub(g.one, g.mul(c.mode, c.mode)) for c in friction.contacts]
    left = [
        *map(list, friction.rows),
        *([g.mul(s, w) for w in c.row] for s, c in zip(sticking, friction.contacts, strict=True)),
    ]
    own = [[g.zero] * count for _ in range(count)]
    for i, c in enumerate(friction.contacts):
        own[m + i][m + i] = g.mul(c.mode, c.mode)
    right = [g.zero] * m
    right += [g.neg(g.mul(s, c.slip)) for s, c in zip(sticking, friction.contacts, strict=True)]
    coupling = Coupling.of(g, friction, FrictionRows(left, own, right, m), across)
    unknown, _ = eliminate(g, coupling.matrix, right, coupling.scales, count, guarded=True)
    moved = coupling.add(g, eqs.velocity_nodes, unknown)
    for c in friction.contacts:
        alone = [j for j, w in enumerate(c.row) if w != g.zero]
        (j,) = alone if len(alone) == 1 else (-1,)
        if j >= 0 and c.row[j] in (g.one, g.minus_one):
            (rest,) = g.substitute([c.slip], {eqs.velocity_nodes[j]: g.zero})
            held = g.neg(rest) if c.row[j] == g.one else rest
            moved[j] = g.select(g.relation("eq", c.mode, g.zero), held, moved[j])
    nodes = (*eqs.coordinate_nodes, *moved)
    yield Kernel("project", nodes, eqs.states, tuple(d.mass.checks()), tuple(solves))

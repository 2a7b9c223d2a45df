"""The table of kernels, one row for each kernel that a model can have, and the makers of those that every model has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from ..graph.differentiate import forward
from ..graph.graph import Graph, Node
from ..graph.linear import CONSTRAINT_THRESHOLD
from . import event_kernels
from .correction import closure, consistency, correction, correction_all, rank, unmet
from .dynamics import Dynamics
from .lowered import Kernel, KernelRow

Cells = tuple[tuple[Node, ...], ...]
Maker = Callable[[Dynamics], Iterable[Kernel]]
"""Gives a kernel, several for some of the events, or none for a model without it."""


def rhs(d: Dynamics) -> Iterator[Kernel]:
    """dx/dt and theta'."""
    eqs = d.eqs
    parameters = (*eqs.system.parameters, *eqs.parameters)
    yield Kernel(
        "rhs",
        (*eqs.rates, *d.accelerations),
        tuple(f"d({n})/dt" for n in eqs.states),
        d.pivots,
        d.solves,
        d.labels,
        beforehand=tuple(d.graph.symbol(p.name) for p in parameters),
        cells=eqs.cells,
    )


def jvp(d: Dynamics) -> Iterator[Kernel]:
    """The derivative of `rhs` along v: the symbols `cg_v_<i>`."""
    solves = list(d.solves)
    direction = {s: d.graph.symbol(f"cg_v_{i}") for i, s in enumerate(d.eqs.state_nodes)}
    nodes = tuple(d.variation(direction, solves))
    comments = tuple(f"direction of d({s})/dt" for s in d.eqs.states)
    cells = moved_cells(d.graph, d.eqs.cells, direction)
    yield Kernel("jvp", nodes, comments, d.pivots, tuple(solves), d.labels, cells=cells)


def moved_cells(g: Graph, cells: Cells, direction: Mapping[Node, Node]) -> Cells:
    """The cells, then their derivatives along a direction."""
    moved = iter(forward(g, [n for cell in cells for n in cell], direction))
    return (*cells, *(tuple(islice(moved, len(cell))) for cell in cells))


def jacobian(d: Dynamics) -> Iterator[Kernel]:
    """The derivatives of `rhs`, if they are short enough to be written out."""
    g, names, states = d.graph, d.eqs.states, d.eqs.state_nodes
    longest = d.options.unrolled_jacobian
    if d.solves or len(states) ** 2 > longest:
        return
    columns: list[list[Node]] = []
    for s in states:
        columns.append(d.variation({s: g.one}, []))
        if g.count_operations(node for column in columns for node in column) > longest:
            return
    entries = tuple(columns[j][i] for i in range(len(states)) for j in range(len(states)))
    comments = tuple(f"d(d({a})/dt)/d({b})" for a in names for b in names)
    yield Kernel("jacobian", entries, comments, d.pivots, (), d.labels)


def outputs(d: Dynamics) -> Iterator[Kernel]:
    """What follows from the states: dependent velocities, reactions, friction, the user's outputs, the balance."""
    if d.outputs:
        yield d.kernel("outputs", [node for _, node in d.outputs], [v.name for v, _ in d.outputs])


def invariants(d: Dynamics) -> Iterator[Kernel]:
    """The first integrals and residuals. They need no accelerations, but maybe velocities that follow from momenta."""
    if d.conserved:
        variables, nodes = zip(*d.conserved, strict=True)
        comments, solves = tuple(v.name for v in variables), tuple(d.momentum_solves())
        yield Kernel("invariants", nodes, comments, d.eqs.pivots, solves, cells=d.eqs.cells)


def pivot(d: Dynamics) -> Iterator[Kernel]:
    """How well the velocities kept as states determine the others, where that depends on the state.

    The determinant of the dependent velocities' coefficients, with rows of length 1.
    """
    if d.eqs.resolved:
        g = d.graph
        size = g.one
        for value, least in d.eqs.resolved:
            size = g.mul(size, g.div(g.mul(g.const(CONSTRAINT_THRESHOLD), value), least))
        kept = ", ".join(v.name for v in d.eqs.velocities)
        yield Kernel("pivot", (size,), (f"pivots of {kept}",))


def initial(d: Dynamics) -> Iterator[Kernel]:
    """The states and parameters of a form whose states are not declared variables, such as momenta."""
    eqs = d.eqs
    if eqs.initial_nodes is not None:
        names = [*eqs.states, *(p.name for p in (*eqs.system.parameters, *eqs.parameters))]
        yield Kernel("initial", eqs.initial_nodes, tuple(names))


KERNELS: dict[KernelRow, Maker] = {
    KernelRow("rhs", "dx/dt", slot="rhs", effort=1.0): rhs,
    KernelRow("jvp", "the derivative of rhs along v", "direction", "jvp", 1 / 8, late=True): jvp,
    KernelRow("jacobian", "d(dx_i/dt)/dx_j, row by row", slot="jacobian", effort=1 / 8,
              late=True): jacobian,
    KernelRow("outputs", "the outputs", slot="outputs_fn", effort=1 / 8, late=True): outputs,
    KernelRow("invariants", "the invariants, then the residuals", slot="invariants_fn", effort=1 / 8,
              late=True): invariants,
    KernelRow("guards", "the guards of the events, then the kinks of rhs", slot="guards_fn"): event_kernels.guards,
    KernelRow("when", "1 for each event whose condition holds, 0 for the others"): event_kernels.conditions,
    KernelRow("reset", "the state after an event", "event", "reset"): event_kernels.resets,
    KernelRow("contacts", "v, T, mu |N|, dv/dt and N of each contact", slot="contacts_fn"): event_kernels.contacts,
    KernelRow("project", "the state with no slip in the contacts that stick", slot="project"): event_kernels.project,
    KernelRow("correction", "what brings the state back onto the constraints, one step of Newton's method"): correction,
    KernelRow("correction_all", "the same, and the invariants of the coordinates back to those of the state v",
              "direction"): correction_all,
    KernelRow("unmet", "how far the states are from redundant constraints"): unmet,
    KernelRow("rank", "the smallest pivot of the constraints' matrix as a fraction of the largest"): rank,
    KernelRow("pivot", "how well the velocities kept as states determine the others"): pivot,
    KernelRow("initial", "the states and parameters for the declared variables x", "declared", "initial"): initial,
    KernelRow("closure", "the constraints with their slopes, M and the fields, for the declared variables x",
              "declared"): closure,
    KernelRow("consistency", "r, its terms and its slopes, for each r that is zero at the start",
              slot="consistency"): consistency,
}  # fmt: skip
"""The kernels in the order in which they are made and listed; a model leaves out those that it does not need.

To add one, write its maker, a function of `Dynamics`, and a row here with the maker as its value. It is then emitted,
listed by `model.kernels` and `cg_kernel(model, name)`, and called by `model.call(name, ...)`.
"""

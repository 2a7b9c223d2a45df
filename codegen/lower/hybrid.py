"""Kernels of a hybrid system: guards, resets, contacts, projection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..derive.friction import friction_rows, slip_accelerations
from ..graph.functions import FUNCTIONS
from ..graph.graph import RELATIONS, Graph, Node
from .dynamics import Accelerations, project_slips
from .program import ContactEntry, EventEntry, Kernel, Variable

if TYPE_CHECKING:
    from ..derive.equation_nodes import EquationNodes


def _changing(g: Graph, node: Node) -> tuple[Node, str] | None:
    """The function whose sign decides on the value of a node, and its description."""
    op, args = g.op[node], g.args[node]
    if op in RELATIONS:
        return g.sub(*args), "difference of the sides of a condition"
    function = FUNCTIONS.get(op)
    if function is None or function.switch is None:
        return None
    name = function.symbolic.__name__
    if function.switch.compares:
        return g.sub(*args), f"difference of the arguments of {name}"
    return args[0], f"argument of {name}"


def kinks(eqs: EquationNodes) -> list[tuple[Node, str]]:
    """The functions that change sign where the right-hand side has a kink or jump, in evaluation order.

    These are the arguments of Abs and sign and the differences of the arguments of Min, Max and relations, provided
    that they can change during a run; each is listed once.
    """
    g = eqs.graph
    roots = [*eqs.rates, *eqs.force, *(n for row in eqs.mass for n in row)]
    if eqs.friction is not None:
        rows = friction_rows(g, eqs.friction)
        roots += [*rows.right, *(n for row in (*rows.left, *rows.own) for n in row)]
    if eqs.implicit is not None:
        roots += [*eqs.implicit.right, *(n for row in eqs.implicit.mass for n in row)]
    inputs = [g.symbol(u.name) for u in eqs.system.inputs]
    moving = [*eqs.coordinate_nodes, *eqs.velocity_nodes, eqs.independent_node, *inputs]
    moving += () if eqs.implicit is None else eqs.implicit.unknown
    found: dict[Node, str] = {}
    for node in g.reachable(roots):
        changing = _changing(g, node)
        if changing is not None:
            guard, description = changing
            if guard not in found and g.neg(guard) not in found and g.depends_on([guard], moving):
                found[guard] = description
    return list(found.items())


Maker = Callable[[str, Sequence[Node], Sequence[str]], Kernel]


def hybrid_kernels(
    eqs: EquationNodes, found: Accelerations, make: Maker
) -> tuple[dict[str, Kernel], tuple[Variable, ...]]:
    """The kernels by name, and the variables of the guards; `make` adds the solves and checks that a kernel needs."""
    g, system = eqs.graph, eqs.system
    kernels: dict[str, Kernel] = {}
    events = g.substitute([e.guard for e in system.nodes.events], eqs.permitted)
    nodes = [
        (node, e.name, "guard of the event") for node, e in zip(events, system.nodes.events, strict=True)
    ]
    nodes += [(node, f"kink_{i + 1}", text) for i, (node, text) in enumerate(kinks(eqs))]
    guards = tuple(Variable(name, "guard", "", text) for _, name, text in nodes)
    if guards:
        kernels["guards"] = make("guards", [n for n, _, _ in nodes], [v.name for v in guards])
    comments = [f"{s} after" for s in eqs.states]
    for i, after in enumerate(eqs.resets):
        if after is not None:
            kernels[f"reset_{i}"] = make(f"reset_{i}", after, comments)
    if eqs.friction is not None and eqs.friction.contacts:
        kernels["contacts"] = _contacts(eqs, found, make)
        moved, solves, pivots = project_slips(eqs, found)
        nodes_after = (*eqs.coordinate_nodes, *moved)
        kernels["project"] = Kernel("project", nodes_after, tuple(eqs.states), tuple(pivots), solves)
    return kernels, guards


def _contacts(eqs: EquationNodes, found: Accelerations, make: Maker) -> Kernel:
    """v, T, mu |N|, dv/dt, N of every contact."""
    g: Graph = eqs.graph
    assert eqs.friction is not None
    slopes = slip_accelerations(g, eqs.friction, found.nodes)
    nodes, comments = [], []
    for c, slope in zip(eqs.friction.contacts, slopes, strict=True):
        nodes += [c.slip, c.force, g.mul(c.mu, c.size), slope, c.normal]
        comments += [
            f"{what} of {c.name}" for what in ("slip velocity", "friction", "limit", "slip acceleration")
        ]
        comments.append(f"normal force of {c.name}")
    return make("contacts", nodes, comments)


def modes(eqs: EquationNodes) -> tuple[Variable, ...]:
    """The modes of the contacts, then the assumed signs of normal forces that contain multipliers."""
    contacts = eqs.system.nodes.contacts
    slip = [Variable(c.name, "mode", "", f"slip of {c.name}: -1, 1, or 0 where it sticks") for c in contacts]
    signs = [
        Variable(f"{c.name}_sign", "mode", "", f"assumed sign of the normal force of {c.name}")
        for c in contacts
        if c.implicit
    ]
    return (*slip, *signs)


def event_entries(eqs: EquationNodes) -> tuple[EventEntry, ...]:
    return tuple(EventEntry(e.name, e.direction, e.terminal, bool(e.reset)) for e in eqs.system.nodes.events)


def contact_entries(eqs: EquationNodes) -> tuple[ContactEntry, ...]:
    found: list[ContactEntry] = []
    signs = 0
    for c in eqs.system.nodes.contacts:
        found.append(ContactEntry(c.name, signs if c.implicit else -1))
        signs += c.implicit
    return tuple(found)

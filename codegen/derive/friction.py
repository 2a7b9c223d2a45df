"""Coulomb friction in the equations of motion: forces along the slip, and the rows that determine them.

M theta' = f + T_i W_i (+ A_s lambda_s),  W_i = dv_i/d theta;  with sigma_i the mode of contact i and s = sigma_i^2
    s T_i + sigma_i mu_i |N_i| + (1 - s) (W_i theta' + b_i) = 0,
where b_i is the derivative of v_i along the flow at fixed theta. The same row serves all modes: while the contact slips
it gives T_i = -sigma_i mu_i |N_i|, while it sticks dv_i/dt = 0. If a normal force contains multipliers,
N_i = n_i0 + n_is lambda_s, then |N_i| is written as tau_i N_i with an assumed sign tau_i = +-1; the constraints add
rows A_s theta' + b_s = 0.

Where f jumps with the sign of a slip, f = f_i + K_i sgn v_i with K_i = -c_i W_i, friction and jump are one: sgn v_i is
the mode sigma_i too, and the contact sticks while |T_i| <= mu_i |N_i| + c_i, where T_i then is the sum of both
(Filippov's convex set at v_i = 0). Where mu_i |N_i| itself jumps there, it is its mean L_i and half of its jump m_i:
the contact sticks while |T_i + m_i| <= L_i + c_i.

Source: P. Painlevé, Leçons sur le frottement (1895), for normal forces that depend on friction; A. A. Zobova's paper on
the Painlevé-Klein example for the modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ..declare.contacts import ContactNodes
from ..graph.differentiate import forward, partials
from ..graph.functions import FUNCTIONS
from ..graph.graph import Graph, Node
from ..graph.sides import by_side, on_side
from ..identities.identities import vanish_everywhere
from ..symbols.symbols import DeclarationError
from ..system.checked_system import CheckedSystem
from .equation_nodes import Contact, EquationNodes, Friction, friction_symbols, multiplier_symbols


def together(
    g: Graph, system: CheckedSystem, biases: Sequence[Node], across: Sequence[Sequence[Node]] = ()
) -> Friction:
    """The multipliers of a system without contacts as unknowns, which are computed with the accelerations."""
    rank = len(system.independent_constraints) if system.redundancy else 0
    rows = system.nodes.constraint_rows
    return Friction(
        (), tuple(multiplier_symbols(g, system)), rows, tuple(biases), rank, tuple(map(tuple, across))
    )


def add_friction(eqs: EquationNodes) -> EquationNodes:
    """Add friction to the equations that a form derived without contacts: f then contains the symbols of T_i."""
    g, system, flow = eqs.graph, eqs.system, eqs.flow
    force, contacts = list(eqs.force), list[Contact]()
    for declared in system.nodes.contacts:
        contact = _contact(eqs, flow, declared)
        force, jump = _joined(eqs, force, contact)
        contacts.append(replace(contact, jump=jump))
    contacts = [_limited(eqs, contact, contacts) for contact in contacts]
    friction = Friction(tuple(contacts))
    if eqs.multiplier_nodes:
        biases = forward(g, system.nodes.affine_constraints(g), flow)
        friction = Friction(
            tuple(contacts), eqs.multiplier_nodes, system.nodes.constraint_rows, tuple(biases)
        )
    for j, f in enumerate(force):
        force[j] = g.add(f, g.sum(g.mul(c.force, c.row[j]) for c in contacts))
    return replace(eqs, force=tuple(force), friction=friction)


def _joined(eqs: EquationNodes, force: list[Node], c: Contact) -> tuple[list[Node], Node]:
    """f with the mode of a contact for the sign of its slip, and c in K = -c W at rest.

    A jump that is not along W does not belong to K; in stick f then takes its mean, because the sign of a slip that is
    zero to rounding means nothing.
    """
    g = eqs.graph
    moved, jumps = _by_mode(eqs, force, c)
    k = _first(g, c)
    across = [g.sub(g.mul(a, c.row[k]), g.mul(jumps[k], w)) for a, w in zip(jumps, c.row, strict=True)]
    if jumps[k] == g.zero or not _vanish(eqs, across):
        return moved, g.zero
    return moved, g.neg(g.div(jumps[k], c.row[k]))


def _limited(eqs: EquationNodes, contact: Contact, contacts: list[Contact]) -> Contact:
    """A contact whose mu |N| may jump with slips: by their modes, and with its own slip about a middle.

    mu |N| = L + sigma m gives T = -sigma L - m while it slips, so what holds it is T + m, up to L.
    """
    g = eqs.graph
    found, middle = [contact.limit, contact.normal], g.zero
    for c in contacts:
        found, (jump, _) = _by_mode(eqs, found, c)
        if jump == g.zero:
            continue
        if contact.sign is not None:
            raise DeclarationError(
                f"Coulomb {contact.name!r}: mu |N| jumps with the sign of the slip of {c.name}, which is not possible "
                "where N contains multipliers; take the jump out of mu and N, or give an N without multipliers"
            )
        middle = jump if c is contact else middle
    limit, normal = found
    return replace(contact, limit=limit, normal=normal, middle=middle)


def by_modes(eqs: EquationNodes, nodes: Sequence[Node]) -> list[Node]:
    """Nodes with the mode of each contact for the sign of its slip, as in f, if they jump with it."""
    found = list(nodes)
    for c in () if eqs.friction is None else eqs.friction.contacts:
        found, _ = _by_mode(eqs, found, c)
    return found


def _by_mode(eqs: EquationNodes, nodes: Sequence[Node], c: Contact) -> tuple[list[Node], list[Node]]:
    """Nodes with the mode of a contact for the sign of its slip, and half of the jump of each at rest.

    A node that does not jump there stays as it is. In stick a node that does is the mean of its two sides.
    """
    g, k = eqs.graph, _first(eqs.graph, c)
    (rest,) = g.substitute([c.slip], {eqs.velocity_nodes[k]: g.zero})
    at_rest = {eqs.velocity_nodes[k]: g.neg(g.div(rest, c.row[k]))}
    found, jumps = list(nodes), [g.zero] * len(nodes)
    for j, new in enumerate(by_side(g, nodes, c.slip, c.mode)):
        if new == nodes[j]:
            continue
        (up,), (down,) = (on_side(g, [nodes[j]], c.slip, side) for side in (1, -1))
        above, between, below = g.substitute([up, *by_side(g, [nodes[j]], c.slip, g.zero), down], at_rest)
        jump = _half(g, g.sub(above, below))
        if jump != g.zero:
            straight = _vanish(eqs, [g.sub(g.add(above, below), g.mul(g.two, between))])
            mean, change = _half(g, g.add(up, down)), _half(g, g.sub(up, down))
            found[j], jumps[j] = new if straight else g.add(mean, g.mul(c.mode, change)), jump
    return found, jumps


def _first(g: Graph, c: Contact) -> int:
    """The first velocity that the slip depends on."""
    return next(j for j, w in enumerate(c.row) if w != g.zero)


def _half(g: Graph, node: Node) -> Node:
    return g.mul(g.const(Fraction(1, 2)), node)


def _vanish(eqs: EquationNodes, nodes: list[Node]) -> bool:
    """Whether the nodes vanish, whatever modes and forces are: so they do at numbers in no special relation."""
    g = eqs.graph
    left = [n for n in nodes if n != g.zero]
    known = eqs.symbols.keys() - friction_symbols(eqs.system).keys()
    free = [n for n in g.reachable(left) if g.op[n] == "symbol" and g.value[n] not in known]
    numbers = {n: g.const(Fraction(1, 3 + 2 * i)) for i, n in enumerate(free)}
    left = [n for n in g.substitute(left, numbers) if n != g.zero]
    return vanish_everywhere(g, left, eqs.points(left, 3))


def _contact(eqs: EquationNodes, flow: dict[Node, Node], c: ContactNodes) -> Contact:
    g = eqs.graph
    slip, normal, mu = g.substitute([c.slip, c.normal, c.mu], eqs.permitted)
    row = tuple(column[0] for column in partials(g, [slip], eqs.velocity_nodes))
    (bias,) = forward(g, [slip], flow)
    limit, mode = g.mul(mu, _size(eqs, normal)), g.symbol(c.name)
    sign = g.symbol(f"{c.name}_sign") if c.implicit else None
    force = g.symbol(f"friction_{c.name}")
    return Contact(c.name, slip, row, bias, normal, mu, limit, mode, sign, force, g.zero, g.zero)


def _size(eqs: EquationNodes, node: Node) -> Node:
    """|node|: the node itself if its structure shows that it is not negative, so that it has no kink to locate.

    The declared sign of a parameter is not used, since a run can be given any value. Products are split,
    |a b| = |a| |b|, so that a constant factor causes no kink.
    """
    g = eqs.graph
    shown: dict[Node, bool] = {}
    for n in g.reachable([node]):
        args = [shown[a] for a in g.args[n]]
        op, value = g.op[n], g.constant_value(n)
        if value is not None:
            shown[n] = value >= 0
        elif op == "max":
            shown[n] = any(args)
        elif op == "mul" and g.args[n][0] == g.args[n][1]:
            shown[n] = True
        elif op in ("add", "mul", "div", "min"):
            shown[n] = all(args)
        elif op == "select":
            shown[n] = all(args[1:])
        elif op in FUNCTIONS:
            shown[n] = FUNCTIONS[op].sign in ("positive", "not negative")
        else:
            shown[n] = op == "named"

    def size(n: Node) -> Node:
        if shown[n]:
            return n
        if g.op[n] in ("mul", "div"):
            a, b = (size(arg) for arg in g.args[n])
            return g.mul(a, b) if g.op[n] == "mul" else g.div(a, b)
        return size(g.args[n][0]) if g.op[n] == "neg" else g.call("abs", n)

    return size(node)


@dataclass(frozen=True)
class FrictionRows:
    """The rows C theta' + D r = e for the unknowns r = (lambda, T); the first `first` rows are those of constraints."""

    left: list[list[Node]]
    own: list[list[Node]]
    right: list[Node]
    first: int

    def residuals(self, g: Graph, acceleration: Sequence[Node], unknown: Sequence[Node]) -> list[Node]:
        """C theta' + D r - e."""
        return [
            g.sub(g.add(g.dot(c, acceleration), g.dot(d, unknown)), e)
            for c, d, e in zip(self.left, self.own, self.right, strict=True)
        ]


def friction_rows(g: Graph, friction: Friction) -> FrictionRows:
    """The rows of the constraints, then those of the contacts; see the module docstring."""
    m, n = len(friction.rows), len(friction.contacts)
    own = [[g.zero] * (m + n) for _ in range(m + n)]
    left = [list(row) for row in friction.rows]
    right = [g.neg(b) for b in friction.biases]
    for i, c in enumerate(friction.contacts):
        slipping = g.mul(c.mode, c.mode)
        sticking = g.sub(g.one, slipping)
        limit, slopes = _limit(g, friction, c)
        for s, slope in enumerate(slopes):
            own[m + i][s] = g.mul(c.mode, slope)
        own[m + i][m + i] = slipping
        left.append([g.mul(sticking, w) for w in c.row])
        right.append(g.neg(g.add(g.mul(c.mode, limit), g.mul(sticking, c.bias))))
    return FrictionRows(left, own, right, m)


def _limit(g: Graph, friction: Friction, c: Contact) -> tuple[Node, list[Node]]:
    """mu |N| at lambda = 0 and its slopes along lambda_s."""
    if c.sign is None:
        return c.limit, []
    zeros = dict.fromkeys(friction.multipliers, g.zero)
    factor = g.mul(c.mu, c.sign)
    slopes = [forward(g, [c.normal], {s: g.one})[0] for s in friction.multipliers]
    base, *slopes = g.substitute([c.normal, *slopes], zeros)
    return g.mul(factor, base), [g.mul(factor, slope) for slope in slopes]


def slip_accelerations(g: Graph, friction: Friction, accelerations: Sequence[Node]) -> list[Node]:
    """dv_i/dt = W_i theta' + b_i."""
    return [g.add(g.dot(c.row, accelerations), c.bias) for c in friction.contacts]


def friction_power(eqs: EquationNodes) -> Node:
    """The power Q_a eta_a = T_i s_ia eta_a of the friction forces, as a function of the states and T."""
    g, friction = eqs.graph, eqs.friction
    if friction is None:
        return g.zero
    own = [g.dot(c.row, eqs.system.nodes.eta) for c in eqs.system.nodes.contacts]
    return g.dot([c.force for c in friction.contacts], g.substitute(own, eqs.permitted))


def friction_outputs(eqs: EquationNodes) -> list[tuple[str, str, Node]]:
    """(name, description, node) of v_i, T_i and N_i, and of the power of the friction forces T_i v_i."""
    g, friction = eqs.graph, eqs.friction
    if friction is None or not friction.contacts:
        return []
    found = []
    for c in friction.contacts:
        found += [
            (f"slip_{c.name}", f"slip velocity of the contact {c.name}", c.slip),
            (f"friction_{c.name}", f"friction force of the contact {c.name}, along its slip", c.force),
            (f"normal_{c.name}", f"normal force of the contact {c.name}", c.normal),
        ]
    lost = g.sum(g.mul(c.force, c.slip) for c in friction.contacts)
    found.append(("friction_power", "power of the friction forces on the slip, never positive", lost))
    return found

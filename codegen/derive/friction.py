"""Coulomb friction in the equations of motion: forces along the slip, and the rows that determine them.

M theta' = f + T_i W_i (+ A_s lambda_s),  W_i = dv_i/d theta;  with sigma_i the mode of contact i and s = sigma_i^2
    s T_i + sigma_i mu_i |N_i| + (1 - s) (W_i theta' + b_i) = 0,
where b_i is the derivative of v_i along the flow at fixed theta. The same row serves all modes: while the contact slips
it gives T_i = -sigma_i mu_i |N_i|, while it sticks dv_i/dt = 0. If a normal force contains multipliers,
N_i = n_i0 + n_is lambda_s, then |N_i| is written as tau_i N_i with an assumed sign tau_i = +-1; the constraints add
rows A_s theta' + b_s = 0.

Where f jumps with the sign of a slip, f = f_i + K_i sgn v_i with K_i = -c_i W_i, friction and jump are one: sgn v_i is
the mode sigma_i too, and the contact sticks while |T_i| <= mu_i |N_i| + c_i, where T_i then is the sum of both
(Filippov's convex set at v_i = 0).

Source: P. Painlevé, Leçons sur le frottement (1895), for normal forces that depend on friction; A. A. Zobova's paper on
the Painlevé-Klein example for the modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from ..graph.differentiate import forward, partials
from ..graph.functions import FUNCTIONS
from ..graph.graph import Graph, Node
from ..graph.sides import by_side
from ..identities.identities import vanish_everywhere
from .equation_nodes import Contact, Friction, multiplier_symbols

if TYPE_CHECKING:
    from ..declare.contacts import ContactNodes
    from ..system.checked_system import CheckedSystem
    from .equation_nodes import EquationNodes


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
        force, jump = _joined(eqs, force, contact, [c.mode for c in contacts])
        contacts.append(replace(contact, jump=jump))
    friction = Friction(tuple(contacts))
    if eqs.multiplier_nodes:
        biases = forward(g, system.nodes.affine_constraints(g), flow)
        friction = Friction(
            tuple(contacts), eqs.multiplier_nodes, system.nodes.constraint_rows, tuple(biases)
        )
    for j, f in enumerate(force):
        force[j] = g.add(f, g.sum(g.mul(c.force, c.row[j]) for c in contacts))
    return replace(eqs, force=tuple(force), friction=friction)


def _joined(eqs: EquationNodes, force: list[Node], c: Contact, modes: list[Node]) -> tuple[list[Node], Node]:
    """f with the mode of a contact for the sign of its slip, and c in K = -c W at rest.

    f itself if it does not jump there, or if f at rest is not the mean of its two sides. A jump that is not along W
    does not belong to K; in stick f then takes its mean, because the sign of a slip that is zero to rounding means
    nothing. `modes` are those of the contacts before.
    """
    g = eqs.graph
    moved = by_side(g, force, c.slip, c.mode)
    if moved == force:
        return force, g.zero
    k = next(j for j, w in enumerate(c.row) if w != g.zero)
    (rest,) = g.substitute([c.slip], {eqs.velocity_nodes[k]: g.zero})
    at_rest = {eqs.velocity_nodes[k]: g.neg(g.div(rest, c.row[k]))}
    above, amid, below = (
        g.substitute(g.substitute(moved, {c.mode: g.const(sign)}), at_rest) for sign in (1, 0, -1)
    )
    jumps = [g.mul(g.const(Fraction(1, 2)), g.sub(a, b)) for a, b in zip(above, below, strict=True)]
    bends = [g.sub(g.add(a, b), g.mul(g.const(2), m)) for a, m, b in zip(above, amid, below, strict=True)]
    if not any(n != g.zero for n in jumps) or not _vanish(eqs, bends, modes):
        return force, g.zero
    across = [g.sub(g.mul(a, c.row[k]), g.mul(jumps[k], w)) for a, w in zip(jumps, c.row, strict=True)]
    if jumps[k] == g.zero or not _vanish(eqs, across, modes):
        return moved, g.zero
    return moved, g.neg(g.div(jumps[k], c.row[k]))


def _vanish(eqs: EquationNodes, nodes: list[Node], modes: list[Node]) -> bool:
    """Whether the nodes vanish, whatever the modes are: so they do at numbers in no special relation."""
    g = eqs.graph
    numbers = {mode: g.const(Fraction(1, 3 + 2 * i)) for i, mode in enumerate(modes)}
    left = [n for n in g.substitute(nodes, numbers) if n != g.zero]
    return vanish_everywhere(g, left, eqs.points(left, 3))


def _contact(eqs: EquationNodes, flow: dict[Node, Node], c: ContactNodes) -> Contact:
    g = eqs.graph
    slip, normal, mu = g.substitute([c.slip, c.normal, c.mu], eqs.permitted)
    row = tuple(column[0] for column in partials(g, [slip], eqs.velocity_nodes))
    (bias,) = forward(g, [slip], flow)
    size, mode = _size(eqs, normal), g.symbol(c.name)
    sign = g.symbol(f"{c.name}_sign") if c.implicit else None
    force = g.symbol(f"friction_{c.name}")
    return Contact(c.name, slip, row, bias, normal, size, mu, mode, sign, force, g.zero)


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
class Rows:
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


def friction_rows(g: Graph, friction: Friction) -> Rows:
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
    return Rows(left, own, right, m)


def _limit(g: Graph, friction: Friction, c: Contact) -> tuple[Node, list[Node]]:
    """mu |N| at lambda = 0 and its slopes along lambda_s."""
    if c.sign is None:
        return g.mul(c.mu, c.size), []
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

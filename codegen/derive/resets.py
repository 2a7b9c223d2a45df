"""The states after the events of a system, in the states of a form."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from chaplygin.errors import FormError

from ..graph.graph import Node
from .equation_nodes import EquationNodes


def resets(eqs: EquationNodes) -> tuple[tuple[Node, ...] | None, ...]:
    """The state after each event; None for an event without a reset.

    Raises FormError if a reset cannot be expressed in the states of the form.
    """
    g, system = eqs.graph, eqs.system
    found: list[tuple[Node, ...] | None] = []
    for event in system.nodes.events:
        if not event.reset:
            found.append(None)
            continue
        where = f"{eqs.form} does not fit {system.name!r}: events[{event.name!r}].reset"
        if eqs.independent is not None:
            raise FormError(f"{where}: hypothesis 'the energy h is constant' would fail; choose another form")
        if eqs.initial_nodes is not None:
            found.append(_by_initial(eqs, event.reset, where))
            continue
        states = (*eqs.coordinates, *eqs.velocities)
        for key in event.reset:
            if key not in states:
                raise FormError(
                    f"{where}: {key} is not a state of this form but computed from the states; reset one of "
                    f"{', '.join(s.name for s in states)}"
                )
        after = [event.reset.get(s, n) for s, n in zip(states, eqs.state_nodes, strict=True)]
        found.append(tuple(g.substitute(after, eqs.permitted)))
    return tuple(found)


def _by_initial(eqs: EquationNodes, reset: Mapping[sp.Symbol, Node], where: str) -> tuple[Node, ...]:
    """The state after a reset, computed from the declared variables as at the start of a run."""
    g, system = eqs.graph, eqs.system
    assert eqs.initial_nodes is not None
    variables = (*system.coordinates, *system.velocities)
    nodes = (*system.nodes.fields.coordinates, *system.nodes.eta)
    after = {n: reset[s] for s, n in zip(variables, nodes, strict=True) if s in reset}
    for s in reset:
        if s in system.coordinates and s not in eqs.coordinates:
            raise FormError(f"{where}: {s} has dropped out of the equations of this form")
    count = len(eqs.states)
    moved = g.substitute(g.substitute(eqs.initial_nodes, after), eqs.permitted)
    before = g.substitute(eqs.initial_nodes, eqs.permitted)
    fixed = len(system.parameters)
    for s, a, b in zip(eqs.parameters, moved[count + fixed :], before[count + fixed :], strict=True):
        if a != b:
            raise FormError(f"{where}: it changes {s.name}, which is a parameter of this form")
    return tuple(moved[:count])

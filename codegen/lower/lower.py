"""`lower`, from `EquationNodes` to `Lowered`: every kernel of the table is made, with the pivots to check."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from chaplygin.log import stage

from ..derive.equation_nodes import EquationNodes, Invariant, program_digest
from ..graph.graph import Graph, Node
from . import kernels
from .dynamics import Dynamics
from .lowered import Kernel, Lowered
from .options import DEFAULT, LoweringOptions
from .quantities import contact_entries, coordinates, event_entries, given, variable


def lower(
    eqs: EquationNodes,
    found: Callable[[], tuple[Invariant, ...]] | None = None,
    options: LoweringOptions = DEFAULT,
) -> Lowered:
    """The kernels as derived; `found` gives the invariants of the equations if they need not be searched for."""
    with stage("lower", f"{eqs.system.name}, {eqs.form}"):
        return _lowered(eqs, Dynamics(eqs, found, options))


def _lowered(eqs: EquationNodes, dynamics: Dynamics) -> Lowered:
    system = eqs.system
    made: dict[str, Kernel] = {}
    for row, make in kernels.KERNELS.items():
        directions = len(eqs.states) if row.takes == "direction" else 0
        with stage("lower", f"{system.name}, {eqs.form}: {row.name}", logging.DEBUG):
            for kernel in make(dynamics):
                checked = with_needed_checks(eqs.graph, kernel)
                made[kernel.name] = replace(
                    checked, takes=row.takes, directions=directions, effort=row.effort
                )
    return Lowered(
        **given(eqs),
        digest=program_digest(system.digest, eqs.form, sorted(eqs.options.items())),
        outputs=tuple(v for v, _ in dynamics.outputs),
        invariants=tuple(v for v, _ in dynamics.conserved),
        declared=(
            *coordinates(eqs, system.coordinates),
            *(variable(eqs, v, "velocity") for v in (system.independent or system.velocities)),
        ),
        kernels=made,
        table=tuple(kernels.KERNELS),
        guards=tuple(v for v, _ in dynamics.guards),
        events=event_entries(eqs),
        contacts=contact_entries(eqs),
    )


def with_needed_checks(g: Graph, kernel: Kernel) -> Kernel:
    """The kernel without the checks of pivots that are below none of its divisions and solves.

    A value that needs no division, such as an angular velocity or an energy, exists where the equations are singular.
    A pivot counts as divided by if one of its factors is, since products of divisors are split and joined.
    """
    if not kernel.pivots:
        return kernel
    values = [*kernel.outputs, *(n for solve in kernel.solves for n in (*solve.matrix, *solve.rhs))]
    divisors = [g.args[n][1] for n in g.reachable(values) if g.op[n] == "div"]
    below = set(g.reachable([*divisors, *(n for solve in kernel.solves for n in solve.matrix)]))
    below.update(n for solve in kernel.solves for n in solve.pivots)
    needed = tuple(pair for pair in kernel.pivots if not below.isdisjoint(_factors(g, pair[0])))
    return replace(kernel, pivots=needed)


def _factors(g: Graph, node: Node) -> set[Node]:
    """The factors of a product or quotient that are not constant."""
    found, stack = set[Node](), [node]
    while stack:
        n = stack.pop()
        if g.op[n] in ("mul", "div", "neg"):
            stack.extend(g.args[n])
        elif g.constant_value(n) is None:
            found.add(n)
    return found

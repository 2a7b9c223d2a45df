"""From `EquationNodes` to `Program`: every kernel of the table is made, then the program goes through the passes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..declare.digest import program_digest
from . import kernels
from .dynamics import Dynamics
from .optimise.arrange import BUDGET, arranged
from .program import Kernel, Program
from .quantities import contact_entries, event_entries, modes, variable
from .schedule import Counts, count, may_roll
from .singular import with_needed_checks

if TYPE_CHECKING:
    from ..derive.equation_nodes import EquationNodes

LARGEST_ARRANGED = 4000
"""Maximum number of nodes of a rarely called kernel that is arranged; the right-hand side always is."""


def lower(eqs: EquationNodes) -> Program:
    """The program of a model."""
    program = first = derived(eqs)
    for change in PASSES:
        program = change(program)
    has_kinks = len(first.guards) > len(first.events)
    return replace(program, unarranged=first.kernels) if has_kinks else program


def derived(eqs: EquationNodes) -> Program:
    """The kernels as they are derived, before the search for fewer operations."""
    system, dynamics = eqs.system, Dynamics(eqs)
    made: dict[str, Kernel] = {}
    for row in kernels.KERNELS:
        directions = len(eqs.states) if row.takes == "direction" else 0
        for kernel in row.make(dynamics):
            checked = with_needed_checks(eqs.graph, kernel)
            made[kernel.name] = replace(checked, takes=row.takes, directions=directions)
    return Program(
        **given(eqs),
        digest=program_digest(system.digest, eqs.form, sorted(eqs.options.items())),
        outputs=tuple(v for v, _ in dynamics.outputs),
        invariants=tuple(v for v, _ in dynamics.conserved),
        declared=(
            *(variable(eqs, x, "coordinate") for x in system.coordinates),
            *(variable(eqs, v, "velocity") for v in (system.independent or system.velocities)),
        ),
        kernels=made,
        table=kernels.KERNELS,
        guards=tuple(v for v, _ in dynamics.guards),
        events=event_entries(eqs),
        contacts=contact_entries(eqs),
    )


def given(eqs: EquationNodes) -> dict[str, Any]:
    """The fields of a program that say what its kernels take."""
    system = eqs.system
    return {
        "name": system.name,
        "form": eqs.form,
        "graph": eqs.graph,
        "states": (
            *(variable(eqs, x, "coordinate") for x in eqs.coordinates),
            *(variable(eqs, v, "velocity") for v in eqs.velocities),
        ),
        "n_coordinates": len(eqs.coordinates),
        "parameters": tuple(variable(eqs, p, "parameter") for p in (*system.parameters, *eqs.parameters)),
        "inputs": tuple(variable(eqs, u, "input") for u in system.inputs),
        "modes": modes(eqs),
        "independent": str(eqs.graph.value[eqs.independent_node]),
    }


def arrange(program: Program) -> Program:
    """The same values in fewer operations."""
    g, shorter = program.graph, dict(program.kernels)
    for row in program.table:
        for kernel in program.of(row):
            if may_roll(g, kernel) and program.schedule(kernel.name).rolled is not None:
                continue  # its templates are arranged
            if row.effort == 1.0 or (row.effort and len(g.reachable(kernel.roots())) <= LARGEST_ARRANGED):
                shorter[kernel.name] = replace(arranged(g, kernel, int(BUDGET * row.effort)), cells=())
    return program.having(shorter)


PASSES = (arrange,)
"""What a program goes through before it is emitted."""


def derived_counts(eqs: EquationNodes) -> Counts:
    """The operation counts of a right-hand side as derived."""
    own = replace(eqs, graph=eqs.graph.copy())  # a copy, so that later nodes keep their numbers
    (kernel,) = kernels.rhs(Dynamics(own))
    return count(own.graph, kernel)

"""From `EquationNodes` to a `Program` that has gone through the list of passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..derive.equation_nodes import EquationNodes, Invariant
from ..lower import kernels
from ..lower.dynamics import Dynamics
from ..lower.lower import derived
from ..lower.program import Program
from .arrange import BUDGET, arranged
from .plan import may_roll
from .statements import Counts
from .write_statements import count

LARGEST_ARRANGED = 4000
"""Maximum number of nodes of a rarely called kernel that is arranged; the right-hand side always is."""


def lower(eqs: EquationNodes, found: Callable[[], tuple[Invariant, ...]] | None = None) -> Program:
    """The program of a model; `found` gives the invariants of the equations if they need not be searched for."""
    program = first = derived(eqs, found)
    for change in PASSES:
        program = change(program)
    has_kinks = len(first.guards) > len(first.events)
    return replace(program, unarranged=first.kernels) if has_kinks else program


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

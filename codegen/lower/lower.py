"""`lower`, from `EquationNodes` to `Lowered`: every kernel of the table is made."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from chaplygin.log import stage

from ..derive.digest import program_digest
from ..derive.equation_nodes import EquationNodes, Invariant
from . import kernels
from .dynamics import Dynamics
from .lowered import Kernel, Lowered
from .needed_pivots import with_needed_checks
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

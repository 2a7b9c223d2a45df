"""Equations as a `SymbolicSystem` of `sympy.physics.mechanics`."""

from __future__ import annotations

from typing import Any

import sympy as sp

from chaplygin._lazy import later
from chaplygin.errors import FormError

from ..derive.equation_nodes import EquationNodes
from ..symbols.symbols import InputRate, time
from .matrices import forcing, kinematics, mass_matrix

mechanics = later("sympy.physics.mechanics")


def symbolic_system(eqs: EquationNodes) -> Any:
    """M theta' = f and dx/dt in dynamicsymbols; see `Equations.to_sympy_system`."""
    if eqs.independent is not None:
        raise FormError(
            f"to_sympy_system: the independent variable of {eqs.form!r} is not the time; use another form"
        )
    if eqs.friction is not None or eqs.implicit is not None:
        raise FormError(
            f"to_sympy_system: {eqs.form!r} of {eqs.system.name!r} computes forces or velocities by a loop; "
            "use a form without multipliers, momenta and contacts"
        )
    varying = [*eqs.coordinates, *eqs.velocities, *eqs.system.inputs]
    moving = {s: _of_time(s) for s in varying}
    # Symbol of the same assumptions, so that from_sympy takes them back as they were.
    still = {p: sp.Symbol(p.name, **p.assumptions0) for p in (*eqs.system.parameters, *eqs.parameters)}
    known = {time: mechanics.dynamicsymbols._t, **moving, **still}
    if not eqs.velocities:
        return mechanics.SymbolicSystem([moving[x] for x in eqs.coordinates], kinematics(eqs).xreplace(known))
    mass, force, rates = (m.xreplace(known) for m in (mass_matrix(eqs), forcing(eqs), kinematics(eqs)))
    return mechanics.SymbolicSystem(
        [moving[x] for x in eqs.coordinates],
        force,
        speeds=[moving[v] for v in eqs.velocities],
        mass_matrix=mass,
        coordinate_derivatives=rates,
        coord_idxs=None,
        speed_idxs=None,
    )


def _of_time(s: sp.Symbol) -> Any:
    """A dynamicsymbol, or the derivative of one for the rate of an input."""
    if isinstance(s, InputRate):
        return mechanics.dynamicsymbols(s.of, s.order)
    return mechanics.dynamicsymbols(s.name)

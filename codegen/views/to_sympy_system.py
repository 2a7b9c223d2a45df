"""Equations in SymPy: as a `SymbolicSystem` of `sympy.physics.mechanics`, as matrices, and structure functions."""

from __future__ import annotations

from typing import Any

import sympy as sp

from chaplygin._lazy import later
from chaplygin.errors import FormError
from chaplygin.runtime.interface.arguments import boolean

from ..derive.equation_nodes import EquationNodes
from ..derive.structure import structure_functions
from ..graph.to_sympy import shown
from ..symbols.symbols import InputRate, time
from ..system.checked_system import CheckedSystem

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


def mass_matrix(eqs: EquationNodes) -> sp.Matrix:
    """M, with all its entries; the unit matrix if the form gives theta' directly."""
    k = len(eqs.velocities)
    if not eqs.mass:
        return sp.eye(k)
    entries = [n for row in eqs.mass for n in row]
    seen = dict(zip(entries, eqs.view(entries), strict=True))
    return sp.Matrix(k, k, lambda i, j: seen[eqs.entry(i, j)])


def forcing(eqs: EquationNodes) -> sp.Matrix:
    """f, as a column."""
    return sp.Matrix(len(eqs.force), 1, eqs.view(eqs.force))


def kinematics(eqs: EquationNodes) -> sp.Matrix:
    """dx/dt, as a column."""
    return sp.Matrix(eqs.view(eqs.rates))


def structure_expressions(system: CheckedSystem, with_time: bool = False) -> list[list[list[Any]]]:
    """See `System.structure_constants`."""
    g = system.nodes.graph.copy()
    k, offset = len(system.velocities), int(boolean("with_time", with_time))
    table = [[[sp.Integer(0)] * k for _ in range(k + offset)] for _ in range(k + offset)]
    for (a, b), entries in structure_functions(g, system).items():
        if a < 0 and not with_time:
            continue
        for i, node in entries:
            (value,) = shown(g, [node], system.symbols)
            table[a + offset][b + offset][i] = value
            table[b + offset][a + offset][i] = -value
    return table

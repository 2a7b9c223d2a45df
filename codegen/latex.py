"""Equations of motion as LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

if TYPE_CHECKING:
    from .equations import Equations


def _names(eqs: Equations) -> dict[sp.Symbol, str]:
    """Printed names: a rate `phi_dot` is shown as a dotted phi."""
    from .symbols import rate

    return {rate(x): rf"\dot{{{sp.latex(x)}}}" for x in eqs.system.coordinates}


def _left(eqs: Equations, row: int, names: dict[sp.Symbol, str]) -> str:
    """sum_j M_ij theta_j' of one row."""
    terms = []
    for j, v in enumerate(eqs.velocities):
        entry = eqs.mass_matrix[row, j]
        if entry == 0:
            continue
        rate_of = rf"\dot{{{names.get(v, sp.latex(v))}}}"
        if entry == 1:
            terms.append(rate_of)
            continue
        text = sp.latex(entry, symbol_names=names)
        if isinstance(entry, sp.Add):
            text = rf"\left({text}\right)"
        terms.append(rf"{text}\,{rate_of}")
    joined = " + ".join(terms) or "0"
    return joined.replace("+ -", "- ")


def equations_to_latex(eqs: Equations) -> str:
    """An `aligned` environment: kinematics, then one row per equation."""
    names = _names(eqs)
    rows: list[str] = []

    def row(left: str, right: Any) -> None:
        rows.append(rf"{left} &= {sp.latex(right, symbol_names=names)}")

    rate_symbols = set(names)
    for x, right in zip(eqs.coordinates, eqs.kinematics, strict=True):
        if right not in rate_symbols:
            row(rf"\dot{{{sp.latex(x)}}}", right)
    for i in range(len(eqs.velocities)):
        row(_left(eqs, i, names), eqs.forcing[i])
    for v, node in eqs.declared.items():
        if v not in eqs.velocities:
            row(names.get(v, sp.latex(v)), eqs._view([node])[0])
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

"""Notebook output for systems and equations: small tables with the expressions in LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import sympy as sp

from chaplygin.runtime.interface.tables import SHOWN, table

from .latex import equations_to_latex

if TYPE_CHECKING:
    from ..derive.equation_nodes import EquationNodes
    from ..system.checked_system import CheckedSystem

LARGEST = 150
"""Largest number of operations at which an expression is shown in full."""


def system_table(system: CheckedSystem) -> str:
    """The declaration: kinematics, energies, forces, constraints, and the variables with units, as HTML."""
    rows: list[Sequence[str]] = []
    for kind, symbols in (
        ("coordinates", system.coordinates),
        ("velocities", system.velocities),
        ("independent", system.independent),
        ("parameters", system.parameters),
        ("inputs", system.inputs),
    ):
        for i, s in enumerate(symbols[:SHOWN]):
            texts = system.units.get(s, ""), system.descriptions.get(s, "")
            rows.append((kind if i == 0 else "", s.name, *texts))
        if len(symbols) > SHOWN:
            rows.append(("", f"and {len(symbols) - SHOWN} more", "", ""))
    entries = [("T", system.kinetic), ("V", system.potential)]
    entries += [(f"Q of {v}", q) for v, q in system.forces.items()]
    entries += [("= 0", e) for e in (*system.constraints, *system.holonomic)]
    entries += [(f"{v} =", e) for v, e in (system.parametrization or {}).items()]
    lines = [f"<tr><th>{escape(name)}</th><td>{_shown(e)}</td></tr>" for name, e in entries[: 2 + SHOWN]]
    if len(entries) > 2 + SHOWN:
        lines.append(f"<tr><th></th><td>and {len(entries) - 2 - SHOWN} more</td></tr>")
    return table(system.name, ("", "name", "unit", "description"), rows) + f"<table>{''.join(lines)}</table>"


def equations_table(eqs: EquationNodes, status: Mapping[str, str]) -> str:
    """The equations in LaTeX and the invariants, each with the evidence for it that `status` has, as HTML."""
    title = f"{eqs.system.name}: {eqs.title}"
    every = [*(n for row in eqs.mass for n in row), *eqs.force, *eqs.rates]
    total = eqs.graph.count_operations(every)
    if total > 4 * LARGEST:
        body = f"<p>{total} operations; <code>latex()</code> shows them</p>"
    else:
        body = f"$$\\displaystyle {equations_to_latex(eqs)}$$"
    rows = [(name, text) for name, text in list(status.items())[:SHOWN]]
    if len(status) > SHOWN:
        rows.append((f"and {len(status) - SHOWN} more", ""))
    known = table("invariants", ("", "how it is known"), rows) if rows else ""
    return f"<p>{escape(title)}; states {escape(', '.join(eqs.states[: 2 * SHOWN]))}</p>{body}{known}"


def _shown(e: Any) -> str:
    count = sp.count_ops(e) if len(e.atoms()) <= LARGEST else None
    if count is None or count > LARGEST:
        return "a long expression"
    return f"${escape(sp.latex(e))}$"

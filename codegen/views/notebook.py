"""Notebook output for systems and equations: small tables with the expressions in LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import sympy as sp

from chaplygin.runtime.interface.tables import SHOWN, table

from ..derive.equation_nodes import EquationNodes
from ..system.checked_system import CheckedSystem
from .latex import equations_to_latex
from .text import declared

LARGEST = 150
"""Largest number of operations at which an expression is shown in full."""
_LEFT = {"constraint": "= 0", "holonomic": "= 0", "velocity": "{} ="}
"""What stands left of an expression of a declaration, where it is not its name."""


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
    entries, size = declared(system), system.nodes.graph.tree_size
    lines = []
    for kind, name, node, expression in entries[: 2 + SHOWN]:
        left = f"Q of {name[2:]}" if kind == "force" else _LEFT.get(kind, "{}").format(name)
        text = f"${escape(sp.latex(expression()))}$" if size(node) <= LARGEST else "a long expression"
        lines.append(f"<tr><th>{escape(left)}</th><td>{text}</td></tr>")
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

"""Equations of motion as LaTeX."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ..derive.equation_nodes import EquationNodes
from ..graph.graph import Node
from ..graph.to_sympy import by_parts
from ..symbols.symbols import rate
from .display import MOST_ROWS, Display, shared_parts

_LARGEST = 600
"""Most operations of equations that are written out with names for shared parts, where not all are."""
_LONGEST = 240
"""Maximum length in characters of a right-hand side on one line; a longer sum is broken between terms."""


def equations_to_latex(eqs: EquationNodes, simplify: bool = False, short: bool = False) -> str:
    """An `aligned` environment: kinematics, one row per equation, the dependent velocities, the law of each contact.

    `simplify`: each expression as `sympy.simplify` leaves it. Very long ones are written with intermediate variables
    z_1, z_2 ..., defined in rows at the end. `short`: of long equations the long entries are only counted.
    """
    names = _names(eqs)
    view = _Short(eqs) if short else _View(eqs, simplify)
    rates = {rate(x) for x in eqs.system.coordinates}
    rows: list[str] = []
    shown = {rate(x) for x in eqs.coordinates}  # given by the kinematics
    if view.counting and len(eqs.velocities) > MOST_ROWS:
        rows += view.summary()
    else:
        for x, node in zip(eqs.coordinates, eqs.rates, strict=True):
            right = view(node)
            if right not in rates:  # dx/dt = x_dot is trivial
                rows += _row(_derivative(eqs, x, names), right, names)
        for i, node in enumerate(eqs.force):
            rows += _row(_left(eqs, view, i, names), view(node), names)
    for v, node in eqs.declared.items():
        if v not in eqs.velocities and v not in shown:
            rows += _row(_text(v, names), view(node), names)
    rows += _friction(eqs, view, names)
    for symbol, definition in view.definitions():
        rows += _row(_text(symbol, names), definition, names)
    rows += view.counts()
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


class _View:
    """Nodes as SymPy expressions: simplified, or with symbols for shared parts if that is too long."""

    counting = False

    def __init__(self, eqs: EquationNodes, simplify: bool = False) -> None:
        self.eqs, self.simplify = eqs, simplify
        g, roots = eqs.graph, self.roots
        self.known = {} if self.counting else shared_parts(g, roots, eqs.symbols)
        self.parts = by_parts(g, roots, eqs.symbols, self.known) if self.known else {}

    @property
    def roots(self) -> list[Node]:
        eqs = self.eqs
        dependent = [n for v, n in eqs.declared.items() if v not in eqs.velocities]
        return [*eqs.rates, *eqs.force, *(n for row in eqs.mass for n in row), *dependent]

    def __call__(self, node: Node, name: str = "") -> Any:
        """The expression of a node; `name` is what it is called if it is only counted."""
        if self.known:
            return self.known[node] if node in self.known else self.parts[node]
        shown = self.eqs.view([node])[0]
        return sp.simplify(shown) if self.simplify else shown

    def definitions(self) -> list[tuple[sp.Symbol, Any]]:
        """The intermediate variables with their definitions."""
        return [(symbol, self.parts[node]) for node, symbol in self.known.items()]

    def summary(self) -> list[str]:
        """Rows for equations that are too many."""
        eqs, g = self.eqs, self.eqs.graph
        mass = [n for row in eqs.mass for n in row]
        return [
            rf"{left} \quad \text{{({size} equations, {g.count_operations(nodes):,} operations)}}"
            for left, size, nodes in (
                (r"\dot{x} &= r", len(eqs.rates), eqs.rates),
                (r"M \dot{\theta} &= f", len(eqs.force), (*mass, *eqs.force)),
            )
        ]

    def counts(self) -> list[str]:
        """Rows for the names of what is only counted."""
        return []


class _Short(_View):
    """The same, of which the long ones are only counted where all are too long together."""

    def __init__(self, eqs: EquationNodes) -> None:
        self.eqs = eqs
        self.counting = eqs.graph.count_operations(self.roots) > _LARGEST
        super().__init__(eqs)
        self.display = Display(eqs.graph, eqs.symbols, full=not self.counting, plain=False)
        self.called: dict[Node, str] = {}

    def __call__(self, node: Node, name: str = "") -> Any:
        """An expression; if it is only counted its name, or else its operations."""
        if self.known:
            return super().__call__(node, name)
        name = self.called.setdefault(node, name) if name else ""
        found = self.display.expression(name, node)
        if found is None:
            count = self.eqs.graph.count_operations([node])
            found = sp.Symbol(name or rf"\text{{({count:,} operations)}}")
        return found

    def counts(self) -> list[str]:
        counted = self.display.elided.items()
        return [rf"{name} &: \text{{{count:,} operations}}" for name, count in counted if name]


def _names(eqs: EquationNodes) -> dict[sp.Symbol, str]:
    """Printed names: `v_prime` is v', `p_omega` and `a_omega` have the subscript omega."""
    names: dict[sp.Symbol, str] = {}
    declared = {v.name: v for v in (*eqs.system.velocities, *eqs.system.independent)}
    for s in (*eqs.velocities, *eqs.parameters):
        if s.name.endswith("_prime") and s.name[:-6] in declared:
            names[s] = _text(declared[s.name[:-6]], names) + "'"
        elif s.name[:2] in ("p_", "a_") and s.name[2:] in declared:
            names[s] = f"{s.name[0]}_{{{_text(declared[s.name[2:]], names)}}}"
    for c in eqs.system.contacts:
        name = c.name.replace("_", r"\_")
        names[eqs.symbols[f"friction_{c.name}"]] = rf"T_{{\mathrm{{{name}}}}}"
    return names


def _friction(eqs: EquationNodes, view: _View, names: dict[sp.Symbol, str]) -> list[str]:
    """Coulomb's law for each contact, when it slips and when it sticks."""
    rows = []
    for c in eqs.friction.contacts if eqs.friction is not None else ():
        nodes = (c.slip, c.normal, c.mu, c.force)
        found = [view(n) for n in nodes] if view.counting else eqs.view(nodes)
        slip, normal, mu, force = (_text(e, names) for e in found)
        mu = rf"\left({mu}\right)" if found[2].is_Add or found[2].could_extract_minus_sign() else mu
        limit = rf"{mu} \left|{normal}\right|"
        rows.append(rf"{force} &= - {limit} \operatorname{{sgn}} \left({slip}\right)")
        rows.append(rf"\left|{force}\right| &\le {limit} \quad \text{{where }} {slip} = 0")
    return rows


def _text(e: Any, names: dict[sp.Symbol, str]) -> str:
    return str(sp.latex(e, symbol_names=names))


def _derivative(eqs: EquationNodes, s: sp.Symbol, names: dict[sp.Symbol, str]) -> str:
    """The derivative of a state with respect to time (a dot) or Whittaker's coordinate."""
    name = _text(s, names)
    if eqs.independent is not None:
        return rf"\frac{{d {name}}}{{d {_text(eqs.independent, names)}}}"
    if name.startswith(r"\dot{"):
        return r"\ddot{" + name[5:]
    return rf"\dot{{{name}}}"


def _left(eqs: EquationNodes, view: _View, row: int, names: dict[sp.Symbol, str]) -> str:
    """sum_j M_ij theta_j' for row i."""
    terms = []
    for j, v in enumerate(eqs.velocities):
        entry = view(eqs.entry(row, j), f"M_{{{row + 1},{j + 1}}}") if eqs.mass else sp.Integer(row == j)
        if entry == 0:
            continue
        derivative = _derivative(eqs, v, names)
        text = _text(entry, names)
        if entry.is_Add:
            text = rf"\left({text}\right)"
        terms.append(derivative if entry == 1 else rf"{text}\,{derivative}")
    return (" + ".join(terms) or "0").replace("+ -", "- ")


def _row(left: str, right: Any, names: dict[sp.Symbol, str]) -> list[str]:
    """The lines of one equation."""
    whole = _text(right, names)
    if len(whole) <= _LONGEST or not isinstance(right, sp.Add):
        return [f"{left} &= {whole}"]
    lines = [f"{left} &= "]
    for i, term in enumerate(right.as_ordered_terms()):
        text = _text(term, names)
        if i and not text.startswith("-"):
            text = f"+ {text}"
        if len(lines[-1]) + len(text) > _LONGEST and not lines[-1].endswith("= "):
            lines.append(r"&\quad " + text)
        else:
            lines[-1] += (" " if i else "") + text
    return lines

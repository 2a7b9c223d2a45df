"""Equations of motion as LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

from ..graph.graph import CONDITIONS, Node
from ..graph.to_sympy import expressions
from ..symbols.symbols import rate

if TYPE_CHECKING:
    from ..derive.equation_nodes import EquationNodes

_LARGEST = 400
"""Maximum number of operations of an expression written out in full; in larger ones shared parts get names."""
_LONGEST = 240
"""Maximum length in characters of a right-hand side on one line; a longer sum is broken between terms."""


def equations_to_latex(eqs: EquationNodes, simplify: bool = False) -> str:
    """An `aligned` environment: kinematics, one row per equation, the dependent velocities, the law of each contact.

    `simplify`: each expression as `sympy.simplify` leaves it. Very long ones are written with intermediate variables
    z_1, z_2 ..., defined in rows at the end.
    """
    names = _names(eqs)
    view = _View(eqs, simplify)
    rates = {rate(x) for x in eqs.system.coordinates}
    rows: list[str] = []
    shown = {rate(x) for x in eqs.coordinates}  # given by the kinematics
    for x, node in zip(eqs.coordinates, eqs.rates, strict=True):
        right = view(node)
        if right not in rates:  # dx/dt = x_dot is trivial
            rows += _row(_derivative(eqs, x, names), right, names)
    for i, node in enumerate(eqs.force):
        rows += _row(_left(eqs, view, i, names), view(node), names)
    for v, node in eqs.declared.items():
        if v not in eqs.velocities and v not in shown:
            rows += _row(_text(v, names), view(node), names)
    rows += _friction(eqs, names)
    for symbol, definition in view.definitions():
        rows += _row(_text(symbol, names), definition, names)
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


class _View:
    """Nodes as SymPy expressions: in full and simplified, or with symbols for shared parts if that is too long."""

    def __init__(self, eqs: EquationNodes, simplify: bool = False) -> None:
        self.eqs, self.simplify = eqs, simplify
        g = eqs.graph
        roots = [*eqs.rates, *eqs.force, *(n for row in eqs.mass for n in row)]
        roots += [n for v, n in eqs.declared.items() if v not in eqs.velocities]
        order = g.reachable(roots)
        uses = dict.fromkeys(order, 0)
        size: dict[Node, int] = {}  # of the expression as a tree
        for node in order:
            size[node] = 1 + sum(size[a] for a in g.args[node]) if g.args[node] else 0
            for a in g.args[node]:
                uses[a] += 1
        self.known: dict[Node, sp.Symbol] = {}
        if max((size[r] for r in roots), default=0) > _LARGEST:
            shared = [n for n in order if uses[n] > 1 and size[n] > 2 and g.op[n] not in CONDITIONS]
            self.known = {n: sp.Symbol(f"z_{i + 1}", real=True) for i, n in enumerate(shared)}

    def __call__(self, node: Node) -> Any:
        if self.known:
            return expressions(self.eqs.graph, [node], self.eqs.symbols, self.known)[0]
        shown = self.eqs.view([node])[0]
        return sp.simplify(shown) if self.simplify else shown

    def definitions(self) -> list[tuple[sp.Symbol, Any]]:
        """The intermediate variables with their definitions."""
        g = self.eqs.graph
        found = []
        for node, symbol in self.known.items():
            others = {n: s for n, s in self.known.items() if n != node}
            found.append((symbol, expressions(g, [node], self.eqs.symbols, others)[0]))
        return found


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


def _friction(eqs: EquationNodes, names: dict[sp.Symbol, str]) -> list[str]:
    """Coulomb's law for each contact, when it slips and when it sticks."""
    rows = []
    for c in eqs.friction.contacts if eqs.friction is not None else ():
        view = eqs.view([c.slip, c.normal, c.mu, c.force])
        slip, normal, mu, force = (_text(e, names) for e in view)
        mu = rf"\left({mu}\right)" if view[2].is_Add or view[2].could_extract_minus_sign() else mu
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
        entry = view(eqs.entry(row, j)) if eqs.mass else sp.Integer(row == j)
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

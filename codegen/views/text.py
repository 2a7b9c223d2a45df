"""Equations as lines of text, and the expressions of a declaration as nodes, whose length is known before."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import sympy as sp

from ..derive.equation_nodes import EquationNodes
from ..derive.structure import structure_functions
from ..graph.graph import Node
from ..system.checked_system import CheckedSystem
from .display import MOST_ROWS, Display

_WIDTH = 110
"""Of lines that are wrapped."""


def display(eqs: EquationNodes, full: bool = True, more: Sequence[Node] = ()) -> Display:
    """How the nodes of equations are written, and `more` of them."""
    roots = (*eqs.rates, *eqs.force, *(n for row in eqs.mass for n in row), *eqs.declared.values(), *more)
    return Display(eqs.graph, eqs.symbols, full, roots)


def brackets(system: CheckedSystem, shown: Display | None = None) -> list[str]:
    """The nonzero brackets of the vector fields, with velocities as indices.

    >>> from chaplygin.systems import example
    >>> brackets(example("heavy_top").system)
    ['[X_w1, X_w2] = X_w3', '[X_w1, X_w3] = -X_w2', '[X_w2, X_w3] = X_w1']
    """
    g = system.nodes.graph.copy()
    shown = shown.on(g) if shown is not None else Display(g, system.symbols, full=True)
    names = [*(f"X_{v}" for v in system.velocities), "X_0"]  # X_0 has the index -1
    lines = []
    for (a, b), entries in sorted(structure_functions(g, system).items()):
        left = f"[{names[a]}, {names[b]}]"
        terms = [shown.expression(f"c({left}, {names[i]})", node) for i, node in entries]
        if None in terms:
            lines.append(f"{left} = ({g.count_operations([n for _, n in entries]):,} operations)")
            continue
        fields = [sp.Symbol(names[i]) for i, _ in entries]
        whole = sum((c * x for c, x in zip(terms, fields, strict=True)), sp.Integer(0))
        if whole != 0:
            lines.append(f"{left} = {whole}")
    return lines or ["all brackets vanish"]


def equation_lines(eqs: EquationNodes, shown: Display | None = None) -> list[str]:
    """dx/dt = ..., then M theta' = f row by row, then the dependent velocities, as plain text.

    >>> from chaplygin.systems import example
    >>> equation_lines(example("harmonic_oscillator").system.equations("lagrange").nodes)
    ["x' = x_dot", "m*x_dot' = -k*x"]
    """
    shown = shown or display(eqs)
    k = len(eqs.velocities)
    if k > MOST_ROWS and not shown.full:
        g, mass = eqs.graph, [n for row in eqs.mass for n in row]
        shown.elided["dx/dt"] = g.count_operations(eqs.rates)
        shown.elided["M theta' = f"] = g.count_operations([*mass, *eqs.force])
        sizes = [f"{shown.elided[what]:,} operations" for what in ("dx/dt", "M theta' = f")]
        lines = [f"{len(eqs.rates)} equations dx/dt of {sizes[0]}, {k} equations M theta' = f of {sizes[1]}"]
    else:
        rates = zip(eqs.coordinates, eqs.rates, strict=True)
        lines = [f"{x}' = {shown.text(f'{x}{chr(39)}', rate)}" for x, rate in rates]
        called: dict[Node, str] = {}
        lines += [_row(eqs, shown, i, called) for i in range(k)]
        lines += _counted_entries(shown)
    dependent = [(v, node) for v, node in eqs.declared.items() if v not in eqs.velocities]
    most = len(dependent) if shown.full else 2 * MOST_ROWS
    lines += [f"{v} = {shown.text(str(v), node)}" for v, node in dependent[:most]]
    return lines + ([f"and {len(dependent) - most} more velocities"] if dependent[most:] else [])


def _row(eqs: EquationNodes, shown: Display, i: int, called: dict[Node, str]) -> str:
    """Row i of M theta' = f, with the name in M by which an entry is `called` if it is elided."""
    left = sp.Symbol(f"{eqs.velocities[i]}'")
    if eqs.mass:  # else the form gives theta' itself
        left = sp.Integer(0)
        for j, v in enumerate(eqs.velocities):
            node = eqs.entry(i, j)
            name = called.setdefault(node, f"M[{i},{j}]")
            entry = shown.expression(name, node)
            left += (sp.Symbol(name) if entry is None else entry) * sp.Symbol(f"{v}'")
    return f"{left} = {shown.text(f'f[{i}]', eqs.force[i])}"


def _counted_entries(shown: Display) -> list[str]:
    """What the rows call M[i,j]."""
    entries = [f"{name} of {count:,}" for name, count in shown.elided.items() if name.startswith("M[")]
    if not entries:
        return []
    whole = f"with {', '.join(entries)} operations"
    return textwrap.wrap(whole, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


class Declared(NamedTuple):
    """An expression of a declaration; `kind` is T, V, force, constraint, holonomic or velocity."""

    kind: str
    name: str
    node: Node
    expression: Callable[[], Any]


def declared(system: CheckedSystem) -> list[Declared]:
    """Energies, forces, constraints, holonomic equations and the parametrization; forces of zero are omitted."""
    nodes, beta = system.nodes, system.parametrization or {}
    found = [
        Declared("T", "T", nodes.kinetic, lambda: system.kinetic),
        Declared("V", "V", nodes.potential, lambda: system.potential),
    ]
    for v, node in zip(system.velocities, nodes.forces, strict=True):
        if node != nodes.graph.zero:
            found.append(Declared("force", f"Q_{v}", node, partial(_force, system, v)))
    for kind, every, given in (
        ("constraint", nodes.constraints, {f"constraints[{i}]": e for i, e in enumerate(system.constraints)}),
        ("holonomic", nodes.holonomic, {f"holonomic[{i}]": e for i, e in enumerate(system.holonomic)}),
        ("velocity", nodes.beta, {f"{v}": e for v, e in beta.items()}),
    ):
        for node, (name, e) in zip(every, given.items(), strict=True):
            found.append(Declared(kind, name, node, given_as(e)))
    return found


def _force(system: CheckedSystem, velocity: Any) -> Any:
    return system.forces[velocity]


def given_as(expression: Any) -> Callable[[], Any]:
    """What gives an expression that exists."""
    return lambda: expression

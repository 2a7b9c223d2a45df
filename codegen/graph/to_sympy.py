"""Graph nodes as SymPy expressions for display."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from .functions import FUNCTIONS, NAMED
from .graph import Graph, Node

LARGEST_SIMPLIFIED = 120
"""Largest number of operations (without sharing) that SymPy simplifies for display; more can take minutes."""
LARGEST_FACTORED = 1000
"""Largest number of operations (without sharing) at which common factors are extracted for display."""

_BUILD: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "lt": sp.StrictLessThan,
    "le": sp.LessThan,
    "eq": sp.Equality,
    "ne": sp.Unequality,
    "and": sp.And,
    "or": sp.Or,
    "select": lambda c, a, b: sp.Piecewise((a, c), (b, True)),
}


def symbolic(op: str) -> Callable[..., Any]:
    """What makes the SymPy expression of an operation from its arguments."""
    return FUNCTIONS[op].symbolic if op in FUNCTIONS else _BUILD[op]


def constant(value: Fraction) -> Any:
    """A rational if its denominator is small, otherwise a decimal number (9.81, not 5522...)."""
    if value.denominator <= 10_000:
        return sp.Rational(value.numerator, value.denominator)
    return sp.Float(float(value))


def leaf(g: Graph, node: Node, symbols: Mapping[str, sp.Symbol]) -> Any:
    payload, kind = g.value[node], g.op[node]
    if isinstance(payload, Fraction):
        return constant(payload)
    if kind == "named":
        return NAMED[str(payload)].symbolic
    if kind == "bool":
        return sp.true if payload == "true" else sp.false
    return symbols.get(str(payload)) or sp.Symbol(str(payload), real=True)


def by_parts(
    g: Graph, roots: Sequence[Node], symbols: Mapping[str, sp.Symbol], named: Mapping[Node, sp.Symbol]
) -> dict[Node, Any]:
    """Every node below the roots as an expression of the named parts; a named part itself as what it is."""
    found: dict[Node, Any] = {}
    for node in g.reachable(roots):
        args = [named[a] if a in named else found[a] for a in g.args[node]]
        found[node] = symbolic(g.op[node])(*args) if args else leaf(g, node, symbols)
    return found


def expressions(g: Graph, roots: Sequence[Node], symbols: Mapping[str, sp.Symbol]) -> list[Any]:
    """The roots as SymPy expressions in the given symbols (by name)."""
    found = by_parts(g, roots, symbols, {})
    return [found[r] for r in roots]


def shown(g: Graph, roots: Sequence[Node], symbols: Mapping[str, sp.Symbol]) -> list[Any]:
    """The roots as SymPy expressions for display, simplified where that is quick."""
    found = expressions(g, roots, symbols)
    return [shorter(e, g.tree_size(n)) for n, e in zip(roots, found, strict=True)]


def shorter(e: Any, size: int) -> Any:
    """An expression of this many operations in fewer, as far as SymPy finds that quickly."""
    if size > LARGEST_FACTORED:
        return e
    # Simplifying a denominator with sines and cosines can take minutes, whatever its size.
    below = [p.base for p in e.atoms(sp.Pow) if p.exp.is_negative and p.base.is_Add]
    if size > LARGEST_SIMPLIFIED or any(b.has(TrigonometricFunction) for b in below):
        return sp.factor_terms(e)
    return sp.simplify(e)

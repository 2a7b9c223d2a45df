"""The value of a node in any language: one walk, for which a `Language` makes each node from its parts.

`sympy_ast` has the language of SymPy's expressions, which SymPy's C printer writes as the same text as `emit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from ..graph.functions import NAMED
from ..graph.graph import CONDITIONS, RELATIONS, Graph, Node

V = TypeVar("V")


class Language(Protocol[V]):
    """What a node is in a language, made from its parts; see `expression`."""

    def number(self, value: float, /) -> V: ...
    def name(self, name: str, /) -> V: ...
    def operation(self, op: str, parts: Sequence[V], /) -> V:
        """Arithmetic or a function of its operands."""
        ...

    def relation(self, op: str, a: V, b: V, /) -> V: ...
    def joined(self, op: str, parts: Sequence[V], /) -> V: ...
    def choice(self, truth: V, value: V, opposite: V, other: V, /) -> V:
        """NaN if neither the condition nor its opposite holds, as where a NaN was compared."""
        ...


_OPPOSITE = {"lt": "le", "le": "lt", "eq": "ne", "ne": "eq", "and": "or", "or": "and"}


def condition(
    g: Graph, node: Node, names: Mapping[Node, str], language: Language[V], wanted: bool = True
) -> V:
    """A condition or, with `wanted` False, its opposite.

    Neither holds where the condition compares a NaN.
    """
    op, args = g.op[node], g.args[node]
    said = op if wanted else _OPPOSITE[op]
    if op not in RELATIONS:
        return language.joined(said, [condition(g, a, names, language, wanted) for a in args])
    parts = [expression(g, a, names, False, language) for a in args]
    return language.relation(said, *(parts if wanted or op in ("eq", "ne") else reversed(parts)))


def expression(g: Graph, node: Node, names: Mapping[Node, str], top: bool, language: Language[V]) -> V:
    """A node in a language; nodes in `names` appear by name, except the node itself with `top`."""
    op, args = g.op[node], g.args[node]
    if op == "symbol" or (not top and node in names):
        return language.name(names[node])
    if op in ("const", "named"):
        exact = g.constant_value(node)
        return language.number(NAMED[str(g.value[node])].value if exact is None else float(exact))
    if op in CONDITIONS:
        return condition(g, node, names, language)
    if op == "select":
        value, other = (expression(g, a, names, False, language) for a in args[1:])
        truth, opposite = (condition(g, args[0], names, language, wanted) for wanted in (True, False))
        return language.choice(truth, value, opposite, other)
    return language.operation(op, [expression(g, a, names, False, language) for a in args])

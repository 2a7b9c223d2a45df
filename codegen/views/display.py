"""Which expressions are written out for people, and which are only counted."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import sympy as sp

from ..graph.graph import CONDITIONS, Graph, Node
from ..graph.to_sympy import by_parts, expressions

LONGEST = 60
"""Most operations of an expression that is written out, each counted as often as it occurs."""
MOST = 1000
"""Most operations of all expressions that are written out."""
MOST_ROWS = 8
"""Most equations, and most quantities of one kind, that are shown if not all are."""
LARGEST = 400
"""Most operations of an expression without names for its shared parts, where all is written out."""
SIMPLIFIED = 30
"""Most operations of an expression that is simplified."""
MOST_SIMPLIFIED = 120
"""Most operations of all that are simplified: SymPy takes 5 to 15 ms for each."""


def shared_parts(g: Graph, roots: Sequence[Node], taken: Iterable[str]) -> dict[Node, sp.Symbol]:
    """Symbols z_1, z_2 ... for what occurs several times in the roots; none if these are short without."""
    sizes: dict[Node, int] = {}
    if max((g.tree_size(r, sizes) for r in roots), default=0) <= LARGEST:
        return {}
    order = g.reachable(roots)
    uses = dict.fromkeys(order, 0)
    for node in order:
        for a in g.args[node]:
            uses[a] += 1
    shared = [n for n in order if uses[n] > 1 and sizes[n] > 2 and g.op[n] not in CONDITIONS]
    letter = "cg_z" if any(re.fullmatch(r"z_\d+", name) for name in taken) else "z"
    return {n: sp.Symbol(f"{letter}_{i + 1}", real=True) for i, n in enumerate(shared)}


class Display:
    """Nodes as SymPy expressions, if they are short, and else their operations in `elided`, by what they are called.

    Whether an expression is short is known before it is written, and all that are written out are short together. With
    `full` everything is written out, and the shared parts of long `roots` have names.
    """

    def __init__(
        self,
        g: Graph,
        symbols: Mapping[str, sp.Symbol],
        full: bool = False,
        roots: Sequence[Node] = (),
        plain: bool = True,
    ) -> None:
        self.graph, self.symbols, self.full, self.roots = g, symbols, full, roots
        # Plain symbols print in alphabetical order, declared ones grouped by kind.
        self.plain = {s: sp.Symbol(name) for name, s in symbols.items()} if plain else {}
        self.named = shared_parts(g, roots, symbols) if full else {}
        self._parts = by_parts(g, roots, symbols, self.named) if self.named else {}
        self.elided: dict[str, int] = {}
        self._sizes: dict[Node, int] = {}
        self._left = {"written": MOST, "simplified": MOST_SIMPLIFIED}

    def on(self, g: Graph) -> Display:
        """The same for another graph; what is written there counts here."""
        other = copy.copy(self)
        other.graph, other.named, other._parts, other._sizes = g, {}, {}, {}
        return other

    def expression(self, name: str, node: Node, declared: Callable[[], Any] | None = None) -> Any | None:
        """What `declared` gives, or else the node, as an expression; None if it is elided, under this name."""
        size = self.graph.tree_size(node, self._sizes)
        if not self.named and size > (LARGEST if self.full else min(LONGEST, max(self._left["written"], 0))):
            self.elided[name] = self.graph.count_operations([node])
            return None
        self._left["written"] -= size
        if declared is not None and size <= LARGEST:
            return declared()
        found = self.named.get(node) or self._parts.get(node)
        if found is None:
            (found,) = expressions(self.graph, [node], self.symbols)
        if 1 < size <= min(SIMPLIFIED, self._left["simplified"]):
            self._left["simplified"] -= size
            found = sp.simplify(found)
        return found.xreplace(self.plain)

    def text(self, name: str, node: Node, declared: Callable[[], Any] | None = None) -> str:
        """The same as text, with the operations of what is elided."""
        found = self.expression(name, node, declared)
        return f"({self.graph.count_operations([node]):,} operations)" if found is None else str(found)

    def texts(self, named: Mapping[str, Node]) -> dict[str, str]:
        return {name: self.text(name, node) for name, node in named.items()}

    def definitions(self) -> list[tuple[str, str]]:
        """The named parts and what they are."""
        return [(str(s), str(self._parts[n].xreplace(self.plain))) for n, s in self.named.items()]

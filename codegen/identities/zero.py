"""Is an expression zero everywhere? Proved exactly, never inferred from samples: equations depend on the answer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import sympy as sp

from ..graph.graph import Graph, Node
from ..graph.to_sympy import expressions
from .branches import branches, is_branched
from .identities import vanish
from .rational import vanishes

_LARGEST = 300
"""Largest number of operations; larger expressions count as not proved to be zero."""
_LARGEST_TREE = 200
"""Largest number of operations (without sharing) passed to SymPy; more can take minutes."""


def is_zero(g: Graph, node: Node, symbols: Mapping[str, sp.Symbol]) -> bool:
    """Whether a node is proved to be identically zero. False can also mean that no proof was found."""
    if node == g.zero:
        return True
    if g.op[node] in ("const", "named", "symbol") or g.count_operations([node]) > _LARGEST:
        return False
    own = g.copy() if is_branched(g, [node]) else g
    found = branches(own, [node])
    return found is not None and all(_is_shown(own, n, symbols) for n in {b.nodes[0]: None for b in found})


def are_zero(g: Graph, nodes: Sequence[Node], symbols: Mapping[str, sp.Symbol]) -> bool:
    """Whether every node is proved to be identically zero."""
    return all(is_zero(g, n, symbols) for n in nodes)


def _is_shown(g: Graph, node: Node, symbols: Mapping[str, sp.Symbol]) -> bool:
    """Whether a node without switches is proved to be zero."""
    # Numbers first: they are quick, while SymPy can take long over nonzero expressions.
    draw = random.Random(20_011)
    names = sorted(g.symbols([node]))
    if not vanish(g, [node], [{name: draw.uniform(0.3, 1.7) for name in names} for _ in range(3)]):
        return False
    if vanishes(g, node):
        return True
    if g.tree_size(node) > _LARGEST_TREE:
        return False
    (e,) = expressions(g, [node], symbols)
    return bool(sp.simplify(e) == 0)

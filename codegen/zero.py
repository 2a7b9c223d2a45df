"""Is an expression zero everywhere? Shown exactly, never concluded from samples: equations are built on the answer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import sympy as sp

from .branches import branches, is_branched
from .graph import Graph, Node
from .identities import vanish
from .rational import vanishes
from .sympy_view import expressions

_LARGEST = 300
"""Operations; larger expressions count as not shown to be zero."""
_LARGEST_TREE = 200
"""Operations without sharing up to which SymPy is asked; beyond, it may think for minutes."""


def is_zero(g: Graph, node: Node, symbols: Mapping[str, sp.Symbol]) -> bool:
    """Whether a node is shown to be identically zero. False may also mean that it could not be shown."""
    if node == g.zero:
        return True
    if g.op[node] in ("const", "named", "symbol") or g.count_operations([node]) > _LARGEST:
        return False
    own = g.copy() if is_branched(g, [node]) else g
    found = branches(own, [node])
    return found is not None and all(_is_shown(own, n, symbols) for n in {b.nodes[0]: None for b in found})


def are_zero(g: Graph, nodes: Sequence[Node], symbols: Mapping[str, sp.Symbol]) -> bool:
    """Whether every node is shown to be identically zero."""
    return all(is_zero(g, n, symbols) for n in nodes)


def _is_shown(g: Graph, node: Node, symbols: Mapping[str, sp.Symbol]) -> bool:
    """Whether a node free of switches is shown to be zero."""
    # Numbers first: quick, where SymPy would think for long about what is not zero.
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

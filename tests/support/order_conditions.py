"""Order conditions of Runge-Kutta and Rosenbrock methods: rooted trees.

A tree is the sorted tuple of the subtrees at its root; a single vertex is ().
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator

Tree = tuple["Tree", ...]


@functools.cache
def trees(order: int) -> tuple[Tree, ...]:
    """All rooted trees with `order` vertices."""
    return ((),) if order == 1 else tuple(sorted(set(forests(order - 1, order - 1))))


def forests(vertices: int, largest: int) -> Iterator[Tree]:
    """All multisets of trees with `vertices` vertices, none with more than `largest`."""
    if vertices == 0:
        yield ()
        return
    for size in range(min(vertices, largest), 0, -1):
        for first, rest in itertools.product(trees(size), forests(vertices - size, size)):
            yield tuple(sorted((first, *rest)))


@functools.cache
def vertices(tree: Tree) -> int:
    return 1 + sum(map(vertices, tree))


@functools.cache
def density(tree: Tree) -> int:
    return vertices(tree) * math.prod(map(density, tree))


def symmetry(tree: Tree) -> int:
    return math.prod(
        symmetry(child) ** count * math.factorial(count) for child, count in Counter(tree).items()
    )

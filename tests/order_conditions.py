"""Order conditions of Runge-Kutta and Rosenbrock methods: the coefficients in the headers, and rooted trees.

A tree is the sorted tuple of the subtrees at its root; a single vertex is ().
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

RUNTIME = Path(__file__).resolve().parent.parent / "runtime" / "c"

Tree = tuple["Tree", ...]


def header(method: str) -> str:
    """The text of cg_<method>_tableau.h."""
    return (RUNTIME / f"cg_{method}_tableau.h").read_text(encoding="utf-8")


def numbers(method: str, name: str) -> list[list[float]]:
    """The rows of an array in the header, as written; one row for a vector or a number."""
    found = re.search(rf"cg_{method}_{name}(?:\[[^\]]+\])* = ([^;]*);", header(method))
    assert found is not None, (method, name)
    rows = re.findall(r"[^{}]*\d[^{}]*", found[1])
    return [[float(entry) for entry in row.split(",") if entry.strip()] for row in rows]


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

"""3-vectors and 3x3 matrices of graph nodes."""

from __future__ import annotations

from collections.abc import Sequence

from .graph import Graph, Node

Vector = tuple[Node, ...]
Matrix = tuple[Vector, ...]
"""By rows."""


def zero(g: Graph) -> Vector:
    return (g.zero,) * 3


def plus(g: Graph, a: Vector, b: Vector) -> Vector:
    return tuple(map(g.add, a, b))


def minus(g: Graph, a: Vector, b: Vector) -> Vector:
    return tuple(map(g.sub, a, b))


def cross(g: Graph, a: Vector, b: Vector) -> Vector:
    return tuple(g.sub(g.mul(a[i], b[j]), g.mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1)))


def transpose(m: Matrix) -> Matrix:
    return tuple(zip(*m, strict=True))


def times(g: Graph, m: Matrix, v: Vector) -> Vector:
    """m v."""
    return tuple(g.dot(row, v) for row in m)


def product(g: Graph, a: Matrix, b: Matrix) -> Matrix:
    columns = transpose(b)
    return tuple(tuple(g.dot(row, column) for column in columns) for row in a)


def by_rows(entries: Sequence[Node]) -> Matrix:
    return tuple(tuple(entries[3 * i : 3 * i + 3]) for i in range(3))


def axial(m: Matrix) -> Vector:
    """The vector w of a skew-symmetric matrix m = hat(w): m r = w x r."""
    return m[2][1], m[0][2], m[1][0]


def is_zero(g: Graph, v: Vector) -> bool:
    return all(n == g.zero for n in v)

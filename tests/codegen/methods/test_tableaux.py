"""The embedded pairs of `codegen/methods/pairs`: the order conditions of all rooted trees, in exact arithmetic.

A double is an integer over a power of two, so the elementary weights of rounded coefficients are computed without
further rounding; residuals are due to the rounding of the coefficients, each by half a unit in its last place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from order_conditions import Tree, density, symmetry, trees, vertices

from chaplygin.codegen.methods import PAIRS

SHIFT = 80  # every coefficient is an integer over 2^SHIFT: 53 bits, and none is below 2^-27
TREES_OF_ORDER = [0, 1, 1, 2, 4, 9, 20, 48, 115, 286, 719]  # the number of rooted trees
THETAS = (Fraction(1, 8), Fraction(1, 2), Fraction(13, 16))

Row = list[Fraction]


def exact(rows: Sequence[Sequence[float]]) -> list[Row]:
    """Rows of numbers without rounding."""
    return [[Fraction(value) for value in row] for row in rows]


@functools.cache
def table(method: str) -> list[Row]:
    """The rows of all stages."""
    return exact(PAIRS[method].rows)


@functools.cache
def matrix(method: str) -> np.ndarray:
    """The stages' coefficients as integers over 2^SHIFT."""
    scaled = [[value * 2**SHIFT for value in row] for row in table(method)]
    assert all(value.denominator == 1 for row in scaled for value in row)
    return np.array([[int(value) for value in row] for row in scaled], dtype=object)


@functools.cache
def weights(method: str, tree: Tree) -> np.ndarray:
    """Elementary weights of the stages, times 2^(SHIFT * edges): Phi = prod over the children of A Phi(child)."""
    stages = matrix(method)
    phi = np.array([1] * len(stages), dtype=object)
    for child in tree:
        phi = phi * (stages @ weights(method, child))
    return phi


def violation(method: str, row: Row, tree: Tree, theta: Fraction | None) -> Fraction:
    """row . Phi(tree) minus its required value, theta^vertices / density or 0."""
    whole = np.array([int(value * 2**SHIFT * 2**SHIFT) for value in row], dtype=object)
    order = vertices(tree)
    left = Fraction(int(whole @ weights(method, tree)), 2 ** (SHIFT * (order + 1)))
    return left if theta is None else left - theta**order / density(tree)


def defect(method: str, row: Row, order: int, theta: Fraction | None) -> float:
    return float(max(abs(violation(method, row, tree, theta)) for tree in trees(order)))


def rounding(row: Row) -> float:
    """Bound on the effect of rounded coefficients on an order condition: a few units of their sizes."""
    return min(1.2e-14, 40 * 2**-53 * float(sum(abs(value) for value in row)))


def nested(rows: list[Row], theta: Fraction) -> Row:
    """theta times the sum of the rows in the basis of cg_dense_evaluate."""
    total = [Fraction(0)] * len(rows[0])
    for index in reversed(range(len(rows))):
        outer = theta if index % 2 else 1 - theta
        total = [value + outer * sum_ for value, sum_ in zip(rows[index], total, strict=True)]
    return [theta * value for value in total]


def last(method: str) -> int:
    """The stage at the end of the step, whose row contains the weights."""
    return len(PAIRS[method].c)


def interpolant(method: str) -> list[Row]:
    """All rows of the interpolant except the initial state, as weights of the stages."""
    change = table(method)[last(method)]
    start, end = ([Fraction(int(i == j)) for i in range(len(change))] for j in (0, last(method)))
    bend = [a - b for a, b in zip(start, change, strict=True)]
    turn = [a - b - c for a, b, c in zip(change, end, bend, strict=True)]
    return [change, bend, turn, *exact([PAIRS[method].padded(row) for row in PAIRS[method].dense])]


def leading_error(method: str, row: Row, order: int, theta: Fraction | None) -> float:
    """Root of the sum of squares of the error coefficients of an order, each divided by its tree's symmetry."""
    terms = (float(violation(method, row, tree, theta)) / symmetry(tree) for tree in trees(order))
    return math.sqrt(sum(term * term for term in terms))


def test_trees_are_all_there() -> None:
    assert [len(trees(order)) for order in range(1, 11)] == TREES_OF_ORDER[1:]
    # every tree has vertices! / (density symmetry) monotone labellings, together (order - 1)!
    for order in range(1, 10):
        labellings = sum(Fraction(math.factorial(order), density(t) * symmetry(t)) for t in trees(order))
        assert labellings == math.factorial(order - 1)


@pytest.mark.parametrize("method", PAIRS)
def test_row_sums(method: str) -> None:
    for index, (row, node) in enumerate(zip(table(method), PAIRS[method].nodes, strict=True)):
        size = float(sum(abs(value) for value in row))
        assert abs(float(sum(row) - Fraction(node))) <= 2**-53 * (size + 1.0)
        assert not any(row[index:])


@pytest.mark.parametrize("method", PAIRS)
def test_order_conditions_of_the_step(method: str) -> None:
    order, row = PAIRS[method].order, table(method)[last(method)]
    for below in range(1, order + 1):
        assert defect(method, row, below, Fraction(1)) <= rounding(row)
    assert defect(method, row, order + 1, Fraction(1)) > 1e-6


@pytest.mark.parametrize(
    ("method", "order"), [(m, order) for m, pair in PAIRS.items() for order in pair.error]
)
def test_order_conditions_of_the_error_estimates(method: str, order: int) -> None:
    (row,) = exact([PAIRS[method].padded(PAIRS[method].error[order])])
    for below in range(1, order + 1):
        assert defect(method, row, below, None) <= rounding(row)
    assert defect(method, row, order + 1, None) > 1e-6


@pytest.mark.parametrize("method", PAIRS)
def test_order_conditions_of_the_interpolant(method: str) -> None:
    order, rows = PAIRS[method].dense_order, interpolant(method)
    for theta in THETAS:
        row = nested(rows, theta)
        sizes = [[abs(value) for value in r] for r in rows]
        for below in range(1, order + 1):
            assert defect(method, row, below, theta) <= rounding(nested(sizes, theta))
        assert defect(method, row, order + 1, theta) > 1e-8
    # state and slope at both ends follow from the rows, for any coefficients
    assert nested(rows, Fraction(1)) == rows[0]
    assert not any(nested(rows, Fraction(0)))


def test_published_figures() -> None:
    """Verner names his files after the norm of the leading error; Tsitouras prints the free coefficients."""
    for method, published in (("vern7", 1.675585e-5), ("vern9", 3.49e-7)):
        order, row = PAIRS[method].order, table(method)[last(method)]
        norm = leading_error(method, row, order + 1, Fraction(1))
        assert norm == pytest.approx(published, rel=1e-6 if method == "vern7" else 2e-3)
    tsit5 = PAIRS["tsit5"]
    assert tsit5.nodes == [0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0]
    assert tsit5.b[:2] == (0.09646076681806523, 0.01)
    assert tsit5.error[4][6] == 1 / 66
    assert tsit5.dense[0][1] == 0.1017
    free = [0.005, 49 / 450, 49 / 300, 0.4555, 0.884, 0.925]
    assert [PAIRS["vern7"].nodes[i] for i in (1, 2, 3, 4, 6, 7)] == free
    free = [0.03462, 0.561, 0.645, 0.48375, 0.06757, 0.25, 0.8206, 0.9012]
    assert [PAIRS["vern9"].nodes[i] for i in (1, 4, 7, 8, 9, 10, 12, 13)] == free

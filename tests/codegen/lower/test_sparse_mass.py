"""Sparse mass matrices, eliminated in an order that keeps their zeros."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp
from branched_pendulums import NUMBERS, binary, comb, star
from dense_chain import dense_chain

import chaplygin as cg
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.graph.linear import LDL, elimination_order
from chaplygin.codegen.lower.dynamics import Dynamics


def table(g: Graph, pattern: np.ndarray) -> list[list[int]]:
    """The lower triangle of a positive definite matrix with this pattern, in symbols where it is not zero."""
    n = len(pattern)
    return [[g.symbol(f"m{i}_{j}") if pattern[i, j] else g.zero for j in range(i + 1)] for i in range(n)]


def arrow(n: int) -> np.ndarray:
    """The first unknown is coupled with all others, which are coupled with nothing else."""
    pattern = np.eye(n, dtype=bool)
    pattern[0] = pattern[:, 0] = True
    return pattern


def test_leaves_are_eliminated_before_what_carries_them() -> None:
    for n in (5, 12, 40):
        g = Graph()
        order = elimination_order(g, table(g, arrow(n)))
        assert order is not None
        factors = LDL(g, table(g, arrow(n)), order)
        assert 0 in order[-2:]
        assert sum(map(len, factors.filled)) == n - 1  # no fill-in


def test_an_order_that_saves_nothing_is_not_taken() -> None:
    g = Graph()
    assert elimination_order(g, table(g, np.ones((6, 6), bool))) == list(range(6))
    tridiagonal = np.abs(np.subtract.outer(range(8), range(8))) <= 1
    assert elimination_order(g, table(g, tridiagonal)) == list(range(8))
    assert elimination_order(g, table(g, np.ones((13, 13), bool))) is None


@pytest.mark.parametrize("n", [11, 30])
def test_factors_of_random_sparse_matrices(n: int) -> None:
    rng = np.random.default_rng(n)
    sparse = np.where(rng.uniform(size=(n, n)) < 1.5 / n, rng.normal(size=(n, n)), 0.0)
    matrix, right = sparse @ sparse.T + np.eye(n), rng.normal(size=n)
    g = Graph()
    rows = table(g, matrix != 0)
    order = elimination_order(g, rows)
    assert order is not None
    assert order != list(range(n))
    unknown = LDL(g, rows, order).solve([g.symbol(f"b{i}") for i in range(n)])
    at = {f"m{i}_{j}": matrix[i, j] for i in range(n) for j in range(i + 1)} | {
        f"b{i}": right[i] for i in range(n)
    }
    np.testing.assert_allclose(evaluate(g, unknown, at), np.linalg.solve(matrix, right), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "operations"),
    [
        pytest.param(lambda: comb(19), 300, id="comb of 20"),
        pytest.param(lambda: star(4, 3), 1300, id="star of 13", marks=pytest.mark.slow),
        pytest.param(lambda: binary(4), 1600, id="tree of 15", marks=pytest.mark.slow),
    ],
)
def test_accelerations_are_those_of_the_full_matrix(make: Callable[[], cg.System], operations: int) -> None:
    system = make()
    dynamics = Dynamics(system.equations("lagrange").nodes)
    assert dynamics.mass.factors is not None  # in nodes, although there are more than 12 velocities
    assert not dynamics.solves
    g, eqs, k = dynamics.graph, dynamics.eqs, len(system.velocities)
    rng = np.random.default_rng(2)
    for _ in range(5):
        at = NUMBERS | {s.name: float(rng.normal()) for s in (*system.coordinates, *system.velocities)}
        mass = np.zeros((k, k))
        mass[np.tril_indices(k)] = evaluate(g, [n for row in eqs.mass for n in row], at)
        expected = np.linalg.solve(mass + np.tril(mass, -1).T, evaluate(g, eqs.force, at))
        found = np.array(evaluate(g, dynamics.accelerations, at))
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    assert system.equations("lagrange").operations["rhs"] <= operations


def test_a_chain_without_branches_is_still_factored_by_a_loop() -> None:
    assert Dynamics(dense_chain(20).system.equations("lagrange").nodes).solves


def test_many_separate_constraints_need_no_loop() -> None:
    """14 pendulums in Cartesian coordinates: 28 velocities, 14 multipliers; each rod's tension has a closed form."""
    x, y = cg.coordinates([f"x{i}" for i in range(14)]), cg.coordinates([f"y{i}" for i in range(14)])
    m, g = cg.parameters("m g", positive=True)
    system = cg.System(
        "separate",
        coordinates=[*x, *y],
        kinetic=m * sum(cg.rate(q) ** 2 for q in (*x, *y)) / 2,
        potential=m * g * sum(y),
        holonomic=[a**2 + b**2 - 1 for a, b in zip(x, y, strict=True)],
        example=dict.fromkeys(x, sp.Rational(3, 5)) | dict.fromkeys(y, sp.Rational(-4, 5)),
    )
    dynamics = Dynamics(system.equations("multipliers").nodes)
    assert not dynamics.solves
    rng = np.random.default_rng(5)
    angle, rate = rng.normal(size=14), rng.normal(size=14)
    at = {"m": 2.0, "g": 9.81}
    at |= {f"x{i}": np.sin(a) for i, a in enumerate(angle)} | {
        f"y{i}": -np.cos(a) for i, a in enumerate(angle)
    }
    at |= {f"x{i}_dot": np.cos(a) * w for i, (a, w) in enumerate(zip(angle, rate, strict=True))}
    at |= {f"y{i}_dot": np.sin(a) * w for i, (a, w) in enumerate(zip(angle, rate, strict=True))}
    pull = rate**2 + 9.81 * np.cos(angle)  # the rod's tension over m
    expected = [*(-pull * np.sin(angle)), *(pull * np.cos(angle) - 9.81)]
    np.testing.assert_allclose(evaluate(dynamics.graph, dynamics.accelerations, at), expected, atol=1e-13)

"""Zeros proved by polynomial arithmetic: identities of quaternions and angles, and near misses."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

from chaplygin.codegen.graph.from_sympy import Lowering
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.identities import rational
from chaplygin.codegen.identities.rational import vanishes
from chaplygin.codegen.mechanics.quaternions import quaternion_rates, rotation

Q = sp.symbols("q0:4", real=True)
W = sp.symbols("w1:4", real=True)
A, B, X = sp.symbols("a b x", real=True)
R = sp.Matrix(rotation(Q))
SPIN = R.T * sum((R.diff(q) * e for q, e in zip(Q, quaternion_rates(Q, W), strict=True)), sp.zeros(3))
SIZE = sum(q**2 for q in Q) ** 2


def shown(e: Any) -> bool:
    g = Graph()
    symbols = {s: g.symbol(s.name) for s in (*Q, *W, A, B, X)}
    return vanishes(g, Lowering(g, symbols).lower([e])[0])


@pytest.mark.parametrize(
    "e",
    [
        SPIN[2, 1] / SIZE - W[0],
        SPIN[0, 2] / R[:, 1].dot(R[:, 1]) - W[1],
        (sp.sin(A) * sp.cos(B)) ** 2 + sp.cos(A) ** 2 * sp.cos(B) ** 2 + sp.sin(B) ** 2 - 1,
        1 / (X - 1) - 1 / (X + 1) - 2 / (X**2 - 1),
        sp.log(A) * (1 + sp.log(A)) - sp.log(A) - sp.log(A) ** 2,
        X**-3 * X**5 - X**2,
    ],
)
def test_identities_are_proved(e: Any) -> None:
    assert shown(e)


@pytest.mark.parametrize(
    "e",
    [
        SPIN[2, 1] / SIZE - W[1],
        SPIN[2, 1] - W[0],
        sp.sin(A) ** 2 - sp.cos(A) ** 2,
        sp.Rational(1, 10**12) * X,
        sp.Max(0, X - 5),
        (X + A + B + sp.sin(A) + sp.exp(B) + 1) ** 12,
    ],
)
def test_what_is_not_zero_is_not_proved(e: Any) -> None:
    assert not shown(e)


def test_a_near_miss_needs_no_polynomials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix of a turn about a rounded unit vector is not quite orthogonal."""
    made = []
    fractions = rational.Fractions

    def counted(*given: Any) -> Any:
        made.append(given)
        return fractions(*given)

    monkeypatch.setattr(rational, "Fractions", counted)
    x, y = sp.Rational(0.6), sp.Rational(0.8)  # the binary fractions
    first = sp.Matrix([x * sp.cos(A) - y * sp.sin(A), y * sp.cos(A) + x * sp.sin(A)])
    assert not shown(first.dot(first) - 1)
    assert not made
    assert shown(first.dot(first) - (x**2 + y**2))
    assert len(made) == 1

"""How the cost grows with the number of links: time and operation count of one right-hand side."""

from __future__ import annotations

from typing import Any

import pytest
from cases import chain
from sizes import scaled

SIZES = scaled([1, 2, 5, 10, 20, 50], [2])


@pytest.mark.parametrize("n", SIZES)
def test_right_hand_side(n: int, timed: Any) -> None:
    case = chain(n)
    rhs, y, p = case.model.rhs, case.initial, case.parameters
    program, counts = case.equations.program, case.equations.operations
    timed(
        "right-hand side of a chain of n links, compiled",
        f"n = {n}",
        lambda: rhs(0.0, y, p),
        rounds=20,
        iterations=max(20, 2000 // n),
        baseline=n == 1,
        operations=program.operations("rhs"),
        bias_per_link=round(counts["forcing"] / n, 1),
    )


@pytest.mark.parametrize("n", scaled([5, 10], [2]))
def test_right_hand_side_in_python(n: int, timed: Any) -> None:
    case = chain(n)
    field, y = case.python_field(), case.initial.tolist()
    timed(
        "right-hand side of a chain of n links, compiled",
        f"n = {n}, lambdify and numpy.linalg.solve",
        lambda: field(0.0, y),
        rounds=10,
        iterations=100,
    )

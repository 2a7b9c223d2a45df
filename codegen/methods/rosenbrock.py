"""A Rosenbrock method as its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .pair import Control

__all__ = ["Rosenbrock"]

Row = Sequence[float]


@dataclass(frozen=True)
class Rosenbrock:
    """A stiffly accurate Rosenbrock method for dx/dt = f(t, x), with the Jacobian J, and its interpolant.

    In the variables that avoid products with J (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd
    ed., Springer 1996, section IV.7, equation (7.25)) stage s of a step from t to t + h is the solution k_s of

        (I - gamma h J) k_s = gamma h (f(t + c[s] h, x + sum_j a[s][j] k_j) + h d[s] df/dt)
                              + gamma sum_j coupling[s][j] k_j.

    The last two stages have the last row of `a` with one and two ones appended, and the step ends at the point of the
    last stage plus that stage, which is also the difference from the embedded method.

    With r_m = sum_j dense[m][j] k_j the interpolant is
    (1 - theta) x(t) + theta (x(t + h) + (1 - theta) (r_0 + theta (r_1 + theta r_2))).
    """

    name: str
    source: str
    order: int
    gamma: float
    c: Row
    d: Row
    a: Sequence[Row]
    coupling: Sequence[Row]
    dense: Sequence[Row]
    control: Control

    @property
    def rows(self) -> list[list[float]]:
        """The rows of `a` for all stages, padded with zeros to a square matrix."""
        last = self.a[-1]
        return [self.padded(row) for row in (*self.a, (*last, 1.0), (*last, 1.0, 1.0))]

    def padded(self, row: Row) -> list[float]:
        """The numbers of all stages from a row without its last zeros."""
        return [*map(float, row), *[0.0] * (len(self.c) - len(row))]

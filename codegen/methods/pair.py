"""An embedded Runge-Kutta pair as its numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Control", "Pair"]

Row = Sequence[Any]
"""Numbers: int, float or Fraction. Zeros at the end can be left out."""


class Control(NamedTuple):
    """Step-size control: h_new = h * safety * err^-alpha * err_old^beta, between `shrink` h and `grow` h."""

    alpha: float
    beta: float
    safety: float = 0.9
    shrink: float = 0.2
    grow: float = 10.0


@dataclass(frozen=True)
class Pair:
    """An explicit Runge-Kutta method for dx/dt = f(t, x) with embedded error estimates and an interpolant.

    Stage s of a step from t to t + h is k_s = f(t + c[s] h, x + h sum_j a[s][j] k_j), and the state at its end is
    x + h sum_j b[j] k_j. One more stage, numbered len(b), is the derivative at that end.

    `error` has the weights e of an error estimate h sum_j e[j] k_j by its order; an estimate can use the derivative at
    the end. With two of them, the error is the combination of DOP853.

    `extra` has the node and the row of each further stage of the interpolant, numbered from len(b) + 1. The interpolant
    is x + theta (u + (1 - theta) (v + theta (w + (1 - theta) (z_0 + theta (z_1 + ...))))), of order `dense_order`: u, v
    and w are those of the cubic through both ends and their derivatives, and z_m = h sum_j dense[m][j] k_j.

    Without `control`, h_new is proportional to err^(-0.7 / order) err_old^(0.4 / order).

    `source` is quoted in the emitted code, `summary` in help texts. `inlined` is what a model's own code contains, to
    save compile time: "whole", the "step" without the interpolant, or "none".

    Raises ValueError, naming the entry, for a wrong shape or number, or sums that violate consistency.

    >>> Pair("heun", "order 2(1)", "K. Heun, 1900", 2, c=(0, 1), a=((), (1,)), b=(0.5, 0.5), error={1: (-0.5, 0.5)})
    Pair('heun', order 2(1))
    """

    name: str
    summary: str
    source: str
    order: int
    c: Row
    a: Sequence[Row]
    b: Row
    error: Mapping[int, Row]
    extra: Sequence[tuple[Any, Row]] = ()
    dense: Sequence[Row] = ()
    dense_order: int = 3
    control: Control | None = None
    inlined: str = "whole"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise ValueError(f"name = {self.name!r}: small letters, digits and underscores are needed")
        stages = len(self.c)
        if len(self.a) != stages or stages < 1:
            raise ValueError(f"{self.name}: c has {stages} nodes and a has {len(self.a)} rows")
        rows = {f"a[{s}]": row for s, row in enumerate(self.a)}
        rows |= {"b": self.b}
        rows |= {f"extra[{m}]": row for m, (_, row) in enumerate(self.extra)}
        for s, (label, row) in enumerate(rows.items()):
            node = self.nodes[s]
            self._check(label, row, s, node, f"its node {node:g}")
        for order, row in self.error.items():
            self._check(f"error[{order}]", row, stages + 1, 0.0, "0")
        for m, row in enumerate(self.dense):
            self._check(f"dense[{m}]", row, len(rows), 0.0, "0")
            if not any(row):
                raise ValueError(f"{self.name}: dense[{m}] is zero: leave it out")
        if not 1 <= len(self.error) <= 2:
            raise ValueError(f"{self.name}: error has {len(self.error)} estimates; 1 or 2 are needed")
        for text in (self.summary, self.source):  # quoted in C comments
            if "*/" in text or not text.isprintable():
                raise ValueError(f"{self.name}: {text!r} contains */ or a character that cannot be printed")

    def _check(self, label: str, row: Row, most: int, total: float, meaning: str) -> None:
        """Reject a row with too many entries, with one that is not a number, or with the wrong sum."""
        if len(row) > most:
            raise ValueError(
                f"{self.name}: {label} has {len(row)} entries, and only {most} stages precede it"
            )
        numbers = [float(entry) for entry in row]
        size = 1.0 + sum(map(abs, numbers))
        if not abs(math.fsum(numbers) - total) <= 1e-14 * size:  # also for NaN
            raise ValueError(f"{self.name}: the sum of {label} is {math.fsum(numbers):.17g}, not {meaning}")

    @property
    def step_control(self) -> Control:
        """`control`, or the default."""
        return self.control or Control(0.7 / self.order, 0.4 / self.order)

    @property
    def nodes(self) -> list[float]:
        """The nodes of all stages: of the step, of its end, and of the interpolant."""
        return [*map(float, self.c), 1.0, *(float(node) for node, _ in self.extra)]

    @property
    def rows(self) -> list[list[float]]:
        """The rows of all stages, in the order of `nodes`, padded with zeros to a square matrix."""
        found = [*self.a, self.b, *(row for _, row in self.extra)]
        return [self.padded(row) for row in found]

    def padded(self, row: Row) -> list[float]:
        """The weights of all stages from a row without its last zeros."""
        width = len(self.c) + 1 + len(self.extra)
        return [*map(float, row), *[0.0] * (width - len(row))]

    def __repr__(self) -> str:
        return f"Pair({self.name!r}, {self.summary})"

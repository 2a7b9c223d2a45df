"""An embedded Runge-Kutta pair as its numbers."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Row = Sequence[Any]


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
    x + h sum_j b[j] k_j. One more stage, numbered len(c), is the derivative at that end. Numbers can be integers,
    floats or fractions; zeros at the end of a row can be left out.

    `error` has the weights e of an error estimate h sum_j e[j] k_j by its order; an estimate can use the derivative at
    the end. With two of them, the error is the combination of DOP853. Without `control`, step lengths are proportional
    to err^(-0.7 / order) err_old^(0.4 / order).

    The interpolant is x + theta (u + (1 - theta) (v + theta (w + (1 - theta) (z_0 + theta (z_1 + ...))))), of order
    `dense_order`: u, v and w are those of the cubic through both ends and their derivatives, and
    z_m = h sum_j dense[m][j] k_j. `extra` has the node and the row of each stage that only the interpolant needs,
    numbered from len(c) + 1.

    `border` is the stability limit on the negative real axis, of the explicit method of "auto", which compares the last
    stage with the end of a step to detect stiffness.

    `summary` is shown in lists of methods, `source` is quoted in emitted code. `inlined` says whether one of the
    runtime's methods is part of a model's own code, which takes compile time: those that runs take by default are.

    Raises ValueError, naming the entry, for numbers, shapes and sums that cannot be right.

    >>> heun = Pair("heun", "order 2(1)", "K. Heun, Zeitschrift fuer Mathematik und Physik 45 (1900) 23-38", 2,
    ...             c=(0, 1), a=((), (1,)), b=(0.5, 0.5), error={1: (-0.5, 0.5)}, dense_order=2)
    >>> heun.rows
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
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
    inlined: bool = True
    border: float | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise ValueError(
                f"name = {self.name!r}; it must consist of small letters, digits and underscores"
            )
        for text in (self.summary, self.source):  # quoted in C comments
            if "*/" in text or not text.isprintable():
                raise self._wrong(f"{reprlib.repr(text)} contains */ or a character that cannot be printed")
        plain = {
            "c": self._row("c", self.c),
            "a": tuple(self._row(f"a[{s}]", row) for s, row in enumerate(self.a)),
            "b": self._row("b", self.b),
            "error": {order: self._row(f"error[{order}]", row) for order, row in self.error.items()},
            "extra": tuple(
                (*self._row(f"extra[{m}]", [node]), self._row(f"extra[{m}]", row))
                for m, (node, row) in enumerate(self.extra)
            ),
            "dense": tuple(self._row(f"dense[{m}]", row) for m, row in enumerate(self.dense)),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        self._check()

    def _row(self, label: str, row: Row) -> tuple[float, ...]:
        try:
            found = tuple(map(float, row))
        except (TypeError, ValueError) as error:
            raise self._wrong(f"{label} = {reprlib.repr(row)} is not a sequence of numbers") from error
        if not all(map(math.isfinite, found)):
            raise self._wrong(f"{label} = {reprlib.repr(row)} contains a number that is not finite")
        return found

    def _check(self) -> None:
        """Check shapes, and the sums that every consistent method has."""
        stages = len(self.c)
        if stages < 1 or len(self.a) != stages or len(self.b) > stages:
            raise self._wrong(f"c has {stages} nodes, a {len(self.a)} rows and b {len(self.b)} weights")
        if not 1 <= len(self.error) <= 2:
            raise self._wrong(f"error has {len(self.error)} estimates; 1 or 2 are needed")
        rows = {f"a[{s}]": (row, s, self.c[s]) for s, row in enumerate(self.a)}
        rows["b"] = self.b, stages, 1.0
        rows |= {f"extra[{m}]": (row, stages + 1 + m, node) for m, (node, row) in enumerate(self.extra)}
        rows |= {f"error[{order}]": (row, stages + 1, 0.0) for order, row in self.error.items()}
        every = stages + 1 + len(self.extra)
        rows |= {f"dense[{m}]": (row, every, 0.0) for m, row in enumerate(self.dense)}
        for label, (row, most, total) in rows.items():
            if len(row) > most:
                raise self._wrong(f"{label} has {len(row)} entries for the {most} stages before it")
            if abs(math.fsum(row) - total) > 1e-14 * (1.0 + sum(map(abs, row))):
                raise self._wrong(
                    f"the sum of {label} is {math.fsum(row)!r} instead of {reprlib.repr(total)}"
                )
            if not any(row) and label.startswith(("error", "dense")):
                raise self._wrong(f"{label} is zero")

    def _wrong(self, text: str) -> ValueError:
        return ValueError(f"{self.name}: {text}")

    @property
    def step_control(self) -> Control:
        """`control`, or the default."""
        return self.control or Control(0.7 / self.order, 0.4 / self.order)

    @property
    def nodes(self) -> list[float]:
        """The nodes of all stages: of the step, of its end, and of the interpolant."""
        return [*self.c, 1.0, *(node for node, _ in self.extra)]

    @property
    def rows(self) -> list[list[float]]:
        """The rows of all stages, in the order of `nodes`, padded with zeros to a square matrix."""
        return [self.padded(row) for row in (*self.a, self.b, *(row for _, row in self.extra))]

    def padded(self, row: Row) -> list[float]:
        """The weights of all stages from a row without its last zeros."""
        return [*row, *[0.0] * (len(self.c) + 1 + len(self.extra) - len(row))]

"""How an estimate went as trajectories were added: it is remembered after certain numbers of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import Array
from .sketches import BLOCK, Moments

HALF = 1.959963984540054
"""Half the width of a 95 % interval in standard errors: the normal quantile of 0.975."""


@dataclass(frozen=True, eq=False)
class Trail:
    """An estimate `value` with its 95 % interval from `low` to `high`, after `n` trajectories that count, all (M,)."""

    n: NDArray[np.int64]
    value: Array
    low: Array
    high: Array


@dataclass(eq=False)
class Running:
    """A sum of parts, and what it was, at the last of the times, after each number of trajectories that is `marked`."""

    total: Any
    trail: list[Any]


def marked(m: int) -> bool:
    """Whether estimates are remembered after m trajectories: the same whatever the chunks, at most four in an octave.

    m is a number of three bits times a power of two, and from a block on a multiple of it.
    """
    return m > 3 and m % (1 << (m.bit_length() - 3)) == 0 and (m < BLOCK or m % BLOCK == 0)


def marks(last: int) -> NDArray[np.int64]:
    """The numbers m <= last that are `marked`, ascending."""
    found = (j << k for k in range(int(last).bit_length()) for j in range(4, 8))
    return np.array([m for m in found if m <= last and marked(m)], dtype=np.int64)


def early(count: int) -> NDArray[np.int64]:
    """The marks within the first block of a study whose first chunk has `count` trajectories."""
    return marks(min(count, BLOCK - 1))


def mean_trail(values: Array) -> Trail:
    """The trail of the mean of values (n,), of which those that are finite count."""
    total: Moments | None = None
    rows = []
    first = 0
    for m in [*marks(len(values) - 1), len(values)]:
        part = values[None, None, first:m]
        one = Moments.of(part, np.isfinite(part[0]))
        total = one if total is None else total.add(one)
        rows.append(total)
        first = int(m)
    return trail_of_moments(rows)[0]


def trail_of_moments(rows: list[Moments]) -> list[Trail]:
    """The trails of the means of k quantities, of moments with one time or with the marks in place of times."""
    n = np.concatenate([row.count for row in rows])
    means = np.concatenate([row.mean for row in rows]).T
    squares = np.concatenate([np.einsum("tii->ti", row.products) for row in rows]).T
    keep = np.flatnonzero((n > 1) & (np.diff(n, append=-1) != 0))
    n = n[keep]
    found = []
    for mean, square in zip(means[:, keep], squares[:, keep]):
        error = np.sqrt(square / (n - 1.0) / n)
        found.append(Trail(n, mean, mean - HALF * error, mean + HALF * error))
    return found

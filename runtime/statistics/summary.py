"""How trajectories failed, as a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .part import ENDINGS

FIRST = 10
"""Indices of failures of each kind that are listed."""
HEAD = ("entry", "kind", "quantity", "at", "n", "figures")


def failures(failed: NDArray[np.int64], status: NDArray[np.int32]) -> list[str]:
    """A line for each kind of failure, with the first indices."""
    lines = []
    for code, name in kinds_of(status):
        which = failed[status == code]
        more = ", ..." if len(which) > FIRST else ""
        lines.append(f"{name}: trajectories {', '.join(map(str, which[:FIRST]))}{more}")
    return lines


def kinds_of(status: NDArray[np.int32]) -> list[tuple[int, str]]:
    """The statuses that occur, with their names."""
    return [(int(code), ENDINGS.get(int(code), str(code))) for code in np.unique(status)]

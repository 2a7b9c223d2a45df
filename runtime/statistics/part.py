"""`Tallies`: what one chunk of a study leaves, and how its trajectories can end, as a table too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..interface.statuses import STATUS_NAMES

CRASHED = -100
"""Status of a trajectory that ended its process, or that was lost with one; the C library does not know it."""
UNDEFINED = -101
"""Status of a trajectory that ran, but has a collected quantity that is NaN or infinite at a time that it reached."""

ENDINGS = {**STATUS_NAMES, CRASHED: "crashed", UNDEFINED: "quantity not finite"}
"""Short names of how a trajectory of a study can end."""
FIRST = 10
"""Indices of failures of each kind that are listed."""
HEAD = ("entry", "kind", "quantity", "at", "n", "figures")


@dataclass(eq=False)
class Tallies:
    """What one chunk leaves: the part of each entry of `collect`, and its failures."""

    first: int
    count: int
    parts: dict[str, Any]
    failed: NDArray[np.int64]
    status: NDArray[np.int32]
    redrawn: int
    warnings: tuple[str, ...]

    @property
    def done(self) -> int:
        """How many of its trajectories have ended."""
        return self.count


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

"""`Tallies`: what one chunk of a study leaves, and how its trajectories can end."""

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

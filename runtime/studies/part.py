"""`Part`: what one chunk of a study leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False)
class Part:
    """What one chunk leaves: the part of each entry of `collect`, and its failures."""

    first: int
    count: int
    parts: dict[str, Any]
    failed: NDArray[np.int64]
    status: NDArray[np.int32]
    redrawn: int
    warnings: tuple[str, ...]

"""Other integrators, each with the same equations in the same variables.

Each module has ``single(case, ...)``, which returns a function ``(y0, t_end) -> state``. If the package can integrate
many trajectories at once, the module also has ``many(case, y, t_end, ...)``, which returns a function without arguments
that returns their states at ``t_end``, of shape (n, N) like ``y``. Calling these imports the package; ``available``
records which packages are missing, and why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = Callable[[Array, float], Array]
Many = Callable[[], Array]

MISSING: dict[str, str] = {}
"""Peers left out, with the reason: printed once, and listed under the table."""


def available(name: str, make: Callable[[], Any]) -> Any:
    """The result of ``make``, or None if the peer is not installed or cannot handle the system."""
    try:
        return make()
    except Exception as error:  # a failing peer loses its own rows only
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        if name not in MISSING:
            print(f"left out: {name} ({reason})", file=sys.stderr)
        MISSING[name] = reason
        return None


def one_by_one(single: Single, y: Array, t_end: float) -> Many:
    """Many trajectories, for a package that cannot integrate them together."""

    def run() -> Array:
        return np.stack([single(column, t_end) for column in y.T], axis=1)

    return run

"""Other integrators, each with the same equations in the same variables.

A module of this package has ``single(case, ...)``, which gives a function ``(y0, t_end) -> state``, and where the
package integrates many trajectories at once ``many(case, y, t_end, ...)``, which gives a function of nothing that
returns their states at ``t_end``, of shape (n, N) as ``y``. Making them imports the package; ``available`` says
which are missing, and why.
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
"""Peers left out, with the reason: printed once, and put under the table."""


def available(name: str, make: Callable[[], Any]) -> Any:
    """What ``make`` gives, or None where a peer is not installed or does not take the system."""
    try:
        return make()
    except Exception as error:  # any failure of a peer leaves out its rows, not the others
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        if name not in MISSING:
            print(f"left out: {name} ({reason})", file=sys.stderr)
        MISSING[name] = reason
        return None


def one_by_one(single: Single, y: Array, t_end: float) -> Many:
    """Many trajectories of a package that has no call for them."""

    def run() -> Array:
        return np.stack([single(column, t_end) for column in y.T], axis=1)

    return run

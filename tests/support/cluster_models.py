"""A driven oscillator, and input functions that kill their process, as a fault in C code would."""

from __future__ import annotations

import functools
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

import chaplygin as cg
from chaplygin.runtime import Model
from chaplygin.runtime.statistics.sketches import BLOCK

N = BLOCK + 100
"""Two chunks."""
T = 0.1


@functools.cache
def driven() -> Model:
    q, f = cg.coordinates("q"), cg.inputs("f")
    v = cg.rate(q)
    return cg.System("driven", coordinates=[q], kinetic=v**2 / 2, potential=q**2 / 2, forces={v: f}).compile()


class Push:
    """The input f = 1. A trajectory that starts at one of `fatal` kills its process, with `once` only the first time.

    Every process that runs a trajectory leaves a file with its number in `seen`.
    """

    def __init__(
        self, fatal: tuple[int, ...] = (), once: Path | None = None, seen: Path | None = None
    ) -> None:
        self.fatal, self.once, self.seen = fatal, once, seen

    def __call__(self, t: float, y: Any) -> float:
        if t == 0 and self.seen is not None:
            (self.seen / str(os.getpid())).touch()
        if t == 0 and y[0] in self.fatal and (self.once is None or not self.once.exists()):
            if self.once is not None:
                self.once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 1.0


def study(push: Any = 1.0, n: int = N, **options: Any) -> Any:
    """Trajectory i starts at q = i and is at 1 + (i - 1) cos t, as the force 1 moves its centre to q = 1."""
    collect = {"end": cg.final("q"), "m": cg.moments("q", "q_dot"), "median": cg.quantiles("q", 0.5)}
    start = {"q": np.arange(float(n)), "q_dot": 0.0}
    given = {"n": n, "initial": start, "inputs": {"f": push}, "collect": collect, **options}
    return cg.study(driven(), (0, T), rtol=1e-3, atol=1e-3, **given)


def bits(found: Any) -> list[bytes]:
    """Every number of a study."""
    r = found.results
    tables = [r["end"]["q"], r["m"].covariance, r["m"].maximum["q"], r["median"].values]
    return [np.ascontiguousarray(table).tobytes() for table in tables]

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
from chaplygin.runtime.studies.sketches import BLOCK

N = 2 * BLOCK + 100
FATAL = (17, BLOCK + 3, BLOCK + 4)


@functools.cache
def driven() -> Model:
    q, f = cg.coordinates("q"), cg.inputs("f")
    v = cg.rate(q)
    return cg.System("driven", coordinates=[q], kinetic=v**2 / 2, potential=q**2 / 2, forces={v: f}).compile()


class Push:
    """The input f = 1. A trajectory that starts at one of `fatal` kills its process, with `once` only the first time."""

    def __init__(self, fatal: tuple[int, ...] = (), once: Path | None = None) -> None:
        self.fatal, self.once = fatal, once

    def __call__(self, t: float, y: Any) -> float:
        if t == 0 and y[0] in self.fatal and (self.once is None or not self.once.exists()):
            if self.once is not None:
                self.once.touch()
            os.kill(os.getpid(), signal.SIGSEGV)
        return 1.0


def study(push: Any = 1.0, **options: Any) -> Any:
    """Trajectory i starts at q = i and ends there after a time of 2 pi, but for a part of the driven motion."""
    collect = {
        "end": cg.final("q"),
        "m": cg.moments("q", "q_dot"),
        "median": cg.quantiles("q", 0.5),
        "far": cg.probability(cg.symbols("q") > N // 2) if hasattr(cg, "symbols") else cg.histogram("q", [0, N]),
    }
    start = {"q": np.arange(float(N)), "q_dot": 0.0}
    given = {"n": N, "initial": start, "inputs": {"f": push}, "collect": collect, **options}
    return cg.ensemble(driven(), (0, 0.1), rtol=1e-3, atol=1e-3, **given)


def bits(found: Any) -> list[bytes]:
    r = found.results
    tables = [r["end"]["q"], r["m"].covariance, r["median"].values]
    return [np.ascontiguousarray(table).tobytes() for table in tables]

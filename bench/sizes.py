"""Problem sizes: full, or with ``--quick`` just large enough to check that everything runs."""

from __future__ import annotations

import os
from typing import TypeVar

from chaplygin.runtime.ensembles.executors import cores

QUICK = bool(os.environ.get("CHAPLYGIN_BENCH_QUICK"))
T = TypeVar("T")


def scaled(full: T, quick: T) -> T:
    """A size, or a choice of cases: ``quick`` with ``--quick`` and ``full`` otherwise."""
    return quick if QUICK else full


CORES = cores()
ROUNDS = 7
SAMPLE = scaled(200, 8)
"""Number of trajectories used to measure errors."""
WIDTHS = scaled((1, 2, 4, 8), (1, 8))
"""Numbers of lanes that are compared, as far as the CPU has them."""
LOAD = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
"""Load average before anything was measured: above a few tenths the times are unreliable."""

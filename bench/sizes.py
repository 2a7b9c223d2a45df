"""Problem sizes: full, or with ``--quick`` just large enough to check that everything runs."""

from __future__ import annotations

import os

from chaplygin.runtime.executors import cores

QUICK = bool(os.environ.get("CHAPLYGIN_BENCH_QUICK"))
CORES = cores()
ROUNDS = 3 if QUICK else 7
SAMPLE = 200
"""Number of trajectories used to measure errors."""


def scaled(full: int, quick: int) -> int:
    """A number of trajectories or repetitions, ``quick`` with ``--quick`` and ``full`` otherwise."""
    return quick if QUICK else full


LOAD = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
"""Load average before anything was measured: above a few tenths the times are unreliable."""

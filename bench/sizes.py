"""How much is run: all of it, or with ``--quick`` just enough to see that it runs."""

from __future__ import annotations

import os

QUICK = bool(os.environ.get("CHAPLYGIN_BENCH_QUICK"))
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
ROUNDS = 3 if QUICK else 7
SAMPLE = 200
"""Trajectories whose errors are looked at."""


def scaled(full: int, quick: int) -> int:
    """A number of trajectories or of repetitions."""
    return quick if QUICK else full


LOAD = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
"""What the machine had to do before anything was measured: above some tenths, times are not to be trusted."""

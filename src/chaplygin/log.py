"""What `logging.getLogger("chaplygin")` is told: each stage of making a model, with its time.

Stages are at the level INFO and their parts at DEBUG, so nothing is printed unless a program asks for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .waiting import doing, waiting

LOGGER = logging.getLogger("chaplygin")


@contextmanager
def stage(name: str, subject: str, level: int = logging.INFO) -> Iterator[None]:
    """Tell that a stage is done, and how long it took."""
    begin = time.perf_counter()
    with waiting(), doing(f"{name} {subject}"):
        yield
    LOGGER.log(level, "%s %s: %.3f s", name, subject, time.perf_counter() - begin)

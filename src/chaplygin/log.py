"""What `logging.getLogger("chaplygin")` is told: each stage of making a model, with its time.

Stages are at the level INFO and their parts at DEBUG, so nothing is printed unless a program asks for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOGGER = logging.getLogger("chaplygin")


@contextmanager
def stage(name: str, subject: str, level: int = logging.INFO) -> Iterator[None]:
    """Tell that a stage is done, and how long it took."""
    begin = time.perf_counter()
    yield
    LOGGER.log(level, "%s %s: %.3f s", name, subject, time.perf_counter() - begin)

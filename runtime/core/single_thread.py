"""The guard of objects that belong to one thread at a time, which only compiled models have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import Guard
else:
    try:
        from ._core import Guard
    except ImportError:  # only pure-Python models run
        Guard = None

__all__ = ["Guard"]

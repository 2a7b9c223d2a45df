"""The guard of objects that belong to one thread at a time: the compiled one, or without the core one in Python."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..interface.statuses import busy

if TYPE_CHECKING:
    from ._core import Guard
else:
    try:
        from ._core import Guard
    except ImportError:  # only pure-Python models run

        class Guard:
            """See `_core.Guard`."""

            def __init__(self, what: str) -> None:
                self.what, self._lock = what, threading.Lock()

            def __enter__(self) -> None:
                if not self._lock.acquire(blocking=False):
                    raise busy(self.what)

            def __exit__(self, *error: Any) -> None:
                self._lock.release()

            def __reduce__(self) -> Any:
                return Guard, (self.what,)


__all__ = ["Guard"]

"""The process that builds a complete cache entry while the process that requested it already runs a quick model.

`stages` starts it and communicates over pipes, one line of JSON at a time. It answers `{"found": path}` if another
process has built the entry meanwhile, or `{"mine": true}` once it holds the entry's lock. Then it reads the sources,
builds, and answers `{"made": path}` or `{"error": one line, "log": path}`. It ends when its input does. After
`{"later": true}` it gives up the lock until the sources come.

The lock and the unfinished files belong to this process alone, so the entry is built even if the parent process forks
or is killed, once the sources have come.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from chaplygin.runtime.errors import BuildError

from ..lower.sources import Sources
from . import cache
from .extension import make


def serve(key: str) -> None:
    """Build the entry of `key`, communicating over stdin and stdout."""
    with suppress(ValueError, OSError):
        signal.signal(signal.SIGTERM, _end)
    # Output of compilers and Cython must not mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        _build(key, answers)
    except Exception as error:
        log = getattr(error, "log", None)
        text = str(error) if isinstance(error, BuildError) else f"{type(error).__name__}: {error}"
        _say(answers, {"error": text, "log": None if log is None else str(log)})


def _build(key: str, answers: BinaryIO) -> None:
    with cache.locked(key):
        found = cache.lookup(key)
        if found is not None:
            _say(answers, {"found": str(found)})
            return
        _say(answers, {"mine": True})
        # The sources are still being derived: import Cython before they arrive.
        with suppress(ImportError):
            import_module("Cython.Compiler.Main")
        order = _order()
        made = _made(key, order) if "name" in order else None
    if made is None:
        order = _order()
        if not order:
            return
        with cache.locked(key):
            made = cache.lookup(key) or _made(key, order)
    _say(answers, {"made": str(made)})


def _order() -> dict[str, Any]:
    """The next line of the input; empty at its end."""
    order: dict[str, Any] = json.loads(sys.stdin.buffer.readline() or b"{}")
    return order


def _made(key: str, order: dict[str, Any]) -> Path:
    sources = Sources(order["name"], order["digest"], order["files"])
    return make(sources, key=key, inline=order["inline"])


def _say(answers: BinaryIO, answer: dict[str, Any]) -> None:
    with suppress(BrokenPipeError):  # no one is waiting for it any more; the entry is built anyway
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _end(number: int, frame: object) -> None:
    raise SystemExit(1)  # runs every `finally`, so that no unfinished files remain

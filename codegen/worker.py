"""The process that makes a whole cache entry while the process that asked for it runs a quick model already.

`stages` starts it and talks to it over pipes, one line of JSON at a time. It answers `{"found": path}` where another
process made the entry meanwhile, and `{"mine": true}` once it holds the entry's lock. Then it reads the sources,
builds, and answers `{"made": path}` or `{"error": one line, "log": path}`. It ends when its input does.

The lock and the unfinished files belong to this process alone: whoever started it may fork, or be killed, and the
entry is made all the same.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

from . import cache
from .build import make
from .compilers import BuildError
from .program import Sources

__all__ = ["serve"]


def serve(key: str) -> None:
    """Build the entry of `key`, talking over stdin and stdout."""
    with suppress(ValueError, OSError):
        signal.signal(signal.SIGTERM, _end)
    # What compilers and Cython may print must not get between the answers.
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
        # The sources are still being derived: Cython's import is out of the way when they come.
        with suppress(ImportError):
            import_module("Cython.Compiler.Main")
        line = sys.stdin.buffer.readline()
        if not line:
            return
        order: dict[str, Any] = json.loads(line)
        sources = Sources(order["name"], order["digest"], order["files"])
        made = make(sources, key=key, reproducible=order["reproducible"], inline=order["inline"])
    _say(answers, {"made": str(made)})


def _say(answers: BinaryIO, answer: dict[str, Any]) -> None:
    with suppress(BrokenPipeError):  # nobody waits for it any more: the entry is made nevertheless
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _end(number: int, frame: object) -> None:
    raise SystemExit(1)  # through every `finally`, so that no unfinished files stay

"""What is waited for: after a second of deriving, planning or compiling one line on stderr says what goes on."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .errors import MissingExtraError, optional

SECONDS = 1.0
"""How long nothing is shown."""
TICK = 0.25
"""Seconds after which it is shown again."""
SILENCE = "CHAPLYGIN_PROGRESS"
"""The environment variable that, being 0, silences the line."""

_doing: list[str] = []
"""The stages under way in the thread that waits, the innermost last."""
_one = threading.Lock()


@contextmanager
def waiting(wanted: bool | None = None) -> Iterator[None]:
    """Show the line while this block runs; if nobody said whether that is `wanted`, in a terminal or a notebook alone.

    What goes on inside belongs to the outermost block, whose line, or silence, it has.
    """
    shown = _asked() if wanted is None else wanted
    if (wanted is None and not shown) or not _one.acquire(blocking=False):
        yield
        return
    over = threading.Event()
    line = threading.Thread(target=_show, args=(over,), daemon=True)
    try:
        if shown:
            line.start()
        yield
    finally:
        over.set()
        if shown:
            line.join()
        _one.release()


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Name what goes on in this block, for the line."""
    _doing.append(what)
    try:
        yield
    finally:
        _doing.remove(what)


def _asked() -> bool:
    if os.environ.get(SILENCE) == "0":
        return False
    return "ipykernel" in sys.modules or on_terminal()


def on_terminal() -> bool:
    """Whether stderr is a terminal; it is None under pythonw."""
    return sys.stderr is not None and sys.stderr.isatty()


def _show(over: threading.Event) -> None:
    """The line, until the block is over; it is removed then."""
    if over.wait(SECONDS):
        return
    bar, width = None, 0
    with suppress(MissingExtraError):
        tqdm = optional("tqdm.auto", "a line that says what is waited for", "progress").tqdm
        bar = tqdm(bar_format="{desc} {elapsed}", file=sys.stderr, leave=False)
    while True:
        text = " ".join(["chaplygin:", *_doing[-1:]])
        width = max(width, len(text))
        if bar is not None:
            bar.set_description_str(text)
        else:
            print(f"\r{text:<{width}}", end="", file=sys.stderr, flush=True)
        if over.wait(TICK):
            break
    if bar is not None:
        bar.close()
    else:
        print(f"\r{'':<{width}}\r", end="", file=sys.stderr, flush=True)

"""The progress of an ensemble or of another long call, on stderr: a bar, or a line if tqdm is not installed."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any

from chaplygin.errors import MissingExtraError, optional
from chaplygin.waiting import on_terminal

SHORT = 0.05  # seconds in which nothing is shown without request, so that nobody asks for the terminal


class Progress:
    """A tqdm bar if it is installed, else a line on stderr; unless requested, only on a terminal.

    `failed`: trajectories that failed, and `found`: that were there before, so that the rate is without them; to be set
    before `show`.
    """

    def __init__(
        self, total: int, wanted: bool | None, unit: str = "run", many: str = "trajectories"
    ) -> None:
        self.unit, self.many = unit, many
        self.total, self.done, self.failed, self.found = total, 0, 0, 0
        self.begin = self.shown = time.monotonic()
        self.active: bool | None = None  # unknown: most ensembles have ended before it matters
        self.delay = 1.0 if wanted is None else 0.0
        self.bar: Any = None
        if wanted is not None:
            self._open(wanted)

    def _open(self, active: bool) -> None:
        """Decide whether anything is shown, and make the bar."""
        self.active = active
        if active:
            with suppress(MissingExtraError):
                tqdm = optional("tqdm", "a progress bar", "progress").tqdm
                self.bar = tqdm(
                    total=self.total, unit=self.unit, unit_scale=True, delay=self.delay, file=sys.stderr
                )
                if not self.bar.disable:  # as TQDM_DISABLE makes it, and then it has no times
                    self.bar.start_t -= time.monotonic() - self.begin
                    self.bar.last_print_t = self.bar.start_t  # so that the first rate is right

    def show(self, done: int) -> None:
        new, self.done = done - self.done, done
        if self.active is None:
            if time.monotonic() - self.begin < SHORT:
                return
            self._open(on_terminal())
        if not self.active:
            return
        if self.bar is not None:
            self.bar.initial = self.found
            if self.failed:
                self.bar.set_postfix(failed=self.failed, refresh=False)
            self.bar.update(done - self.bar.n)
            return
        now = time.monotonic()
        if new and now - self.begin >= self.delay and now - self.shown >= 0.1:
            self.shown = now
            seconds = (now - self.begin) * (self.total - done) / max(done - self.found, 1)
            self._line(now, f"{_clock(seconds)} left")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.active and time.monotonic() - self.begin >= self.delay:
            now = time.monotonic()
            self._line(now, f"{_clock(now - self.begin)} taken")
            print(file=sys.stderr, flush=True)

    def _line(self, now: float, clock: str) -> None:
        rate = (self.done - self.found) / max(now - self.begin, 1e-9)
        share = 100 * self.done // max(self.total, 1)
        failed = f", {self.failed} failed" if self.failed else ""
        text = f"{self.done}/{self.total} {self.many} ({share} %), {rate:,.0f} per second{failed}, {clock}"
        print(f"\r{text:<79}", end="", file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    """A duration as h:mm:ss, or mm:ss if it is shorter than an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"

"""Builds in two stages, with a compiler that records its calls and waits or fails when told to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import chaplygin as cg

LIMIT = 60.0
"""Seconds after which a test gives up waiting."""

COMPILER = """#!/bin/sh
echo "$*" >> "{folder}/calls"
[ "$*" = --version ] && exec "{real}" "$@"
case "$*" in
*-DCHAPLYGIN_INLINE_METHODS*|*_wrapper.c*)
    echo $$ >> "{folder}/late"
    while [ -e "{folder}/hold" ]; do sleep 0.02; done
    [ -e "{folder}/fail" ] && {{ echo "model.c:1:1: error: no room" >&2; exit 1; }}
    [ -e "{folder}/optimise" ] || exec "{real}" "$@" -O0 ;;
*)  [ -e "{folder}/fail-early" ] && {{ echo "model.c:1:1: error: no room" >&2; exit 1; }} ;;
esac
exec "{real}" "$@"
"""

RUN = """
import chaplygin as cg
example = cg.example("harmonic_oscillator")
model = example.system.compile()
solution = model.integrate((0, 1), example.initial, example.parameters)
assert solution.success
import sys
print(model.has_inlined_methods, solution.y.tobytes().hex(), "Cython" in sys.modules, flush=True)
"""


class Place:
    """A folder with a cache, the compiler, and the files that tell the compiler what to do."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "models"
        self.compiler = folder / "cc-in-stages"
        real = next(found for name in ("cc", "gcc", "clang") if (found := shutil.which(name)))
        self.compiler.write_text(COMPILER.format(folder=folder, real=real))
        self.compiler.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "CC": str(self.compiler), "CHAPLYGIN_CACHE": str(self.cache)}

    def tell(self, *words: str) -> None:
        """Set from now on: "hold", "fail" or "optimise" in the second stage, or "fail-early" in the first."""
        for word in ("hold", "fail", "optimise", "fail-early"):
            file = self.folder / word
            file.touch() if word in words else file.unlink(missing_ok=True)

    def calls(self) -> list[str]:
        """The arguments of each compiler call, except `--version`."""
        log = self.folder / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line for line in lines if line != "--version"]

    def late(self) -> list[int]:
        """The compiler calls of the second stage, including finished ones."""
        log = self.folder / "late"
        return [int(line) for line in log.read_text().split()] if log.exists() else []

    def compiled(self, what: str) -> int:
        """How often a file with `what` in its name was compiled."""
        return sum(f" -c {name}" in call for call in self.calls() for name in [what])

    def entries(self) -> list[Path]:
        """The modules in the cache."""
        return sorted(self.cache.glob(f"[0-9a-f]*/*{EXTENSION_SUFFIXES[0]}"))

    def unfinished(self) -> list[Path]:
        """Folders of unfinished builds."""
        return sorted(self.cache.glob(".making-*"))

    def start(self, code: str, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", code],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            **more,
        )


def until(condition: Callable[[], Any]) -> Any:
    """Wait until `condition` returns something true, and return it."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def oscillator(**options: Any) -> tuple[Any, Any]:
    example = cg.example("harmonic_oscillator")
    return example, example.system.compile(**options)


def bits(solution: Any) -> tuple[bytes, bytes, int, int, int]:
    return (
        solution.t.tobytes(),
        solution.y.tobytes(),
        solution.nfev,
        solution.n_steps,
        solution.status,
    )

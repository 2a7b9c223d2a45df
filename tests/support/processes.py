"""Programs in a process of their own, and a compiler whose calls are counted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def python(code: str, *arguments: object, env: Mapping[str, str] | None = None, **options: Any) -> str:
    """What a new interpreter prints; it must exit with status 0. `env` adds to the environment."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    given: dict[str, Any] = {"env": {**os.environ, **(env or {})}, "timeout": 120, **options}
    done = subprocess.run(command, capture_output=True, text=True, **given)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class CountingCompiler:
    """The compiler as a script that notes its calls, with its own cache; `first` is shell code run before each call."""

    def __init__(self, folder: Path, *options: str, first: str = "") -> None:
        self.folder, self.log, self.cache = folder, folder / "calls", folder / "models"
        self.path = folder / "counting-cc"
        real = next(found for name in ("cc", "gcc", "clang") if (found := shutil.which(name)))
        self.path.write_text(
            f'#!/bin/sh\necho "$*" >> "{self.log}"\n{first}\nexec "{real}" "$@" {" ".join(options)}\n'
        )
        self.path.chmod(0o755)
        self.env = {"CC": str(self.path), "CHAPLYGIN_CACHE": str(self.cache)}

    def calls(self) -> list[str]:
        """The arguments of each call so far, those of `--version` too."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def new_calls(self) -> list[str]:
        """The calls since this was last called."""
        lines = self.calls()
        self.log.unlink(missing_ok=True)
        return lines

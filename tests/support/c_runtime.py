"""The C runtime as objects for C programs of tests: compiled once, whichever worker of a run asks first."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from filelock import FileLock
from integrations import need

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime" / "c"
SOURCES = ROOT / "tests" / "c"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
# gcc's SLP pass fuses neighbouring a*b - c and d*e + f even with -ffp-contract=off.
BASE = ["-std=c99", "-ffp-contract=off", "-fno-tree-slp-vectorize", f"-I{RUNTIME}", f"-I{SOURCES}"]

SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def run(command: Sequence[object], cwd: Path | None = None, **environment: str) -> str:
    """What a command prints; it must succeed."""
    words, env = [str(word) for word in command], {**os.environ, **environment}
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, " ".join(words) + "\n" + done.stdout + done.stderr
    return done.stdout


def runtime_objects(
    factory: pytest.TempPathFactory, compiler: str = "gcc", flags: tuple[str, ...] = ("-O1",)
) -> list[str]:
    """The objects of the runtime, compiled without a warning, by default as for most tests."""
    top = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        top = top.parent  # that of all workers of this run
    folder = top / f"runtime-{hashlib.sha256(repr((compiler, flags)).encode()).hexdigest()[:16]}"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            made = folder.with_suffix(".part")
            made.mkdir()
            for source in sorted(RUNTIME.rglob("cg_*.c")):
                target = made / f"{source.stem}.o"
                run([need(compiler), *BASE, *STRICT, *flags, "-c", str(source), "-o", str(target)])
            made.rename(folder)
    return sorted(map(str, folder.glob("*.o")))

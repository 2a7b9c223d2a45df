"""C of the benchmarks, compiled for this CPU into a temporary folder and loaded."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path


def shared_library(source: Path, *flags: str) -> ctypes.CDLL:
    """The compiled source, with contraction allowed."""
    from chaplygin.codegen.toolchain.compiler import find_compiler

    compiler = find_compiler()
    library = Path(tempfile.mkdtemp(prefix="chaplygin-bench-")) / f"{source.stem}.so"
    given = (*compiler.core_flags(tuned=True, reproducible=False), *compiler.lane_flags, *flags)
    subprocess.run(
        [
            *compiler.command,
            *given,
            "-shared",
            "-fvisibility=default",
            str(source),
            "-o",
            str(library),
            "-lm",
        ],
        check=True,
    )
    return ctypes.CDLL(str(library))

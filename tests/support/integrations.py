"""What tests marked `integration` need beyond the extra `test`, programs that any test may need, and their absence."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from importlib.util import find_spec

import pytest

SUNDIALS = [
    f"-lsundials_{name}" for name in "cvode nvecserial sunmatrixdense sunlinsoldense sunlinsolspgmr".split()
]


@functools.cache
def compilers_with_sundials() -> tuple[str, ...]:
    """The C compilers that find SUNDIALS 6 or later."""
    probe = "#include <sundials/sundials_context.h>\nint main(void) { return 0; }\n"
    found = []
    for compiler in filter(shutil.which, ("gcc", "clang")):
        with tempfile.TemporaryDirectory() as folder:
            command = [compiler, "-x", "c", "-", "-o", f"{folder}/probe", *SUNDIALS]
            if subprocess.run(command, input=probe, capture_output=True, text=True).returncode == 0:
                found.append(compiler)
    return tuple(found)


@functools.cache
def is_there(needed: str) -> bool:
    """Whether this machine has "clang", "sundials" or a Python package."""
    if needed == "clang":
        return all(map(shutil.which, ("clang", "clang++")))
    return bool(compilers_with_sundials()) if needed == "sundials" else find_spec(needed) is not None


def brought(needed: str) -> str:
    """Why a test is skipped, and which command brings what it needs."""
    return f"needs {needed}: make test-integrations"


def need(program: str) -> str:
    """The path of a program; the test is skipped without it."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(
            brought("clang") if program.startswith("clang") else f"needs {program}, which is not installed"
        )
    return path


def without_a_compiler(patch: pytest.MonkeyPatch) -> None:
    """No C compiler is found, whatever this machine has: $CC, those of the system, the wheel of zig."""
    patch.delenv("CC", raising=False)
    patch.setenv("PATH", "")
    patch.setattr("chaplygin.codegen.toolchain.compiler.find_spec", lambda name: None)

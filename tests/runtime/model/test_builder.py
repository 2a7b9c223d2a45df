"""The one door to the toolchain: what is missing is said, and what is compiled already runs without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from processes import python

ROOT = Path(__file__).resolve().parents[3]


def test_a_runtime_alone_says_what_is_missing_and_runs() -> None:
    """In a process that cannot import the code generator: runs and ensembles as ever, derivatives refused in words."""
    program = """
import sys
sys.modules["chaplygin.codegen.toolchain"] = None
from chaplygin.runtime import LoadError
from chaplygin.generated.harmonic_oscillator import model
start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
print(round(float(model.integrate((0, 1), *start, rtol=1e-10, atol=1e-10)["x"][-1]), 8))
print(len(model.ensemble((0, 1), *start, n=5)["x"]))
try:
    model.integrate((0, 1), *start, sensitivities=["k"])
except LoadError as error:
    print(error)
"""
    assert python(program).splitlines() == [
        "-0.41614684",  # cos 2
        "5",
        "compiling needs chaplygin.codegen, which is not installed; install the whole package, pip install chaplygin",
    ]


def test_a_package_that_is_missing_is_named() -> None:
    """In a process of its own: modules that are imported again are not those that other modules have."""
    program = """if True:
        import sys
        sys.modules["sympy"] = None
        from chaplygin.runtime.model.builder import builder
        builder("expressions")
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "LoadError: compiling needs sympy, which is not installed" in done.stderr


def test_it_is_the_only_door() -> None:
    """No other file of the runtime names a module of the toolchain."""
    files = [file for file in (ROOT / "runtime").rglob("*.p*") if file.suffix in (".py", ".pyx", ".pxi")]
    named = {file.name for file in files if "codegen.toolchain" in file.read_text(encoding="utf-8")}
    assert named == {"builder.py"}

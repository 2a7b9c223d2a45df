"""From a declaration to a loaded module, stage by stage, and what the cache saves.

Times in a fresh interpreter exclude its start and the import of NumPy and SymPy, except for the time to the first run,
which is counted from the start of Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from cases import chain
from sizes import QUICK, scaled

import chaplygin as cg

SIZES = scaled([5, 20, 100], [5])
BODIES = scaled(30, 3)
_BYTECODE = Path(__file__).resolve().parent.parent / "build" / "bench-bytecode"

_DERIVE = """
import json, time, numpy, sympy, chaplygin as cg
sympy.Symbol("a") + sympy.Symbol("b")  # SymPy imports its tensor module at the first sum: 30 ms, not ours
entry = cg.example({name!r}, **{options!r})
begin = time.perf_counter()
system = entry.system
declared = time.perf_counter()
model = system.compile({form!r}, wait=True)
loaded = time.perf_counter()
print(json.dumps({{"declare": declared - begin, "compile": loaded - declared, "total": loaded - begin}}))
"""

_RUN = """
import chaplygin as cg
entry = cg.example({name!r}, **{options!r})
solution = entry.system.compile({form!r}).integrate((0, 1), entry.initial, entry.parameters)
assert solution.success
print("finished", flush=True)
"""

_LOAD = """
import json, sys, time, numpy
begin = time.perf_counter()
import chaplygin as cg
model = cg.load_model({path!r})
loaded = time.perf_counter()
assert "sympy" not in sys.modules
print(json.dumps({{"total": loaded - begin}}))
"""


def environment(cache: str) -> dict[str, str]:
    """Environment variables for an interpreter with its own model cache."""
    variables = {**os.environ, "CHAPLYGIN_CACHE": cache}
    if not QUICK:  # what is timed finds all its bytecode
        variables["PYTHONPYCACHEPREFIX"] = str(_BYTECODE)
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def in_fresh_interpreter(code: str, cache: str) -> dict[str, float]:
    """Run ``code`` in a fresh interpreter with its own model cache; return the times that it prints."""
    out = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(cache),
        capture_output=True,
        text=True,
        check=True,
    )
    times: dict[str, float] = json.loads(out.stdout)
    return times


def to_first_line(code: str, cache: str) -> float:
    """Time from the start of Python to the first line that ``code`` prints; shutdown is waited for but not counted."""
    begin = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - begin
    assert line == b"finished\n"
    assert process.returncode == 0
    return seconds


def total(times: dict[str, float]) -> float:
    return times["total"]


@pytest.mark.parametrize("n", SIZES)
def test_derivation(n: int, timed: Any) -> None:
    case = chain(n)
    system = case.entry.system
    timed(
        "derivation from the Lagrangian, with the declaration already lowered",
        f"chain of {n}",
        lambda: system.equations("lagrange"),
        rounds=5,
        operations=case.equations.operations["forcing"],
    )


@pytest.mark.parametrize("n", SIZES)
def test_declaration(n: int, timed: Any) -> None:
    timed(
        "declaration: SymPy to the graph, with all checks",
        f"chain of {n}",
        lambda: cg.example("n_link_pendulum", n=n).system,
        rounds=2 if n > 20 else 5,
    )


subjects = pytest.mark.parametrize(
    ("name", "form", "options"),
    [
        ("chaplygin_sleigh", "maggi", {}),
        ("heavy_top", "poincare", {}),
        ("n_link_pendulum", "lagrange", {"n": 5}),
        ("n_link_pendulum", "lagrange", {"n": 20}),
    ][: scaled(4, 1)],
    ids=["chaplygin_sleigh", "heavy_top", "chain of 5", "chain of 20"][: scaled(4, 1)],
)
warmths = pytest.mark.parametrize(
    "warm", scaled([False, True], [True]), ids=scaled(["cold", "cached"], ["cached"])
)
"""The run that fills the cache is a cold one."""


@subjects
@warmths
def test_start_to_first_run(name: str, form: str, options: Any, warm: bool, timed: Any) -> None:
    code = _RUN.format(name=name, options=options, form=form)
    with tempfile.TemporaryDirectory() as folder:
        seconds: list[float] = []

        def run() -> None:
            seconds.append(to_first_line(code, folder if warm else tempfile.mkdtemp(dir=folder)))

        run()  # writes the bytecode, and for the warm case the cached model
        seconds.clear()
        timed(
            f"start of Python to the end of the first run: {name}{options.get('n', '')}",
            "from the cache" if warm else "cold: import, declare, derive, compile the kernels, run",
            run,
            rounds=5,
            warmup=False,
            inner=seconds,
        )


@subjects
@warmths
def test_declaration_to_module(name: str, form: str, options: Any, warm: bool, timed: Any) -> None:
    code = _DERIVE.format(name=name, options=options, form=form)
    with tempfile.TemporaryDirectory() as folder:
        seconds: list[float] = []

        def run() -> dict[str, float]:
            cache = folder if warm else tempfile.mkdtemp(dir=folder)
            times = in_fresh_interpreter(code, cache)
            seconds.append(times["total"])
            return times

        if warm:
            run()
            seconds.clear()
        timed(
            f"declaration to loaded module: {name}{options.get('n', '')}",
            "from the cache, SymPy and NumPy imported"
            if warm
            else "cold: derive, emit, compile everything, load",
            run,
            rounds=5 if warm else 2,
            warmup=False,
            inner=seconds,
        )


def test_load_without_sympy(timed: Any) -> None:
    model = cg.example("heavy_top").system.compile("poincare")
    code = _LOAD.format(path=model.owner.__file__)
    seconds: list[float] = []
    timed(
        "declaration to loaded module: heavy_top",
        "load_model, without SymPy",
        lambda: seconds.append(in_fresh_interpreter(code, os.environ["CHAPLYGIN_CACHE"])["total"]),
        rounds=5,
        warmup=False,
        inner=seconds,
    )


@pytest.mark.parametrize("joint", scaled(["ball", "euler", "hinge"], ["ball"]))
def test_spatial_bodies_declared(joint: str, timed: Any) -> None:
    """A chain declared with `bodies=`, from the poses to a checked System."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from body_chains import body_chain

    timed(f"derivation: {BODIES} spatial bodies declared", joint, lambda: body_chain(BODIES, joint), rounds=3)

"""A user's script with five mistakes, and the lines of it that a type checker reports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import numpy as np

import chaplygin as cg
from chaplygin.generated import harmonic_oscillator

x, y = cg.coordinates("x y")
m, k = cg.parameters("m k", positive=True)
v, u = cg.rate(x), cg.inputs("u")
z = cg.coordinate("z")  # wrong: coordinates
system = cg.System(
    "springs",
    coordinates=[x, y],
    kinetic=m * (v**2 + cg.rate(y) ** 2) / 2,
    potential=k * (x**2 + y**2) / 2,
    forces={v: u},
    events=[cg.Event(x - 1, name="far", direction=1)],
    outputs={"reach": x**2 + y**2},
)
print(system.equations("lagrange").mass_matrix.det(), system.equations().latex())
model = system.compile("lagrange", wait=True)
start = {"x": 1, "y": 0, "x_dot": 0, "y_dot": 0}
values = {m: 1, k: 4}
sol = model.integrate((0, 10), start, values, 0.0, rtoll=1)  # wrong: rtol
sol = model.integrate((0, 10), start, values, {"u": np.sin}, rtol="small")  # wrong: a number
print(sol["x"][-1] + 1, sol.t.shape, sol.evaluate("energy"))
print(sol.succes)  # wrong: success
ens = model.ensemble((0, 1), start, {"m": np.linspace(1, 2, 5), "k": 4}, 0.0, seed=1, threads=2)
print(ens["x"].mean(), ens.failed.size)
study = cg.study(model, (0, 1), start, values, 0.0, n=9, collect={"end": cg.final("x")})
stepper = model.stepper(start, values, 0.0, method="dop853")
print(stepper.advance(0.1), study.results)
top = cg.example("heavy_top")
print(top.system.compile().integrate((0, 1), top.initial, top.parameters, t_eval=[0, 1]).y.T)
shipped = harmonic_oscillator.model
print(shipped.rhs(0, [1, 0], [1, 4]), shipped.jacobian(0, [1, 0]))  # wrong: p is missing
"""
WRONG = {i for i, line in enumerate(SCRIPT.splitlines(), 1) if "# wrong" in line}


def reported(checker: str, python: Path | str, folder: Path) -> set[int]:
    """The lines in which "mypy" or "pyright" finds errors, for the packages of an interpreter."""
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    options = {
        "mypy": ("--strict", f"--python-executable={python}", f"--cache-dir={folder / 'cache'}"),
        "pyright": (f"--pythonpath={python}",),
    }
    done = subprocess.run(
        [sys.executable, "-m", checker, *options[checker], "script.py"],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "MYPYPATH"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return {int(line) for line in re.findall(r"script\.py:(\d+)(?::\d+)?(?: -)?:? error", done.stdout)}

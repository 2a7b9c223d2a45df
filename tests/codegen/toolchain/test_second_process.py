"""A process reuses what an earlier one compiled: compiler calls are counted, including `--version`.

The compiler is a script, given by `$CC`, that writes a line to a file each time it is called. It does not optimise:
what is counted does not depend on it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from processes import CountingCompiler
from runtime_models import WIDEST, needs_core

from chaplygin.runtime.interface.limits import WORTH

pytestmark = [
    needs_core,
    pytest.mark.skipif(os.name != "posix", reason="the counting compiler is a shell script"),
]

# A model, a single run, ensembles in lanes and a new expression, as in a program that uses several processes.
WORK = f"""
import multiprocessing, sys
import chaplygin as cg

def work(seed=0):
    example = cg.example("harmonic_oscillator")
    model = example.system.compile()
    assert model.integrate((0, 1), example.initial, example.parameters)["energy"][-1] > 0
    for lanes in (None, {WIDEST}):
        ens = cg.ensemble(model, (0, 1), example.initial, example.parameters, n={WORTH}, lanes=lanes)
        assert ens.success
    x = cg.coordinates("x")
    assert (model.batch(example.initial, example.parameters, n=2).evaluate(x**2 < 0) == 0).all()
    return float(ens.y[0, 0])

def child(method):
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert len(set(pool.map(work, range(4)))) == 1

if __name__ == "__main__":
    child(sys.argv[1]) if len(sys.argv) > 1 else work()
"""


LATE = ("jvp", "jacobian", "outputs", "invariants")
"""Kernels that are compiled when they are first used."""

SIMPLEST = """
import chaplygin as cg, sys
example = cg.example("heavy_top")
model = example.system.compile()
sol = model.integrate((0, 1), example.initial, example.parameters, method=sys.argv[1])
sys.argv[2:] and sol[sys.argv[2]]
"""


class Place(CountingCompiler):
    """A folder for programs that have this compiler and its cache."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "-O0")

    def run(self, *command: str) -> None:
        words, env = [sys.executable, *command], os.environ | self.env
        done = subprocess.run(words, cwd=self.folder, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Everything has been compiled by a first process, and its calls have been counted."""
    found = Place(tmp_path_factory.mktemp("second"))
    (found.folder / "work.py").write_text(textwrap.dedent(WORK))
    found.run("work.py")
    calls = found.new_calls()
    assert any("harmonic_oscillator_core.c" in line for line in calls)
    assert any("harmonic_oscillator_lanes.c" in line for line in calls) or WIDEST == 1
    assert any("harmonic_oscillator_companion.c" in line for line in calls)
    assert [kernel for kernel in LATE for line in calls if f"{kernel}.c" in line] == ["invariants"]
    return found


@pytest.mark.parametrize(
    "command",
    [
        ("work.py",),
        ("work.py", "spawn"),
        pytest.param(
            ("work.py", "fork"),
            marks=pytest.mark.skipif(sys.platform == "darwin", reason="fork is unsafe there"),
        ),
        ("-m", "chaplygin", "run", "harmonic_oscillator"),
        ("-m", "chaplygin", "ensemble", "harmonic_oscillator", "-n", str(WORTH)),
    ],
    ids=["run and ensemble", "spawn", "fork", "chaplygin run", "chaplygin ensemble"],
)
@pytest.mark.sample(1)
def test_a_second_process_compiles_nothing(place: Place, command: tuple[str, ...]) -> None:
    place.run(*command)
    assert place.new_calls() == []


def test_a_kernel_is_compiled_when_it_is_first_used(place: Place) -> None:
    """A run compiles the kernels that it starts with, and nothing in the background; each other one costs one call."""
    (place.folder / "simplest.py").write_text(textwrap.dedent(SIMPLEST))
    for arguments, compiled in (
        (("dop853",), ["heavy_top_core.c"]),
        (("dop853",), []),
        (("dop853", "energy"), ["heavy_top_invariants.c", "heavy_top_outputs.c"]),
        (("rodas5p", "energy"), ["heavy_top_jacobian.c"]),
        (("auto", "energy"), []),
    ):
        place.run("simplest.py", *arguments)
        calls = place.new_calls()
        assert sorted(re.findall(r"-c (\S+)", " ".join(calls))) == compiled


@pytest.mark.slow
def test_what_fmus_share_is_compiled_once(place: Place) -> None:
    for name, compiled in (("harmonic_oscillator", True), ("chaplygin_sleigh", False)):
        place.run("-m", "chaplygin", "export-fmu", name, "-o", f"{name}.fmu")
        calls = place.new_calls()
        assert any(f"{name}_fmu.c" in line for line in calls)
        assert any("cg_driver.c" in line for line in calls) == compiled

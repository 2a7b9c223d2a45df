"""Methods with the right-hand side inlined: when they are compiled, how often, and that no bit changes.

The compiler is a script that records its calls, and fails when a file says so.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import CountingCompiler
from small_systems import SMALL

import chaplygin as cg
from chaplygin.runtime.interface.limits import WORTH
from chaplygin.runtime.model.inlining import DEFAULTS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script")

FAILING = """case "$*" in
*CG_METHOD_LIST_FILE*) [ -e "{}" ] && {{ echo "model.c:1:1: error: no room" >&2; exit 1; }} ;;
esac"""
MANY = 1_000_000
"""Calls of a right-hand side after which it is inlined."""
RUN = """
import sys
import chaplygin as cg
example = cg.example("harmonic_oscillator")
model = example.system.compile()
solution = model.integrate((0, 1), example.initial, example.parameters)
print(*model.inlined, solution.y.tobytes().hex(), "sympy.core" in sys.modules and "Cython" in sys.modules)
"""


class Place(CountingCompiler):
    """A folder with a cache and the compiler."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, first=FAILING.format(folder / "fail"))

    def compiled(self, what: str) -> int:
        """How often a file was compiled with `what` in the command."""
        return sum(what in line for line in self.calls() if " -c " in line)

    @property
    def methods(self) -> int:
        """How many methods were compiled."""
        return self.compiled("CG_METHOD_LIST_FILE")

    def run(self, code: str) -> list[str]:
        """The words that a new process prints."""
        command, env = [sys.executable, "-c", code], os.environ | self.env
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.split()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    return made


def oscillator(**options: Any) -> tuple[Any, Any]:
    example = cg.example("harmonic_oscillator")
    return example, example.system.compile(**options)


def bits(solution: Any) -> tuple[Any, ...]:
    return solution.t.tobytes(), solution.y.tobytes(), solution.nfev, solution.n_steps, solution.status


def test_a_short_run_compiles_the_kernels_alone_and_a_second_process_nothing(place: Place) -> None:
    example, model = oscillator()
    run = model.integrate((0, 1), example.initial, example.parameters)
    assert (place.compiled("harmonic_oscillator_core.c"), place.methods) == (1, 0)
    assert model.inlined == ()
    assert place.run(RUN) == [run.y.tobytes().hex(), "False"]
    assert (place.compiled("harmonic_oscillator_core.c"), place.methods) == (1, 0)
    assert not list(place.cache.glob(".making-*"))


def test_a_method_is_inlined_after_a_million_calls_and_found_by_other_processes(place: Place) -> None:
    example, model = oscillator()
    first = model.integrate((0, 1), example.initial, example.parameters)
    calls = first.nfev
    while calls < MANY:
        calls += model.integrate((0, 4000), example.initial, example.parameters).nfev
        assert model.inlined == () or calls >= MANY
    again = model.integrate((0, 1), example.initial, example.parameters)
    assert (model.inlined, place.methods) == ((first.method,), 1)
    assert bits(again) == bits(first)
    assert place.run(RUN) == [first.method, first.y.tobytes().hex(), "False"]
    assert place.methods == 1


@pytest.mark.parametrize("method", ["dop853", "auto"])
def test_a_long_run_goes_on_in_the_inlined_method(place: Place, method: str) -> None:
    example, model = oscillator()
    how = {"method": method, "t_eval": np.linspace(0, 5e4, 9), "rtol": 1e-12}
    long = model.integrate((0, 5e4), example.initial, example.parameters, **how)
    assert long.nfev > 2 * MANY
    assert (model.inlined, place.methods) == (("dop853",), 1)
    assert bits(model.integrate((0, 5e4), example.initial, example.parameters, **how)) == bits(long)


def test_a_stepper_goes_on_in_the_inlined_method(place: Place) -> None:
    example, model = oscillator()
    slow, quick = (model.stepper(example.initial, example.parameters, method="tsit5") for _ in range(2))
    saved, t = slow.save(), 0.0
    while not model.inlined:
        t += 500.0
        slow.advance(t)
    assert (model.inlined, place.methods) == (("tsit5",), 1)
    for k in range(1, round(t / 500) + 1):
        quick.advance(500.0 * k)
    assert quick.y.tobytes() == slow.y.tobytes()
    quick.restore(saved)
    assert (
        quick.advance(500.0).tobytes()
        == model.stepper(example.initial, example.parameters, method="tsit5").advance(500.0).tobytes()
    )


def test_wait_compiles_what_runs_take_by_default(place: Place) -> None:
    example, model = oscillator(wait=True)
    assert sorted(model.inlined) == sorted(DEFAULTS)
    assert place.methods == len(DEFAULTS)
    model.integrate((0, 1), example.initial, example.parameters, method="tsit5")
    assert "tsit5" in model.inlined
    assert oscillator(wait=True)[1] is model is pickle.loads(pickle.dumps(model))
    assert place.methods == len(DEFAULTS) + 1


def test_a_contracted_model_is_compiled_before_its_first_run(place: Place) -> None:
    example, model = oscillator(reproducible=False)
    sol = model.integrate((0, 1), example.initial, example.parameters)
    assert model.inlined == (sol.method,)


def test_large_ensembles_without_lanes_are_worth_it(place: Place) -> None:
    example, model = oscillator()
    small = cg.ensemble(model, (0, 1), example.initial, example.parameters, n=3, lanes=1)
    assert place.methods == 0
    large = cg.ensemble(model, (0, 1), example.initial, example.parameters, n=WORTH, lanes=1)
    assert (len(model.inlined), place.methods) == (1, 1)
    assert (large.y == small.y[:, :1]).all()


def test_batches_without_lanes_are_worth_it(place: Place) -> None:
    example, model = oscillator()
    batch = model.batch(example.initial, example.parameters, n=3, lanes=1)
    assert place.methods == 1
    batch.advance_by(1.0)


def test_threads_compile_a_method_once(place: Place) -> None:
    example, model = oscillator()
    found: list[bytes] = []

    def work() -> None:
        run = model.integrate((0, 5e4), example.initial, example.parameters, t_eval=[5e4], rtol=1e-12)
        found.append(run.y.tobytes())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(set(found)), len(found), place.methods, len(model.inlined)) == (1, 4, 1, 1)


def test_a_failure_is_told_once_and_runs_go_on(place: Place) -> None:
    (place.folder / "fail").touch()
    example, model = oscillator()
    model._eager = True
    with pytest.warns(RuntimeWarning, match=r"takes longer than it could.*harmonic_oscillator: .*no room"):
        first = model.integrate((0, 1), example.initial, example.parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bits(model.integrate((0, 1), example.initial, example.parameters)) == bits(first)
    assert (first.success, model.inlined, place.methods) == (True, (), 1)


def test_a_damaged_method_is_compiled_again(place: Place) -> None:
    oscillator(wait=True)
    (library,) = place.cache.glob("*/harmonic_oscillator_vern9.so")
    content = library.read_bytes()
    library.unlink()  # this process has loaded the file
    library.write_bytes(content[:-200])
    code = RUN.replace("compile()", "compile(wait=True)")
    assert sorted(place.run(code)[:3]) == sorted(DEFAULTS)
    assert place.methods == len(DEFAULTS) + 1


def test_where_the_compiler_is_gone_nothing_is_said(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    example, model = oscillator()
    model._eager = True
    monkeypatch.setenv("CC", str(place.folder / "no-such-compiler"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.integrate((0, 1), example.initial, example.parameters).success
    assert model.inlined == ()


def test_a_model_without_its_sources_runs_through_the_table(place: Place, tmp_path: Path) -> None:
    example, model = oscillator()
    alone = tmp_path / "elsewhere"
    alone.mkdir()
    shutil.copy(model.owner.__file__, alone)
    copied = cg.load_model(alone / Path(model.owner.__file__).name)
    assert copied is not model
    copied._eager = True
    run = copied.integrate((0, 1), example.initial, example.parameters)
    assert (copied.inlined, place.methods) == ((), 0)
    assert bits(run) == bits(model.integrate((0, 1), example.initial, example.parameters))


QUICK_SYSTEMS = ["chaplygin_sleigh", "heavy_top", "bouncing_ball"]
METHODS = ["rk4", "dop853", "tsit5", "vern7", "vern9", "rodas5p", "auto"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK_SYSTEMS else pytest.mark.slow)
        for name in sorted({*QUICK_SYSTEMS, *SMALL})
    ],
)
@pytest.mark.sample(1)
def test_every_method_keeps_its_bits(name: str, place: Place) -> None:
    example = cg.example(name)
    model = example.system.compile()
    t0, t1 = example.t_span
    t1 = min(t1, t0 + 5.0)
    times = np.linspace(t0, t1, 7)
    inputs = dict.fromkeys(model.inputs, 0.3)

    def runs() -> dict[str, Any]:
        found = {}
        for method in METHODS:
            step = {"step": (t1 - t0) / 200} if method == "rk4" else {"rtol": 1e-7, "atol": 1e-9}
            for way, more in (("steps", {"dense_output": True}), ("times", {"t_eval": times})):
                solution = model.integrate(
                    (t0, t1), example.initial, example.parameters, inputs, method=method, **step, **more
                )
                events = [*(solution.t_events or []), *(solution.y_events or [])]
                found[method, way] = bits(solution), [array.tobytes() for array in events]
                if way == "steps" and solution.success:
                    found[method, "dense"] = solution.sol(times).tobytes()
        return found

    before = runs()
    assert model.inlined == ()
    assert example.system.compile(wait=True) is model
    after = runs()
    assert set(model.inlined) == set(METHODS) - {"rodas5p", "auto"}
    assert before.keys() == after.keys()
    assert [key for key in before if before[key] != after[key]] == []

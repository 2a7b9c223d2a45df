"""A model runs before its build is complete, switches to the complete one in the background, and no bit changes.

The compiler is a script (`staged_builds`) that records its calls; compilation in the second stage waits, or fails, as
long as a file says so. To save time it does not optimise the second stage unless told to.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_models import needs_core
from small_systems import SMALL
from staged_builds import LIMIT, Place, bits, oscillator, until

import chaplygin as cg
from chaplygin.codegen.build import stages
from chaplygin.runtime import KernelError
from chaplygin.runtime.errors import BuildError
from chaplygin.runtime.lanes import WORTH

pytestmark = [
    needs_core,
    pytest.mark.usefixtures("background"),
    pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script"),
]


def test_the_first_run_needs_neither_the_methods_nor_cython(place: Place) -> None:
    place.tell("hold")
    example, model = oscillator()
    assert not model.has_inlined_methods
    before = model.integrate((0, 10), example.initial, example.parameters, rtol=1e-9)
    assert before["x"][-1] == pytest.approx(example.closed_form(10.0)["x"], abs=1e-7)
    assert place.entries() == []
    assert place.compiled("harmonic_oscillator_wrapper.c") <= 1  # held, and so is the core with the methods
    place.tell()
    assert pickle.loads(pickle.dumps(model)) is model  # waits: the module's path is pickled
    module = Path(model.owner.__file__)
    assert place.entries() == [module]
    assert json.loads((module.parent / "entry.json").read_text())["name"] == "harmonic_oscillator"
    assert model.has_inlined_methods
    assert bits(model.integrate((0, 10), example.initial, example.parameters, rtol=1e-9)) == bits(before)
    assert place.compiled("harmonic_oscillator_core.c") == 2
    assert place.compiled("harmonic_oscillator_wrapper.c") == 1
    assert place.unfinished() == []


def test_it_goes_over_without_being_asked(place: Place) -> None:
    _, model = oscillator()
    until(lambda: model.has_inlined_methods)
    assert model.address == model.owner.address
    assert pickle.loads(pickle.dumps(model)) is model


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
    place.tell("hold", "optimise")
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

    def kernels() -> list[str]:
        x = np.array([0.1 * i + 0.3 for i in range(len(model.states))])
        p = np.array([example.parameters.get(q, 0.7) for q in model.parameters])
        u = np.full(len(model.inputs), 0.3)
        found = []
        for kernel, more in ((model.rhs, ()), (model.jacobian, ()), (model.jvp, (x,)), (model.evaluate, ())):
            try:
                value = kernel(0.2, x, p, *more, u)
                found.append(value.tobytes().hex() if isinstance(value, np.ndarray) else repr(value))
            except KernelError as error:  # painleve_klein_rigid is singular if nothing slips
                found.append(str(error))
        return found

    assert not model.has_inlined_methods
    before = runs(), kernels()
    place.tell("optimise")
    assert model.owner.__file__
    assert model.has_inlined_methods
    after = runs(), kernels()
    assert before[0].keys() == after[0].keys()
    assert [key for key in before[0] if before[0][key] != after[0][key]] == []
    assert before[1] == after[1]


@pytest.mark.slow
def test_large_models_keep_their_bits(place: Place) -> None:
    """With more than 12 velocities no methods are inlined, but the optimisation level changes."""
    place.tell("hold", "optimise")
    example = cg.example("n_link_pendulum", n=13)
    model = example.system.compile()
    before = bits(model.integrate((0, 0.2), example.initial, example.parameters))
    quick = model.address
    place.tell("optimise")
    assert model.owner.address == model.address != quick
    assert bits(model.integrate((0, 0.2), example.initial, example.parameters)) == before


def test_what_began_before_goes_on(place: Place) -> None:
    place.tell("hold")
    example, model = oscillator()
    vector = [example.parameters[name] for name in model.parameters]
    state = [example.initial[name] for name in model.states]
    stepper = model.stepper(example.initial, example.parameters)
    stepper.advance(1.0)
    saved = stepper.save()
    middle = stepper.advance(2.0)
    dense = model.integrate((0, 3), example.initial, example.parameters, dense_output=True)
    early = dense.sol(1.7)
    energy = dense.evaluate("energy")
    addresses, capsule = model.addresses, model.capsule
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[ctypes.POINTER(ctypes.c_double)] * 5)

    def called(address: int) -> list[float]:
        out = (ctypes.c_double * 2)()
        x, p = (ctypes.c_double * 2)(*state), (ctypes.c_double * 2)(*vector)
        assert kind(address)(0.0, x, p, None, out, None) == 0
        return list(out)

    value = called(addresses["rhs"])
    place.tell()
    assert model.owner.__file__
    assert model.addresses["rhs"] != addresses["rhs"]
    assert called(addresses["rhs"]) == called(model.addresses["rhs"]) == value
    assert cg.Model(capsule).rhs(0, state, vector).tolist() == value
    assert dense.sol(1.7).tolist() == early.tolist()
    assert dense.evaluate("energy").tolist() == energy.tolist()
    # A snapshot from before the switch in a stepper from after it, and vice versa.
    later = model.stepper(example.initial, example.parameters)
    later.restore(saved)
    assert later.advance(2.0).tolist() == middle.tolist()
    ahead = later.save()
    stepper.restore(ahead)
    assert stepper.advance(3.0).tolist() == later.advance(3.0).tolist()


def test_one_model_for_all_who_ask(place: Place) -> None:
    place.tell("hold")
    _, model = oscillator()
    assert oscillator()[1] is model
    place.tell()
    assert oscillator(wait=True)[1] is model
    assert model.has_inlined_methods
    assert cg.load_model(model.owner.__file__) is model
    assert oscillator()[1] is model
    assert place.compiled("harmonic_oscillator_core.c") == 2


def test_many_builds_take_turns(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_turns", stages._Turns(1))
    place.tell("hold")
    _, first = oscillator()
    second = cg.example("bouncing_ball").system.compile()
    until(lambda: len(place.late()) == 2)  # the core with its methods, and the Cython module
    time.sleep(0.5)
    assert len(place.late()) == 2
    assert not first.has_inlined_methods
    assert not second.has_inlined_methods
    place.tell()
    until(lambda: first.has_inlined_methods and second.has_inlined_methods)
    assert len(place.late()) == 4


def test_what_is_waited_for_does_not_wait_for_its_turn(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_turns", stages._Turns(0))
    _, first = oscillator()
    second = cg.example("bouncing_ball").system.compile()
    assert cg.example("bouncing_ball").system.compile(wait=True) is second
    assert second.has_inlined_methods
    assert not first.has_inlined_methods
    assert pickle.loads(pickle.dumps(first)) is first  # waits too
    assert first.has_inlined_methods


def test_who_waits_for_a_build_for_long_is_told(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    place.tell("hold")
    _, model = oscillator()
    waiting = threading.Thread(target=model._rest)
    waiting.start()
    until(
        lambda: "compiling harmonic_oscillator: waiting for the build to finish\n" in capfd.readouterr().err
    )
    place.tell()
    waiting.join(LIMIT)
    assert model.has_inlined_methods


@pytest.mark.parametrize("options", [{"wait": True}, {"reproducible": False}])
def test_everything_at_once(place: Place, options: dict[str, bool]) -> None:
    _, model = oscillator(**options)
    assert model.has_inlined_methods
    assert place.entries() == [Path(model.owner.__file__)]
    assert place.compiled("harmonic_oscillator_core.c") == 1


def test_equations_too_are_compiled_in_two_stages(place: Place) -> None:
    place.tell("hold")
    example = cg.example("harmonic_oscillator")
    equations = example.system.equations("lagrange")
    model = cg.compile(equations)
    assert not model.has_inlined_methods
    place.tell()
    assert cg.compile(equations, wait=True) is model
    assert model.has_inlined_methods


def test_large_ensembles_wait_and_small_ones_do_not(place: Place) -> None:
    place.tell("hold")
    example, model = oscillator()
    small = cg.ensemble(model, (0, 1), example.initial, example.parameters, n=3)
    assert not model.has_inlined_methods
    place.tell()
    large = cg.ensemble(model, (0, 1), example.initial, example.parameters, n=WORTH)
    assert model.has_inlined_methods
    assert (large.y == small.y[:, :1]).all()
    assert place.compiled("harmonic_oscillator_lanes.c") <= 1


def test_without_a_background_the_rest_is_built_when_it_is_needed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAPLYGIN_BACKGROUND", "0")
    example, model = oscillator()
    run = model.integrate((0, 1), example.initial, example.parameters)
    assert oscillator()[1] is model
    assert not stages._running
    assert place.late() == []
    assert place.entries() == []
    assert Path(model.owner.__file__) in place.entries()
    assert model.has_inlined_methods
    assert place.compiled("harmonic_oscillator_core.c") == 2
    assert (model.integrate((0, 1), example.initial, example.parameters).y == run.y).all()
    assert oscillator(wait=True)[1] is model


def test_a_failure_of_a_postponed_build_is_told_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAPLYGIN_BACKGROUND", "0")
    place.tell("fail")
    example, model = oscillator()
    with pytest.warns(RuntimeWarning, match="could not be completed"), pytest.raises(BuildError):
        model._complete()
    calls = len(place.calls())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BuildError):
            model._complete()
    assert len(place.calls()) == calls
    assert model.integrate((0, 1), example.initial, example.parameters).success


def test_a_failure_in_the_second_stage_is_told_once(place: Place) -> None:
    place.tell("hold")
    example, model = oscillator()
    before = bits(model.integrate((0, 1), example.initial, example.parameters))
    (build,) = stages._running.values()
    place.tell("fail")
    with pytest.warns(RuntimeWarning, match=r"'harmonic_oscillator' runs, but .* no room") as caught:
        build.thread.join(LIMIT)
    assert len(caught) == 1
    assert bits(model.integrate((0, 1), example.initial, example.parameters)) == before
    for use in (lambda: model.owner, lambda: pickle.dumps(model)):
        with pytest.raises(BuildError, match="no room") as error:
            use()
        assert error.value.log is not None
        assert "no room" in error.value.log.read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # lanes are not available
        assert cg.ensemble(model, (0, 1), example.initial, example.parameters, n=WORTH).success
    assert place.entries() == place.unfinished() == []
    # Another attempt starts from scratch.
    place.tell()
    assert oscillator(wait=True)[1].has_inlined_methods


def test_a_failure_in_the_first_stage_is_an_error(place: Place) -> None:
    place.tell("fail-early")
    with pytest.raises(BuildError, match="no room") as error:
        oscillator()
    assert error.value.log is not None
    assert not stages._running
    place.tell()
    assert oscillator(wait=True)[1].has_inlined_methods  # the lock is free
    assert len(place.entries()) == 1


def test_where_python_cannot_be_started_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/embedding-program")
    _, model = oscillator()
    assert model.has_inlined_methods

"""The second stage of a build and the processes around it: others that wait, ends, kills, Ctrl-C and forks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runtime_models import needs_core
from staged_builds import LIMIT, RUN, Place, oscillator, until

import chaplygin as cg
from chaplygin.codegen.build import stages

pytestmark = [
    needs_core,
    pytest.mark.usefixtures("background"),
    pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script"),
]


def test_what_waits_for_its_turn_does_not_hold_up_other_processes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "_turns", stages._Turns(0))
    _, model = oscillator()
    other = place.start(RUN)
    try:
        _, err = other.communicate(timeout=LIMIT)
    finally:
        other.kill()
    assert other.returncode == 0, err
    assert len(place.entries()) == 1
    assert not model.has_inlined_methods
    before = place.compiled("harmonic_oscillator_wrapper.c")
    assert (
        Path(model.owner.__file__) == place.entries()[0]
    )  # waits, and takes what the other process has built
    assert model.has_inlined_methods
    assert place.compiled("harmonic_oscillator_wrapper.c") == before == 1


def test_a_second_process_waits_and_compiles_nothing(place: Place) -> None:
    place.tell("hold")
    example, model = oscillator()
    mine = model.integrate((0, 1), example.initial, example.parameters)
    until(lambda: place.compiled("harmonic_oscillator_wrapper.c"))
    second = place.start(RUN)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(1.5)
    before = len(place.calls())
    place.tell()
    out, err = second.communicate(timeout=LIMIT)
    assert out.split() == ["True", mine.y.tobytes().hex(), "False"], err
    assert model.owner.__file__
    assert len(place.calls()) == before + 1  # the link of the first
    assert "still compiling" not in err


def test_the_end_of_a_process_waits_for_the_build(place: Place) -> None:
    place.tell("hold")
    process = place.start(RUN)
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline().split()
    assert (line[0], line[2]) == ("False", "False"), "the methods were there, or Cython was imported"
    assert "still compiling harmonic_oscillator" in process.stderr.readline()
    assert place.entries() == []
    place.tell()
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out, err) == (0, "", "")
    assert len(place.entries()) == 1
    assert place.unfinished() == []


def test_ctrl_c_at_the_end_abandons_the_build(place: Place) -> None:
    place.tell("hold")
    process = place.start("import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + RUN)
    assert process.stderr is not None
    assert "still compiling" in process.stderr.readline()
    until(lambda: len(place.late()) == 2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (0, "")
    assert place.entries() == place.unfinished() == []
    for compiler in place.late():
        with pytest.raises(ProcessLookupError):
            os.kill(compiler, 0)
    place.tell()
    out, err = place.start(RUN).communicate(timeout=LIMIT)
    assert out.split()[0] == "False", err
    assert len(place.entries()) == 1


def test_ctrl_c_during_a_run_does_not_reach_the_build(place: Place) -> None:
    place.tell("hold")
    _, model = oscillator()
    (build,) = stages._running.values()
    assert os.getpgid(build.worker.process.pid) != os.getpgid(0)
    assert model is build.model


def test_a_killed_process_leaves_the_build_to_its_end(place: Place) -> None:
    place.tell("hold")
    process = place.start(RUN)
    assert process.stdout is not None
    assert process.stdout.readline()
    until(place.late)
    process.kill()
    process.communicate(timeout=LIMIT)
    assert place.entries() == []
    place.tell()
    until(place.entries)
    until(lambda: not place.unfinished())


def test_a_process_killed_while_it_derives_leaves_nothing(place: Place) -> None:
    code = """
import os, signal
import chaplygin as cg
from chaplygin.codegen.build import stages
def derive():
    os.kill(os.getpid(), signal.SIGKILL)
stages.begin("a" * 40, derive, inline=True)
"""
    process = place.start(code)
    process.communicate(timeout=LIMIT)
    assert process.returncode == -signal.SIGKILL
    from chaplygin.codegen.build import cache

    with cache.locked("a" * 40):  # the second process has ended, or is just ending
        assert place.entries() == place.unfinished() == []


def test_an_error_of_the_derivation_ends_the_second_process(place: Place) -> None:
    def derive() -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stages.begin("b" * 40, derive, inline=True)
    from chaplygin.codegen.build import cache

    with cache.locked("b" * 40):
        assert place.unfinished() == []


def test_a_forked_child_owns_no_build(place: Place) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("fork is not available")
    place.tell("hold")
    example, model = oscillator()
    before = model.integrate((0, 1), example.initial, example.parameters).y.tobytes()

    def child(work: Callable[[], bool]) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking a process with threads
            pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if work() else 2
                stages._finish()  # called at process exit: a child has nothing to wait for
            finally:
                os._exit(code)
        return pid

    def runs() -> bool:
        same = model.integrate((0, 1), example.initial, example.parameters).y.tobytes() == before
        return same and not model.has_inlined_methods

    def ended(pid: int) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert ended(child(runs)) == 0
    assert stages._running, "the child ended the build of its parent"
    waiting = child(lambda: Path(model.owner.__file__).exists() and model.has_inlined_methods)
    time.sleep(0.3)
    place.tell()
    assert ended(waiting) == 0
    assert model.owner.__file__
    assert place.compiled("harmonic_oscillator_core.c") == 2
    assert ended(child(lambda: cg.load_model(model.owner.__file__) is model)) == 0

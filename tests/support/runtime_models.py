"""The hand-written models of `data/runtime_models.c` as Python objects, compiled once per test run."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import signal
import subprocess
import sysconfig
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaplygin.runtime import Model, core
from chaplygin.runtime.ensembles import progress
from chaplygin.runtime.model.compiled_model import core_available

HERE = Path(__file__).resolve().parents[1]
SOURCE = HERE / "data" / "runtime_models.c"
EVENTS = HERE / "c" / "model_events.c"
RUNTIME = HERE.parent / "runtime" / "c"

WIDEST: int = core.widest_lanes() if core_available() else 1
"""Lanes of the widest registers of this machine."""
needs_core = pytest.mark.skipif(not core_available(), reason="the compiled runtime is missing")


@functools.cache
def library(source: Path = SOURCE) -> ctypes.CDLL:
    """The models in a shared library, with the integrators compiled into the sleigh."""
    headers = sorted(RUNTIME.rglob("*.h"))
    text = b"".join(path.read_bytes() for path in (source, *source.parent.glob("*.h"), *headers))
    folder = HERE.parent / "build" / "test-models"
    folder.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CC") or (sysconfig.get_config_var("CC") or "cc").split()[0]
    target = folder / f"{source.stem}-{hashlib.sha256(compiler.encode() + text).hexdigest()[:16]}.so"
    if not target.exists():
        flags = ["-std=c99", "-O3", "-ffp-contract=off", "-fPIC", "-shared", "-DCHAPLYGIN_INLINE_METHODS"]
        made = target.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [*compiler.split(), *flags, f"-I{RUNTIME}", str(source), "-o", str(made), "-lm"], check=True
        )
        os.replace(made, target)
    return ctypes.CDLL(str(target))


def capsule(name: str, source: Path = SOURCE) -> Any:
    """A capsule of a model's table, as generated modules create it."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(
        ctypes.addressof(ctypes.c_char.in_dll(library(source), f"{name}_model")), b"chaplygin.model", None
    )


def model(name: str, source: Path = SOURCE) -> Model:
    """A new model object."""
    return Model(capsule(name, source), owner=library(source))


@contextlib.contextmanager
def ctrl_c_heard() -> Iterator[None]:
    """Install Python's own handler: it is missing in tests that a shell runs in the background, with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@contextlib.contextmanager
def ctrl_c_after(seconds: float) -> Iterator[None]:
    """Send Ctrl-C once the process has worked for some seconds, unless the block ends first.

    So as much has been done then on busy cores. A process that sleeps gets it after ten times as long.
    """
    ended, begun, worked = threading.Event(), time.monotonic(), time.process_time()

    def press() -> None:
        while not ended.wait(0.005):
            if time.process_time() - worked >= seconds or time.monotonic() - begun >= 10 * seconds:
                return press_ctrl_c()

    timer = threading.Thread(target=press)
    with ctrl_c_heard():
        timer.start()
        try:
            yield
        finally:
            ended.set()
            timer.join()


@contextlib.contextmanager
def ctrl_c_at_progress(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Send Ctrl-C as soon as an ensemble reports finished trajectories."""
    monkeypatch.setattr(progress.Progress, "show", lambda bar, done: done and press_ctrl_c())
    with ctrl_c_heard():
        yield


BLOCK = {"m": 1.0, "k": 4.0, "mu": 0.3, "g": 10.0, "s": 0.5}


def hybrid(name: str) -> Model:
    """A model of c/model_events.c, with events or contacts."""
    return model(name, EVENTS)

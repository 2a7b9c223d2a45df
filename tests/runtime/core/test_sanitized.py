"""A shipped model with bad arguments; under `make test-sanitized` also that the sanitizers are active."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_runtime_safety import bad_span, bad_time, bad_vector, good

from chaplygin.runtime import ArgumentError

SANITIZED = os.environ.get("CHAPLYGIN_SANITIZED")


def attempt(rng: random.Random, model: Any) -> Callable[[], Any]:
    """A call with one wrong argument."""
    y, p = good(rng, model.states), good(rng, model.parameters)
    t: Any = rng.choice([0, 0.5, np.float64(1)])
    spoilt = rng.choice(("t", "y", "p", "span"))
    if spoilt == "span":
        span = bad_span(rng)
        return lambda: model.integrate(span, y, p)
    if spoilt == "t":
        t = bad_time(rng)
    elif spoilt == "y":
        y = bad_vector(rng, model.states)
    else:
        p = bad_vector(rng, model.parameters)
    return rng.choice(
        [
            lambda: model.rhs(t, y, p),
            lambda: model.jacobian(t, y, p),
            lambda: model.evaluate(t, y, p),
            lambda: model.integrate((t, 2.0), y, p),
            lambda: model.stepper(y, p, t0=t),
        ]
    )


def test_two_thousand_bad_arguments_for_a_shipped_module() -> None:
    model: Any = pytest.importorskip("chaplygin.generated.chaplygin_sleigh").model
    rng = random.Random(7)
    for _ in range(2_000):
        call = attempt(rng, model)
        with pytest.raises(ArgumentError):
            call()
    assert model.integrate((0, 3), [0, 0, 0, 1, 1], [0.4, 0.15, 0.6]).success


@pytest.mark.skipif(SANITIZED is None, reason="runs under make test-sanitized")
def test_the_sanitized_extensions_are_those_that_run() -> None:
    for name in ("runtime.core._core", "generated.chaplygin_sleigh"):
        path = Path(str(import_module(f"chaplygin.{name}").__file__))
        assert path.is_relative_to(str(SANITIZED))
        assert b"__asan_report_load8" in path.read_bytes()
        assert b"__ubsan_handle" in path.read_bytes()


@pytest.mark.skipif(SANITIZED is None, reason="runs under make test-sanitized")
def test_an_error_is_found() -> None:
    """A kernel given an array that is too short reads beyond it: the process ends with a report."""
    script = """
import ctypes
from chaplygin.generated.chaplygin_sleigh import model
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
short = libc.malloc(8)
out = (ctypes.c_double * 5)()
rhs = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[ctypes.c_void_p] * 5)(model.addresses["rhs"])
rhs(0.0, short, (ctypes.c_double * 3)(0.4, 0.15, 0.6), None, out, None)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr
    assert "chaplygin_sleigh_rhs" in done.stderr

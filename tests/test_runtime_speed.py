"""What a call from Python may cost; bounds several times above what was measured, best of many."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hand_written import key_of, sources
from runtime_models import model, needs_core

from chaplygin.codegen.build import build

pytestmark = needs_core

INITIAL = {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": 1.0, "v": 1.0}
PARAMETERS = {"m": 1.0, "a": 0.2, "J": 0.5}
VECTORS = (np.array(list(INITIAL.values())), np.array(list(PARAMETERS.values())), np.array([0.1]))


def microseconds(call: Callable[[], Any], repeat: int) -> float:
    best = float("inf")
    for _ in range(30):
        begin = time.perf_counter()
        for _ in range(repeat):
            call()
        best = min(best, (time.perf_counter() - begin) / repeat)
    return best * 1e6


def test_one_right_hand_side_takes_less_than_a_microsecond() -> None:
    rhs, (y, p, u) = model("sleigh").rhs, VECTORS
    assert microseconds(lambda: rhs(0.0, y, p, u), 2000) < 1.0
    inputs = {"tau": 0.1}
    assert microseconds(lambda: rhs(0.0, INITIAL, PARAMETERS, inputs), 2000) < 1.0


@pytest.mark.parametrize("options", [{"method": "rk4", "step": 0.4}, {"method": "dop853"}])
@pytest.mark.parametrize("given", [VECTORS, (INITIAL, PARAMETERS, {"tau": 0.1})], ids=["arrays", "dicts"])
def test_ten_steps_take_less_than_ten_microseconds(given: Any, options: dict[str, Any]) -> None:
    integrate = model("sleigh").integrate
    assert integrate((0.0, 4.0), *given, **options).n_steps >= 10
    assert microseconds(lambda: integrate((0.0, 4.0), *given, **options), 300) < 10.0


def test_a_compiled_model_loads_in_ten_milliseconds() -> None:
    texts = sources("quick_oscillator")
    path = build(texts, key=key_of(texts))
    code = """
        import sys, time
        import chaplygin.runtime as runtime
        begin = time.perf_counter()
        runtime.load_model(sys.argv[1])
        print(time.perf_counter() - begin)
        """
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    seconds = [float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(3)]
    assert min(seconds) < 0.01

"""Memory that a million trajectories need in addition to their result arrays, measured in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sizes import scaled

_MEASURE = """
import json, re, sys, time
import numpy as np
import chaplygin as cg
from importlib import import_module

name, runs = sys.argv[1], int(sys.argv[2])
model = import_module("chaplygin.generated." + name).model
entry = cg.example(name)
start = {state: np.full(runs, float(entry.initial[state])) for state in model.states}

def status(key):
    return int(re.search(key + r":\\s*(\\d+)", open("/proc/self/status").read()).group(1)) * 1024

def ensemble(count):
    initial = {state: column[:count] for state, column in start.items()}
    return cg.ensemble(model, (0, 0.01), initial=initial, parameters=entry.parameters, progress=False)

ensemble(min(runs, 5000))
open("/proc/self/clear_refs", "w").write("5")  # the peak is counted from here
before = status("VmRSS")
begin = time.perf_counter()
result = ensemble(runs)
seconds = time.perf_counter() - begin
results = sum(a.nbytes for a in (result.y, result.t, result.status, result.nfev, result.n_steps))
print(json.dumps({"beside": status("VmHWM") - before - results, "results": results, "seconds": seconds}))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize("name", scaled(["harmonic_oscillator", "heavy_top"], ["heavy_top"]))
def test_memory(name: str, timed: Any) -> None:
    runs = scaled(1_000_000, 20_000)
    seconds: list[float] = []
    found: dict[str, float] = {}

    def run() -> None:
        command = [sys.executable, "-c", _MEASURE, name, str(runs)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.update(json.loads(done.stdout))
        seconds.append(found["seconds"])

    timed(
        f"memory of {runs} trajectories, initial states and results as arrays",
        name,
        run,
        rounds=1,
        warmup=False,
        inner=seconds,
        per=runs,
    )
    beside = found["beside"] / 1e6
    timed.info.update(
        memory=f"{found['results'] / 1e6:.0f} MB of results and {beside:.0f} MB more",
        ratios=[
            {
                "what": f"{name}: MB in addition to the results",
                "value": beside,
                "goal": 50.0,
                "most": True,
                "met": beside <= 50,
            }
        ],
    )

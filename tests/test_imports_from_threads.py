"""Threads that import the package, and what it imports late, while others already run: in new processes."""

from __future__ import annotations

import pytest
from processes import python
from runtime_models import needs_core

pytestmark = needs_core

RUN = """
import sys, threading, traceback
sys.setswitchinterval(1e-6)
barrier, found, failures = threading.Barrier(8), [], []

def run(i):
    barrier.wait()
    try:
        import numpy as np
        if i < 2:
            import numpy.ma  # what an argument is asked for
        import chaplygin as cg
        from chaplygin.generated import harmonic_oscillator
        model, start, numbers = harmonic_oscillator.model, {"x": np.float32(1), "x_dot": 0}, {"m": 1, "k": np.int64(4)}
        end = model.integrate((0, 1), start, numbers, t_eval=[np.float64(0), 1]).y[0, -1]
        if i % 4 == 1:
            ends = cg.ensemble(model, (0, 1), start, numbers, n=2, t_eval=(0, 1)).y[0, -1].tolist()
        elif i % 4 == 2:
            assert cg.load_model(harmonic_oscillator.__file__) is model
            ends = []
        elif i % 4 == 3:
            study = cg.study(model, (0, 1), start, numbers, n=2, collect={"end": cg.final("x")})
            ends = study.results["end"]["x"].tolist()
        else:
            stepper = model.stepper(start, numbers)
            stepper.set_state(x=np.float32(1))
            stepper.advance(np.float32(1))
            ends = []
        found.append((id(model), end, *ends))
    except BaseException:
        failures.append(traceback.format_exc())

threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("".join(failures), end="")
models, values = {each[0] for each in found}, {value for each in found for value in each[1:]}
print(len(found), len(models), len(values), max(abs(value + 0.4161468365471424) for value in values) < 1e-6)  # cos 2
"""


@pytest.mark.parametrize("attempt", range(12))
@pytest.mark.sample(3)
def test_eight_threads_import_and_run_at_once(attempt: int) -> None:
    assert python(RUN) == "8 1 1 True\n"

"""Sampled inputs: Duffing runs with samples of their own, beside shared ones, none, and RK4 in numba.

    python -m pytest bench/bench_samples.py

4,096 runs over 10 s in one thread, with parameters of their own: x'' = F - d x' - a x - b x^3, F linear between 201
samples. Times are CPU times of one run. Errors are those of x at the end, the largest of 64 runs, against DOP853 of
SciPy between the samples.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
from machine import processor
from scipy.integrate import solve_ivp

import chaplygin as cg

N, END, STEPS = 4096, 10.0, 400
TIMES = np.linspace(0, END, 201)
RANDOM = np.random.default_rng(0)
NUMBERS = {
    "a": 1 + 0.2 * RANDOM.random(N),
    "b": 1 + 0.2 * RANDOM.random(N),
    "d": 0.1 + 0.02 * RANDOM.random(N),
}
ROWS = np.sin(np.outer(1 + RANDOM.random(N), TIMES)) / 2
START = {"x": 0.5, "x_dot": 0.0}
CHECKED = 64


def duffing() -> cg.Model:
    x, F = cg.coordinates("x"), cg.inputs("F")
    a, b, d = cg.parameters("a b d")
    v = cg.rate(x)
    system = cg.System(
        "duffing", coordinates=[x], kinetic=v**2 / 2, potential=a * x**2 / 2 + b * x**4 / 4, forces={v: F - d * v}
    )  # fmt: skip
    return system.compile(wait=True)


def exact() -> Any:
    """x at the end of the first runs."""
    found = []
    for numbers, row in zip(np.array([NUMBERS[name] for name in "abd"]).T[:CHECKED], ROWS):
        y = np.array(list(START.values()))
        for span, levels in zip(pairwise(TIMES), pairwise(row)):
            y = solve_ivp(
                motion, span, y, "DOP853", args=(*numbers, *span, *levels), rtol=1e-12, atol=1e-13
            ).y[:, -1]  # fmt: skip
        found.append(y[0])
    return np.array(found)


def motion(t: float, y: Any, a: float, b: float, d: float, t0: float, t1: float, f0: float, f1: float) -> Any:
    F = f0 + (f1 - f0) / (t1 - t0) * (t - t0)
    return [y[1], F - d * y[1] - a * y[0] - b * y[0] ** 3]


def in_numba() -> Any:
    """A function of (times, rows, a, b, d, steps) by hand, or None."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(fastmath=False)
    def run(times: Any, rows: Any, a: Any, b: Any, d: Any, steps: int) -> Any:
        out = np.empty(len(rows))
        h, spacing = times[-1] / steps, times[1] - times[0]
        for i in range(len(rows)):
            x, v = 0.5, 0.0
            for s in range(steps):
                f = np.empty(3)
                for c in range(3):
                    place = (s + 0.5 * c) * h / spacing
                    j = min(int(place), len(times) - 2)
                    f[c] = rows[i, j] + (rows[i, j + 1] - rows[i, j]) * (place - j)
                k1, l1 = v, f[0] - d[i] * v - a[i] * x - b[i] * x**3
                x2, v2 = x + h / 2 * k1, v + h / 2 * l1
                k2, l2 = v2, f[1] - d[i] * v2 - a[i] * x2 - b[i] * x2**3
                x3, v3 = x + h / 2 * k2, v + h / 2 * l2
                k3, l3 = v3, f[1] - d[i] * v3 - a[i] * x3 - b[i] * x3**3
                x4, v4 = x + h * k3, v + h * l3
                k4, l4 = v4, f[2] - d[i] * v4 - a[i] * x4 - b[i] * x4**3
                x += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
                v += h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
            out[i] = x
        return out

    return run


def best(call: Any, turns: int = 9) -> tuple[float, Any]:
    """The least CPU time of a run in microseconds, and the result."""
    least = np.inf
    for _ in range(turns):
        begin = time.thread_time()
        found = call()
        least = min(least, time.thread_time() - begin)
    return least / N * 1e6, found


def test_samples_of_every_run() -> None:
    print(processor())
    model, right = duffing(), exact()
    kinds = {
        "no samples": 0.3,
        "shared, linear": (TIMES, ROWS[0], "linear"),
        "own, held": (TIMES, ROWS),
        "own, linear": (TIMES, ROWS, "linear"),
        "own, cubic": (TIMES, ROWS, "cubic"),
    }
    fixed = {"method": "rk4", "step": END / STEPS}
    ways = {
        "rtol 1e-6": {"rtol": 1e-6, "atol": 1e-6},
        f"rk4, {STEPS} steps": fixed,
        f"rk4, {STEPS} steps, at_samples=False": {**fixed, "at_samples": False},
    }
    for way, options in ways.items():
        for kind, F in kinds.items():
            took, ens = best(
                lambda F=F, options=options: model.ensemble(
                    (0, END), START, NUMBERS, {"F": F}, threads=1, **options
                )
            )
            error = f", error {abs(ens['x'][:CHECKED] - right).max():.1e}" if kind == "own, linear" else ""
            print(f"{way:38} {kind:15} {took:8.2f} us a run, {ens.lanes} lanes{error}")
    by_hand = in_numba()
    if by_hand is not None:
        given = TIMES, ROWS, NUMBERS["a"], NUMBERS["b"], NUMBERS["d"], STEPS
        by_hand(*given)
        took, found = best(lambda: by_hand(*given))
        print(f"{'numba, RK4 by hand':38} {'own, linear':15} {took:8.2f} us a run, error "
              f"{abs(found[:CHECKED] - right).max():.1e}")  # fmt: skip

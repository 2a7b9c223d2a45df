"""A study of many sleighs with five uncertain numbers, beside the same study written by hand.

Every trajectory has five normal draws of its own; kept are the moments and three quantiles of the distance travelled,
and the probability that the sleigh turns round. A row's time is that of one trajectory. The rows "given arrays" run the
same trajectories with draws made before, and keep all final states: they lack the cost of draws and statistics. `python
bench/bench_studies.py N` runs one study of N trajectories, with its time, its memory, and the time extrapolated to 1e9.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from cases import SLEIGH
from peers import available
from scipy import stats
from sizes import CORES, ROUNDS, scaled
from turns import Contender, Ratio

import chaplygin as cg

MANY = scaled(1_000_000, 2000)
FEW = scaled(20_000, 500)
SLOW = scaled(200, 20)
"""Trajectories of contenders whose time for each does not depend on their number."""
T_END = 10.0
TOLERANCE = 1e-9
Q = [0.05, 0.5, 0.95]
STATES = ("phi", "x", "y", "omega", "v")
MEAN = {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": 1.0, "v": 1.0}
SPREAD = {"phi": 0.1, "x": 0.05, "y": 0.05, "omega": 0.3, "v": 0.2}
GROUP = "a study of sleighs, five normal draws each: moments, quantiles and a probability"


@cache
def entries() -> dict[str, Any]:
    x, omega = cg.coordinates("x"), cg.velocities("omega")
    return {
        "end": cg.moments("x", "y"),
        "quantiles": cg.quantiles("x", Q),
        "turned": cg.probability(omega < x),
    }


def numbers() -> dict[str, float]:
    return {str(name): float(value) for name, value in SLEIGH.entry.parameters.items()}


def study(n: int, threads: int = CORES) -> Callable[[], Any]:
    """Draws, trajectories and statistics."""

    def run() -> Any:
        start = {name: stats.norm(MEAN[name], SPREAD[name]) for name in STATES}
        return cg.study(
            SLEIGH.model, (0, T_END), start, numbers(), n=n, seed=7, collect=entries(), threads=threads, progress=False
        )  # fmt: skip

    return run


def given(n: int, threads: int = CORES) -> Callable[[], Any]:
    """The same trajectories from arrays."""
    start = {name: np.array(column) for name, column in study(n)().draws.items()}

    def run() -> Any:
        return cg.ensemble(SLEIGH.model, (0, T_END), start, numbers(), n=n, threads=threads, progress=False)

    return run


def by_hand(n: int) -> Callable[[], Any]:
    """With NumPy, SciPy's DOP853 and joblib."""
    import joblib
    from scipy.integrate import solve_ivp

    a, b, k = (numbers()[name] for name in ("a", "b", "k"))

    def rates(t: float, state: Any) -> list[float]:
        phi, _, _, omega, v = state
        turning = -a * omega * (v - b * omega) / (k**2 + a**2)
        return [omega, v * math.cos(phi), v * math.sin(phi), turning, a * omega**2 + b * turning]

    def block(seed: int, count: int) -> Any:
        draws = np.random.default_rng([7, seed]).normal(
            list(MEAN.values()), list(SPREAD.values()), (count, 5)
        )
        ends = [
            solve_ivp(rates, (0, T_END), row, "DOP853", rtol=TOLERANCE, atol=TOLERANCE).y[:, -1]
            for row in draws
        ]
        return np.array(ends)

    def run() -> Any:
        with joblib.Parallel(CORES) as parallel:
            blocks = parallel(joblib.delayed(block)(i, n // CORES) for i in range(CORES))
        return reduced(np.concatenate(blocks))

    return run


def by_numbalsoda(n: int) -> Callable[[], Any]:
    """With NumPy, and numba's parallel loop over numbalsoda's dop853."""
    import numba
    import numbalsoda

    numba.set_num_threads(CORES)
    solver, solver_address = numbalsoda.dop853, sleigh_in_numba().address
    parameters, times = np.array([numbers()[name] for name in ("a", "b", "k")]), np.array([0.0, T_END])

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator, unused-ignore]
    def loop(address: Any, draws: Any, ends: Any) -> None:
        for i in numba.prange(len(draws)):
            states, _ = solver(address, draws[i], times, parameters, TOLERANCE, TOLERANCE, 100_000)
            ends[i] = states[-1]

    def run() -> Any:
        draws = np.random.default_rng(7).normal(list(MEAN.values()), list(SPREAD.values()), (n, 5))
        ends = np.empty_like(draws)
        loop(solver_address, draws, ends)
        return reduced(ends)

    return run


@cache
def sleigh_in_numba() -> Any:
    """The sleigh's right-hand side, written by hand with numbalsoda's signature."""
    import numba
    import numbalsoda

    @numba.cfunc(numbalsoda.lsoda_sig)  # type: ignore[untyped-decorator, unused-ignore]
    def rates(t: float, state: Any, out: Any, p: Any) -> None:
        phi, omega, v = state[0], state[3], state[4]
        out[0] = omega
        out[1] = v * math.cos(phi)
        out[2] = v * math.sin(phi)
        out[3] = -p[0] * omega * (v - p[1] * omega) / (p[2] ** 2 + p[0] ** 2)
        out[4] = p[0] * omega**2 + p[1] * out[3]

    return rates


def reduced(ends: Any) -> dict[str, Any]:
    """The statistics of final states (n, 5)."""
    x, y, omega = ends[:, 1], ends[:, 2], ends[:, 3]
    return {
        "mean": (x.mean(), y.mean()),
        "covariance": np.cov(x, y),
        "quantiles": np.quantile(x, Q),
        "turned": (omega < x).mean(),
    }


def lines(*functions: Callable[..., Any]) -> str:
    """How many lines of code a study takes, without its docstrings and blank lines."""
    count = 0
    for function in functions:
        text = inspect.getsource(function).splitlines()
        count += sum(1 for line in text if line.strip() and not line.strip().startswith('"""'))
    return f"{count} lines"


def contenders() -> dict[str, Contender]:
    """The rows by a short name; those by hand only if their packages are installed."""
    found = {
        "study": Contender(f"study, {CORES} threads", study(MANY), MANY, note=lines(entries, study)),
        "given": Contender(f"the same trajectories from given arrays, {CORES} threads", given(MANY), MANY),
        "one": Contender("study, one thread", study(MANY, 1), MANY),
        "given, one": Contender("the same trajectories from given arrays, one thread", given(MANY, 1), MANY),
    }
    hand = available("joblib", lambda: by_hand(SLOW))
    if hand is not None:
        name = f"by hand with NumPy, SciPy's DOP853 and joblib, {CORES} processes"
        found["hand"] = Contender(name, hand, SLOW // CORES * CORES, note=lines(by_hand, reduced))
    loop = available("numbalsoda", lambda: by_numbalsoda(FEW))
    if loop is not None:
        name = f"by hand with NumPy and numbalsoda's dop853 in prange, {CORES} threads"
        found["loop"] = Contender(name, loop, FEW, note=lines(by_numbalsoda, sleigh_in_numba, reduced))
    return found


@pytest.mark.parametrize(
    ("package", "by", "n"), [("joblib", by_hand, SLOW), ("numbalsoda", by_numbalsoda, FEW)]
)
def test_the_studies_agree(package: str, by: Callable[[int], Any], n: int) -> None:
    """Estimates of different draws differ by at most five standard errors, which those of more draws know better."""
    pytest.importorskip(package)
    ours, right = study(FEW)().results, by(n)()
    for i, name in enumerate(("x", "y")):
        error = math.sqrt(ours["end"].covariance[i, i] * (1 / n + 1 / FEW))
        assert abs(ours["end"].mean[name] - right["mean"][i]) < 5 * error
    p = ours["turned"].p
    assert abs(p - right["turned"]) < 5 * math.sqrt(p * (1 - p) * (1 / n + 1 / FEW))


def test_studies(turns: Any) -> None:
    rows = contenders()
    ratios = [
        Ratio("study: time relative to given arrays", rows["study"], rows["given"], 1.6, inverse=True),
        Ratio("the same with one thread", rows["one"], rows["given, one"], 1.6, inverse=True),
        Ratio("two threads, speedup over one", rows["study"], rows["one"]),
    ]
    for name, what in (("hand", "SciPy and joblib"), ("loop", "numbalsoda's loop")):
        if name in rows:
            ratios.append(Ratio(f"study: speedup over {what}", rows["study"], rows[name]))
    turns(GROUP, list(rows.values()), ratios, ROUNDS)


def large(n: int) -> None:
    """One study of n trajectories, with its memory; the time with given arrays is that of MANY, again and again."""
    import resource

    begin = perf_counter()
    result = study(n)()
    each = (perf_counter() - begin) / n
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    few = given(MANY)
    few()
    begin = perf_counter()
    for _ in range(max(1, n // MANY)):
        few()
    apart = (perf_counter() - begin) / max(1, n // MANY) / MANY
    print(f"study of {n:.0e}: {each * n:.1f} s, {1e9 * each:.0f} ns a trajectory, {memory:.0f} MB in all")
    print(f"given arrays: {1e9 * apart:.0f} ns a trajectory; the study takes {each / apart:.2f} of it")
    print(f"extrapolated to 1e9: {each * 1e9:.0f} s")
    print(result.summary())


if __name__ == "__main__":
    large(int(float(sys.argv[1])) if len(sys.argv) > 1 else MANY)

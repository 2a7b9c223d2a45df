"""One trajectory from the catalogue's initial state, t = 0..100 at rtol = atol = 1e-9, final state only.

The error next to each time is the median error of the same settings at t = 10 over the ensemble's sample: the heavy top
magnifies a deviation by about 1e4 in ten seconds, so its state at t = 100 cannot be checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ours
import pytest
from cases import CASES, CHAIN, SLEIGH, T_END, TOLERANCE, TOP, Case, rk4_plain
from peers import Single, available, emitted, jit_c, kane, one_by_one, plain, taylor, vmap
from sizes import SAMPLE, scaled
from turns import Contender, Ratio, quick_time
from workload import STEP, T_ENSEMBLE, Setting, reaching, sample_error, workload

EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
NUMBALSODA_GOAL = {TOP: 0.65, CHAIN: 0.9}
HEYOKA_GOAL = {TOP: 0.5}
TAYLOR_GOAL = {SLEIGH: 1.0}
TIGHT = 1e-13
SLOW = scaled(10, 1)
"""Number of trajectories for the error of a slow peer."""
AT_ONCE = scaled(20, 1)
"""Short runs per timing."""


def row(case: Case, text: str, run: Single, runs: int = 1, sample: int = SAMPLE) -> Contender:
    """Row with a function that integrates ``runs`` times, so that the time is well above the clock's resolution."""
    load, start = workload(case), case.initial

    def repeated() -> None:
        for _ in range(runs):
            run(start, T_END)

    repeated()
    return Contender(
        text, repeated, runs, load.error(one_by_one(run, load.first(sample), T_ENSEMBLE)()), note=""
    )


def own(case: Case, setting: Setting, runs: int, reproducible: bool = False) -> Contender:
    single = ours.single(case, setting.tolerance, setting.method, reproducible)
    return row(case, f"chaplygin {setting}{', reproducible' * reproducible}", single, runs)


def fastest(case: Case, settings: list[Setting], runs: int) -> Setting:
    def seconds(setting: Setting) -> float:
        run = ours.single(case, setting.tolerance, setting.method)
        return quick_time(lambda: [run(case.initial, T_END) for _ in range(runs)])

    return min(settings, key=seconds)


@EACH_CASE
def test_single(case: Case, turns: Any) -> None:
    runs = scaled(4 if case is CHAIN else 40, 1)

    def peer(text: str, name: str, count: int, make: Callable[[], Single], sample: int = SAMPLE) -> Any:
        return available(name, lambda: row(case, text, make(), count, sample))

    numbalsoda = peer(
        "numbalsoda dop853, emitted C", "numbalsoda", runs, lambda: emitted.single(case, reproducible=False)
    )
    heyoka = peer("heyoka Taylor 1e-9", "heyoka", runs, lambda: taylor.single(case))
    at_tolerance = [Setting(method, TOLERANCE) for method in ours.ADAPTIVE]
    limit = numbalsoda.error if numbalsoda else float("inf")
    fair = [setting for setting in at_tolerance if sample_error(case, setting) <= limit]
    best = fastest(case, fair or [Setting("dop853", TOLERANCE)], runs)
    one, same_bits = own(case, best, runs), own(case, best, runs, reproducible=True)
    rows, ratios = [one, same_bits], []
    if numbalsoda:
        rows.append(numbalsoda)
        goal = NUMBALSODA_GOAL.get(case)
        ratios += [
            Ratio(
                "single run, time relative to numbalsoda's dop853 at 1e-9",
                one,
                numbalsoda,
                goal,
                inverse=True,
            ),
            Ratio("the same, reproducible", same_bits, numbalsoda, inverse=True),
        ]
    if heyoka and (matching := reaching(case, heyoka.error)):
        matched = own(case, fastest(case, matching, runs), runs)
        rows += [matched, heyoka]
        what = "single run, time relative to heyoka at equal error"
        ratios.append(Ratio(what, matched, heyoka, HEYOKA_GOAL.get(case), inverse=True))
    elif heyoka:
        rows.append(heyoka)
    few = 1 if case is CHAIN else 2
    others = [
        peer(
            "numbalsoda lsoda, emitted C",
            "numbalsoda",
            runs,
            lambda: emitted.single(case, method="lsoda", reproducible=False),
        ),
        peer("JiTCODE dop853", "JiTCODE", few, lambda: jit_c.single(case)),
        peer("diffrax Dopri8", "diffrax", few, lambda: vmap.single(case)),
        peer("SciPy LSODA, lambdify", "SciPy", 1, lambda: plain.single(case), SLOW),
        peer("SciPy DOP853, lambdify", "SciPy", 1, lambda: plain.single(case, method="DOP853"), SLOW),
        peer("PyDy, Cython, SciPy LSODA", "PyDy", 1, lambda: kane.single(case), SLOW),
    ]
    rows += [other for other in others if other]
    turns(f"one run, t = 0..100, 1e-9: {case.key}", rows, ratios, rounds=5)


@pytest.mark.parametrize("case", [case for case in CASES if case is not CHAIN], ids=lambda case: case.key)
def test_taylor(case: Case, turns: Any) -> None:
    """Taylor's method against heyoka's at 1e-13: at the same tolerance, and at the largest that is as accurate."""
    runs = scaled(40, 1)
    heyoka = available("heyoka", lambda: row(case, "heyoka Taylor 1e-13", taylor.single(case, TIGHT), runs))
    rows = [
        own(case, Setting("taylor", factor * TIGHT), runs)
        for factor in scaled((1, 1.25, 1.6, 2, 2.5, 3.2, 4, 8), (1, 2))
    ]
    ratios = []
    if heyoka:
        limit = heyoka.error or 0.0
        fair = [one for one in rows if (one.error or 0.0) <= limit] or rows[:1]
        what = "taylor, time relative to heyoka at 1e-13"
        ratios = [
            Ratio(f"{what}, the same tolerance", rows[0], heyoka, inverse=True),
            Ratio(f"{what}, equal error", fair[-1], heyoka, TAYLOR_GOAL.get(case), inverse=True),
        ]
        rows = [*dict.fromkeys((rows[0], fair[-1])), heyoka]
    rows.append(own(case, Setting("vern9", TIGHT), runs))
    turns(f"one run, t = 0..100, 1e-13: {case.key}", rows, ratios, rounds=15)


@EACH_CASE
def test_fixed_step(case: Case, turns: Any) -> None:
    """Runge-Kutta of order 4, 1000 steps to t = 10: the same arithmetic, compiled and in plain Python."""
    field, y, steps = case.python_field(), case.initial.tolist(), round(T_ENSEMBLE / STEP)
    single = ours.single(case, method="rk4", step=STEP)
    compiled = Contender(
        "chaplygin rk4",
        lambda: [single(case.initial, T_ENSEMBLE) for _ in range(AT_ONCE)],
        AT_ONCE,
        error=case.error_at_10(single(case.initial, T_ENSEMBLE)),
    )
    python = Contender(
        "plain Python RK4, lambdify",
        lambda: rk4_plain(field, y, STEP, steps),
        error=case.error_at_10(rk4_plain(field, y, STEP, steps)),
    )
    turns(f"rk4, 1000 steps: {case.key}", [compiled, python], [], rounds=5)

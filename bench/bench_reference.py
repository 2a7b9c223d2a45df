"""The package relative to the hand-written reference, each side at the tolerance that gives a median error of 1e-9.

The top, the sleigh and five links, t = 0..10, one core. The reference itself counts as valid only if it is so many
times faster than heyoka's batch loop as `VALID` says; heyoka has five links as the same O(n) recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import ours
import peak
import pytest
import reference
from bench_lanes import operations
from cases import CASES, CHAIN, SLEIGH, T_END, TOP, Array, Case
from peers import Many, Single, available, emitted, one_by_one, taylor
from peers.graph import right_hand_side
from sizes import ROUNDS, SAMPLE, scaled
from turns import Contender, Ratio
from workload import STEP, T_ENSEMBLE, workload

EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
ERROR = 1e-9
VALID = {TOP: 4.4, SLEIGH: 4.6, CHAIN: 2.9}
PART_GOAL = {TOP: 1.05, SLEIGH: 1.10, CHAIN: 1.15}
HEYOKA_GOAL = {TOP: 4.0, SLEIGH: 4.2, CHAIN: 2.6}
RK4_GOAL = {TOP: 0.95, CHAIN: 0.95}
SINGLE_GOAL = {TOP: 0.6, SLEIGH: 0.5, CHAIN: 0.85}
SMALL_GOAL = scaled({8: 1.8, 64: 1.5, 400: 1.25}, {8: 1.8})
CALL = 60e-6
"""Seconds of a call that do not count against a small ensemble."""
RUNS = {TOP: scaled(20_000, 64), SLEIGH: scaled(100_000, 64), CHAIN: scaled(2000, 64)}
"""Each row takes some hundredths of a second, so that many rounds fit between other programs' turns."""
METHODS: dict[str, dict[str, Any]] = {
    "chaplygin by default": {"method": None, "lanes": None, "reproducible": True},
    "chaplygin vern9": {"method": "vern9", "lanes": None, "reproducible": True},
    "chaplygin vern9, contraction allowed": {"method": "vern9", "lanes": None, "reproducible": False},
}
Maker = Callable[[Array, float], Many]


def tuned(case: Case, make: Maker, halvings: int = 9, error: float = ERROR) -> float:
    """The largest tolerance whose median error is at most `error`: the error is no monotone function of it."""
    load = workload(case)

    def reached(exponent: float) -> bool:
        return load.error(make(load.first(SAMPLE), 10.0**exponent)()) <= error

    fine, coarse = -13.0, -5.0
    for _ in range(scaled(halvings, 1)):
        middle = (fine + coarse) / 2
        if reached(middle):
            fine = middle
        else:
            coarse = middle
    above = [fine + i / 40 for i in range(1, scaled(13, 2))]
    return float(10.0 ** max([fine, *filter(reached, above)]))


@cache
def makers(case: Case) -> dict[str, Maker]:
    def package(options: dict[str, Any], y: Array, tolerance: float) -> Many:
        return ours.many(case, y, T_ENSEMBLE, tolerance, **options)

    return {
        "hand-written vern9": lambda y, tolerance: reference.many(case, y, T_ENSEMBLE, tolerance),
        **{name: partial(package, options) for name, options in METHODS.items()},
    }


def tuned_row(case: Case, text: str, make: Maker, halvings: int = 9) -> Contender:
    tolerance, start = tuned(case, make, halvings), workload(case).first(RUNS[case])
    run = make(start, tolerance)
    return Contender(f"{text}, {tolerance:.1e}", run, start.shape[1], workload(case).error(run()))


def heyoka(y: Array, tolerance: float, case: Case) -> Many:
    equations = reference.five_links if case is CHAIN else right_hand_side
    return taylor.many(case, y, T_ENSEMBLE, tolerance, equations)


@EACH_CASE
def test_equal_error(case: Case, turns: Any) -> None:
    rows = [tuned_row(case, text, make) for text, make in makers(case).items()]
    hand, default, vern9, contracted = rows
    ratios = [
        Ratio("by default, time relative to the reference", default, hand, PART_GOAL[case], inverse=True),
        Ratio("vern9, time relative to the reference", vern9, hand, inverse=True),
        Ratio("vern9 with contraction, time relative to the reference", contracted, hand, inverse=True),
    ]
    peer = available(
        "heyoka", lambda: tuned_row(case, "heyoka, batches of 8", partial(heyoka, case=case), halvings=6)
    )
    if peer is not None:
        rows.append(peer)
        ratios += [
            Ratio("validity of the reference: speedup over heyoka's batch loop", hand, peer, VALID[case]),
            Ratio("by default, speedup over heyoka's batch loop", default, peer, HEYOKA_GOAL[case]),
        ]
    turns(f"beside the reference at equal error, per trajectory: {case.key}", rows, ratios, rounds=4 * ROUNDS)


@EACH_CASE
def test_rk4(case: Case, turns: Any) -> None:
    load = workload(case).first(min(RUNS[case], scaled(2048 if case is not CHAIN else 512, 64)))
    runs, steps = load.shape[1], round(T_ENSEMBLE / STEP)
    run, count = reference.many_fixed(case, load, T_ENSEMBLE, STEP)
    hand = Contender("hand-written rk4", run, runs, workload(case).error(run()), flops=count)
    own_count = runs * steps * (4.0 * operations(case) + 13.0 * len(case.model.states))
    burst, at_peak = peak.burst(scaled(1_000_000, 1000))
    rows, ratios = [hand], []
    for reproducible in (True, False):
        own = ours.many(
            case, load, T_ENSEMBLE, method="rk4", step=STEP, lanes=None, reproducible=reproducible
        )
        bits = "" if reproducible else ", contraction allowed"
        rows.append(
            Contender(f"chaplygin rk4{bits}", own, runs, workload(case).error(own()), flops=own_count)
        )
        what = f"rk4{bits}: right-hand sides a second against the reference"
        ratios.append(Ratio(what, rows[-1], hand, RK4_GOAL.get(case) if reproducible else None))
    top = Contender("multiply-adds alone", burst, flops=at_peak, apart=True)
    ratios += [
        Ratio(f"{row.row}: share of the FMA peak, all operations", row, top, rates=True) for row in rows
    ]
    title = f"rk4 beside the reference, {steps} steps, per trajectory: {case.key}"
    turns(title, [*rows, top], ratios, rounds=4 * ROUNDS)


@EACH_CASE
def test_small_ensembles(case: Case, turns: Any) -> None:
    """The whole ensemble is repeated so often that the clock's resolution does not matter."""
    load = workload(case)

    def row(count: int, calls: int) -> Contender:
        run = ours.many(case, load.first(count), T_ENSEMBLE, method=None, lanes=None, reproducible=True)

        def repeated() -> None:
            for _ in range(calls):
                run()

        repeated()
        text = f"ensemble of {count}" + (f", without {1e6 * CALL:.0f} µs for each call" if calls > 1 else "")
        return Contender(text, repeated, count * calls, free=CALL * calls if calls > 1 else 0.0)

    large = row(RUNS[case], 1)
    small = {count: row(count, max(2, scaled(4000, 40) // count)) for count in SMALL_GOAL}
    ratios = [
        Ratio(
            f"{count} trajectories, time of one above {1e6 * CALL:.0f} µs a call relative to a large ensemble's",
            small[count],
            large,
            goal,
            inverse=True,
        )
        for count, goal in SMALL_GOAL.items()
    ]
    turns(
        f"small ensembles by default, per trajectory: {case.key}",
        [large, *small.values()],
        ratios,
        rounds=2 * ROUNDS,
    )


@EACH_CASE
def test_single_runs(case: Case, turns: Any) -> None:
    """t = 0..100 at 1e-9, and at the median error of numbalsoda, which calls the reference's right-hand side."""
    runs, load = scaled(4 if case is CHAIN else 40, 1), workload(case)

    def package(method: str, tolerance: float) -> Single:
        return ours.single(case, tolerance, method, reproducible=True)

    def row(text: str, run: Single, tolerance: float = ERROR) -> Contender:
        def repeated() -> None:
            for _ in range(runs):
                run(case.initial, T_END)

        repeated()
        error = load.error(one_by_one(run, load.first(SAMPLE), T_ENSEMBLE)())
        return Contender(f"{text}, {tolerance:.1e}", repeated, runs, error)

    def at_error(method: str, error: float) -> Contender:
        def make(y: Array, tolerance: float) -> Many:
            return one_by_one(package(method, tolerance), y, T_ENSEMBLE)

        tolerance = tuned(case, make, error=error)
        return row(f"chaplygin {method}", package(method, tolerance), tolerance)

    rows = [row(f"chaplygin {method}", package(method, ERROR)) for method in ("dop853", "vern9")]
    rows.append(row("hand-written vern9", reference.single(case, ERROR)))
    peer = available(
        "numbalsoda",
        lambda: row(
            "numbalsoda dop853, hand-written right-hand side",
            emitted.solved(*reference.right_hand_side(case), ERROR),
        ),
    )
    ratios = []
    if peer is not None:
        what = "time relative to numbalsoda's dop853 with a hand-written right-hand side"
        ratios = [
            Ratio(f"single run, {text}, same tolerance: {what}", own, peer, inverse=True)
            for text, own in zip(("dop853", "vern9"), rows, strict=False)
        ]
        for method in ("dop853", "vern9"):
            rows.append(at_error(method, peer.error))
            goal = SINGLE_GOAL[case] if method == "dop853" else None
            ratios.append(
                Ratio(f"single run, {method}, equal error: {what}", rows[-1], peer, goal, inverse=True)
            )
        rows.append(peer)
    turns(f"one run beside the reference, t = 0..100: {case.key}", rows, ratios, rounds=2 * ROUNDS)

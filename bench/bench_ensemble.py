"""Many trajectories, t = 0..10, each from its own initial state; times are per trajectory.

One core unless a row says otherwise. Slow peers run only the first few trajectories. `workload.py` defines the initial
states and the reference for the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ours
import pytest
from cases import CASES, CHAIN, SLEIGH, TOLERANCE, TOP, Case
from peers import available, emitted, jit_c, kane, one_by_one, plain, taylor, vmap
from sizes import CORES, ROUNDS, scaled
from turns import Contender, Ratio, quick_time
from workload import STEP, T_ENSEMBLE, Setting, Workload, reaching, sample_error, workload

EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
HEYOKA_GOAL = {TOP: 2.3, SLEIGH: 3.5}
NUMBALSODA_GOAL = {TOP: 6.0, SLEIGH: 10.0, CHAIN: 5.0}
SCIPY_GOAL = {TOP: 500.0, SLEIGH: 500.0, CHAIN: 150.0}
TO_CHOOSE = 2000


def peer(load: Workload, row: str, name: str, runs: int, make: Callable[[Any], Any]) -> Contender | None:
    """Row of a peer for the first ``runs`` trajectories, run once for its error; None if the peer is not installed."""
    runs = min(runs, load.runs)

    def ready() -> Contender:
        run = make(load.first(runs))
        return Contender(row, run, runs, load.error(run()))

    made: Contender | None = available(name, ready)
    return made


def own(
    load: Workload, setting: Setting, *, threads: int = 1, reproducible: bool = False, **more: Any
) -> Contender:
    """Row of our own for all trajectories, in the widest lanes."""
    lanes = more.pop("lanes", ours.widest(load.case))
    run = ours.many(
        load.case,
        load.initial,
        T_ENSEMBLE,
        setting.tolerance,
        setting.method,
        threads=threads,
        lanes=lanes,
        reproducible=reproducible,
        **more,
    )
    where = f"{lanes} lane{'s' * (lanes > 1)}" + (f", {threads} threads" if threads > 1 else "")
    row = f"chaplygin {setting}, {where}{', reproducible' * reproducible}"
    return Contender(row, run, load.runs, load.error(run()))


def fastest(load: Workload, settings: list[Setting]) -> Setting:
    """The setting with the shortest time on a subset of the trajectories."""
    lanes, start = ours.widest(load.case), load.first(TO_CHOOSE)

    def seconds(setting: Setting) -> float:
        run = ours.many(load.case, start, T_ENSEMBLE, setting.tolerance, setting.method, lanes=lanes)
        return quick_time(run)

    return min(settings, key=seconds)


def at_same_tolerance(load: Workload, peers_error: float) -> Setting:
    """Our fastest method at 1e-9 that is at least as accurate as the peer; dop853 if none is."""
    all_of_them = [Setting(method, TOLERANCE) for method in ours.ADAPTIVE]
    fair = [setting for setting in all_of_them if sample_error(load.case, setting) <= peers_error]
    return fastest(load, fair or [Setting("dop853", TOLERANCE)])


def slower_peers(load: Workload, few: int) -> list[Contender]:
    """The peers that run fewer trajectories, because each takes longer."""
    case, chain = load.case, load.case is CHAIN
    found = [
        peer(
            load,
            "heyoka 1e-9, ensemble_propagate_until_batch",
            "heyoka",
            scaled(400, 8),
            lambda y: taylor.many_by_its_own_call(case, y, T_ENSEMBLE),
        ),
        peer(
            load,
            "diffrax Dopri8 1e-9, vmap, all cores",
            "diffrax",
            scaled(200 if chain else 2_000, 8),
            lambda y: vmap.many(case, y, T_ENSEMBLE),
        ),
        peer(
            load,
            "JiTCODE dop853 1e-9",
            "JiTCODE",
            2 * few,
            lambda y: one_by_one(jit_c.single(case), y, T_ENSEMBLE),
        ),
        peer(
            load,
            "PyDy, Cython, SciPy LSODA 1e-9",
            "PyDy",
            few,
            lambda y: one_by_one(kane.single(case), y, T_ENSEMBLE),
        ),
        peer(
            load,
            f"NumPy RK4, {round(T_ENSEMBLE / STEP)} steps, all runs at once",
            "NumPy",
            scaled(100 if chain else 2_000, 8),
            lambda y: plain.many(case, y, T_ENSEMBLE, STEP),
        ),
    ]
    return [contender for contender in found if contender is not None]


def against_heyoka(load: Workload, heyoka: Contender) -> tuple[list[Contender], list[Ratio]]:
    """Our fastest method that reaches heyoka's error, and the ratios."""
    matching = reaching(load.case, heyoka.error or 0.0)
    if not matching:
        heyoka.note = "none of our methods reaches this error"
        return [heyoka], []
    setting = fastest(load, matching)
    matched, repeated = own(load, setting), own(load, setting, reproducible=True)
    what = "speedup over heyoka's batch loop, one core, at equal error"
    return [matched, repeated, heyoka], [
        Ratio(what, matched, heyoka, HEYOKA_GOAL.get(load.case)),
        Ratio(f"{what}, reproducible", repeated, heyoka),
    ]


@EACH_CASE
def test_ensemble(case: Case, turns: Any) -> None:
    load, chain = workload(case), case is CHAIN
    few = scaled(5 if chain else 40, 1)
    heyoka = peer(
        load,
        "heyoka 1e-9, batches of 8 in a loop",
        "heyoka",
        load.runs,
        lambda y: taylor.many(case, y, T_ENSEMBLE),
    )
    numbalsoda = peer(
        load,
        f"numbalsoda dop853 1e-9 in prange, {CORES} threads, emitted C",
        "numbalsoda",
        load.runs,
        lambda y: emitted.many(case, y, T_ENSEMBLE, threads=CORES, reproducible=False),
    )
    scipy = peer(
        load,
        "SciPy LSODA 1e-9, lambdify",
        "SciPy",
        few,
        lambda y: one_by_one(plain.single(case), y, T_ENSEMBLE),
    )
    assert scipy is not None
    rows: list[Contender] = []
    ratios: list[Ratio] = []
    same = at_same_tolerance(
        load, numbalsoda.error if numbalsoda and numbalsoda.error else scipy.error or 0.0
    )
    one, both = own(load, same), own(load, same, threads=CORES)
    rows += [one, own(load, same, reproducible=True)]
    if heyoka is not None:
        more = against_heyoka(load, heyoka)
        rows += more[0]
        ratios += more[1]
    if CORES > 1:
        rows += [both, own(load, same, threads=CORES, reproducible=True)]
        ratios.append(
            Ratio(f"{CORES} threads, speedup over one thread", both, one, 1.85 if CORES == 2 else None)
        )
    if numbalsoda is not None:
        rows.append(numbalsoda)
        what = "speedup over numbalsoda's dop853 in prange at 1e-9"
        mine = rows[-3:-1] if CORES > 1 else rows[:2]
        ratios += [
            Ratio(what, mine[0], numbalsoda, NUMBALSODA_GOAL[case]),
            Ratio(f"{what}, reproducible", mine[1], numbalsoda),
        ]
    rows += [scipy, *slower_peers(load, few)]
    ratios += [
        Ratio("speedup over SciPy's LSODA with lambdify, one core, at 1e-9", one, scipy, SCIPY_GOAL[case]),
        Ratio("speedup over SciPy's LSODA with lambdify, one core, at 1e-9, reproducible", rows[1], scipy),
    ]
    turns(
        f"ensemble of {load.runs}, t = 0..10, per trajectory: {case.key}",
        rows,
        ratios,
        rounds=ROUNDS,
        remark=f"the reference deviates by {load.error_of_reference:.1e} from that of another integrator",
    )

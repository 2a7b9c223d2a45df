"""Points of the diagrams: time against error for a range of tolerances, and speed against the size of the ensemble."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ours
import pytest
from bench_ensemble import fastest
from cases import CASES, CHAIN, TOLERANCE, Array, Case
from peers import Many, available, emitted, jit_c, one_by_one, plain, taylor, vmap
from sizes import CORES, SAMPLE, WIDTHS, scaled
from turns import quick_time
from workload import T_ENSEMBLE, Setting, workload

EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
TOLERANCES = scaled(tuple(10.0**-i for i in range(4, 14)), (1e-8,))
Curve = list[tuple[float, float]]
Peer = tuple[int, Callable[[Array, float], Many], int]  # number of runs, factory, stride in TOLERANCES


def curve(case: Case, runs: int, make: Callable[[Array, float], Many], every: int = 1) -> Curve:
    """(error, seconds per trajectory) for each tolerance."""
    load = workload(case)
    points = []
    for tolerance in TOLERANCES[::every]:
        start = load.first(runs)
        run = make(start, tolerance)
        points.append((load.error(run()), quick_time(run, 2) / runs))
    return points


def curves_of(case: Case, peers: dict[str, Peer]) -> dict[str, Curve]:
    """The curves of the peers that are installed."""
    found = {name: available(name, partial(curve, case, *peer)) for name, peer in peers.items()}
    return {name: points for name, points in found.items() if points}


def in_lanes(case: Case, method: str, y: Array, tolerance: float) -> Many:
    return ours.many(case, y, T_ENSEMBLE, tolerance, method, lanes=ours.widest(case))


def alone(case: Case, method: str, y: Array, tolerance: float) -> Many:
    return one_by_one(ours.single(case, tolerance, method), y, T_ENSEMBLE)


@EACH_CASE
def test_ensembles(case: Case, points: Any) -> None:
    """On one core, for the packages that can be restricted to one."""
    many = scaled(800 if case is CHAIN else 20_000, 64)
    few = scaled(3 if case is CHAIN else 10, 1)
    t = T_ENSEMBLE
    rare = 2 if case is CHAIN else 1  # heyoka recompiles for each tolerance
    curves = {
        f"chaplygin {method}": curve(case, many, partial(in_lanes, case, method)) for method in ours.ADAPTIVE
    }
    peers: dict[str, Peer] = {
        "heyoka": (
            scaled(256 if case is CHAIN else 4000, 8),
            lambda y, tol: taylor.many(case, y, t, tol),
            rare,
        ),
        "numbalsoda": (
            scaled(200 if case is CHAIN else 1000, 8),
            lambda y, tol: emitted.many(case, y, t, tol, reproducible=False),
            1,
        ),
        "diffrax": (scaled(50 if case is CHAIN else 500, 8), lambda y, tol: vmap.many(case, y, t, tol), 2),
        "SciPy": (few, lambda y, tol: one_by_one(plain.single(case, tol), y, t), 2),
    }
    points("precision, ensembles", case.key, {**curves, **curves_of(case, peers)})


@EACH_CASE
def test_single_runs(case: Case, points: Any) -> None:
    """t = 0..10, mean over several trajectories run one after another."""
    runs, t = scaled(50, 1), T_ENSEMBLE
    rare = 2 if case is CHAIN else 1
    curves = {
        f"chaplygin {method}": curve(case, runs, partial(alone, case, method)) for method in ours.ADAPTIVE
    }
    few = scaled(3 if case is CHAIN else 10, 1)
    peers: dict[str, Peer] = {
        "heyoka": (runs, lambda y, tol: one_by_one(taylor.single(case, tol), y, t), rare),
        "numbalsoda": (
            runs,
            lambda y, tol: one_by_one(emitted.single(case, tol, reproducible=False), y, t),
            1,
        ),
        "JiTCODE": (few, lambda y, tol: one_by_one(jit_c.single(case, tol), y, t), 2),
        "diffrax": (few, lambda y, tol: one_by_one(vmap.single(case, tol), y, t), 2),
        "SciPy": (few, lambda y, tol: one_by_one(plain.single(case, tol, "DOP853"), y, t), 2),
    }
    points("precision, single runs", case.key, {**curves, **curves_of(case, peers)})


@EACH_CASE
def test_scaling(case: Case, points: Any) -> None:
    """(count, trajectories per second) over the number of trajectories, lanes and threads."""
    load, t = workload(case), T_ENSEMBLE
    setting, widest = (
        fastest(load, [Setting(method, TOLERANCE) for method in ours.ADAPTIVE]),
        ours.widest(case),
    )

    def rate(runs: int, lanes: int, threads: int) -> float:
        run = ours.many(
            case,
            load.first(runs),
            t,
            setting.tolerance,
            setting.method,
            lanes=lanes,
            threads=threads,
            reproducible=False,
        )
        return min(runs, load.runs) / quick_time(run)

    biggest = min(load.runs, scaled(2000 if case is CHAIN else 20_000, SAMPLE))
    sizes = [n for n in (1, 8, 64, 512, 4096, 32_768) if n <= load.runs]
    points(
        "scaling",
        case.key,
        {
            "trajectories": [(n, rate(n, widest, CORES)) for n in sizes],
            "lanes": [(w, rate(biggest, w, 1)) for w in WIDTHS if w <= widest],
            "threads": [(k, rate(biggest, widest, k)) for k in range(1, CORES + 1)],
        },
    )

"""The gain from lanes: fixed-step arithmetic relative to the FMA peak, and lane widths side by side."""

from __future__ import annotations

from typing import Any

import ours
import peak
import pytest
from bench_ensemble import fastest
from cases import CASES, TOLERANCE, TOP, Case
from sizes import ROUNDS, WIDTHS, scaled
from turns import Contender, Ratio
from workload import STEP, T_ENSEMBLE, Setting, workload

EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
SINE_AND_COSINE = 38
"""Additions and multiplications of `cg_sincos` in cg_math_trig.h: 9 for the range reduction, 29 in the polynomials."""
LANES_GOAL = {8: 4.0, 4: 2.2}


def operations(case: Case) -> int:
    """Operations of the emitted right-hand side; a sine and cosine count as the operations of their polynomials."""
    program = case.equations.program
    graph = program.graph
    nodes = [n for n in graph.reachable(program.kernels["rhs"].outputs) if graph.op[n] in ("sin", "cos")]
    angles = {graph.args[n] for n in nodes}
    return int(program.operations("rhs") - len(nodes) + SINE_AND_COSINE * len(angles))


@EACH_CASE
def test_share_of_peak(case: Case, turns: Any) -> None:
    load = workload(case)
    runs = min(load.runs, scaled(16_384 if case.n is None else 2048, 64))
    steps, lanes = round(T_ENSEMBLE / STEP), ours.widest(case)
    count = operations(case)
    burst, at_peak = peak.burst()
    top = Contender("multiply-adds alone, one core", burst, flops=at_peak, apart=True)
    rows, ratios = [], []
    for width, reproducible in ((lanes, False), (lanes, True), (1, False)):
        run = ours.many(
            case,
            load.first(runs),
            T_ENSEMBLE,
            method="rk4",
            step=STEP,
            lanes=width,
            reproducible=reproducible,
        )
        bits = ", reproducible" * reproducible
        text = f"chaplygin rk4, {width} lane{'s' * (width > 1)}{bits}"
        contender = Contender(text, run, runs, load.error(run()), flops=4.0 * steps * runs * count)
        rows.append(contender)
        if width == lanes:
            goal = 0.6 if case is TOP and not reproducible else None
            what = f"share of the FMA peak in the right-hand side, {count} operations{bits}"
            ratios.append(Ratio(what, contender, top, goal, rates=True))
    rows.append(top)
    turns(f"rk4 in lanes, {steps} steps, one core, per trajectory: {case.key}", rows, ratios, rounds=ROUNDS)


@EACH_CASE
@pytest.mark.parametrize(
    "reproducible", scaled([False, True], [True]), ids=lambda same: "reproducible" if same else "fast"
)
def test_widths(case: Case, reproducible: bool, turns: Any) -> None:
    load, widest = workload(case), ours.widest(case)
    if widest == 1:
        pytest.skip("lanes are not available")
    runs = min(load.runs, scaled(20_000 if case.n is None else 2000, 64))
    setting = fastest(load, [Setting(method, TOLERANCE) for method in ours.ADAPTIVE])
    rows = []
    for lanes in (width for width in WIDTHS if width <= widest):
        run = ours.many(
            case,
            load.first(runs),
            T_ENSEMBLE,
            setting.tolerance,
            setting.method,
            lanes=lanes,
            reproducible=reproducible,
        )
        text = f"chaplygin {setting}, {lanes} lane{'s' * (lanes > 1)}"
        rows.append(Contender(text, run, runs, load.error(run())))
    bits = ", reproducible" * reproducible
    ratios = [
        Ratio(f"{lanes} lanes, speedup over one lane{bits}", row, rows[0], LANES_GOAL.get(lanes))
        for lanes, row in zip(WIDTHS[1:], rows[1:], strict=False)
    ]
    turns(f"lanes, one core, per trajectory: {case.key}{bits}", rows, ratios, rounds=ROUNDS)

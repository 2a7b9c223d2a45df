"""Which method is the fastest at equal error: the measurement behind `Model.default_method`.

Over the catalogue, for tolerances 1e-3 to 1e-13: the time that each method takes for the error that dop853 has at that
tolerance, relative to the fastest one's. `python bench/bench_methods.py` prints the table of RESULTS.md; names of
systems as arguments leave out the others.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from cases import Array
from sizes import scaled

import chaplygin as cg

METHODS = ("tsit5", "vern7", "dop853", "vern9")
DECADES = range(3, 14)
TOLERANCES = scaled(tuple(10.0 ** (-half / 2) for half in range(6, 27)), (1e-4, 1e-8))
TIGHTEST = 2.3e-14
SMOOTH = (
    "chaplygin_sleigh", "double_pendulum", "euler_rigid_body", "fluid_cavity", "gyrostat", "heavy_top",
    "kovalevskaya_top", "n_link_pendulum", "rolling_disk", "rotating_particle", "suslov", "torus_nonuniform",
)  # fmt: skip
HYBRID = ("block_on_belt", "bouncing_ball", "painleve_klein", "two_mass_chain", "woodpecker")
KINDS = ("ensembles", "single runs")
RUNS = scaled(64, 8)
"""Trajectories of an ensemble; their parameters are scattered by 3 %."""
ROUNDS = scaled(5, 1)
UNREACHED = 5.0
"""How much slower a method counts as that does not reach the error."""


@dataclass
class Point:
    """A method at a tolerance: the median error at the end, and the shortest times of an ensemble and of one run."""

    error: float
    times: list[float] = field(default_factory=lambda: [np.inf, np.inf])


def measured(name: str) -> dict[tuple[str, float], Point]:
    """All points of a system, timed by turns."""
    entry = cg.example(name)
    model = entry.system.compile(entry.forms[0], wait=True)
    rng = np.random.default_rng(1)
    spread = {p: v * (1 + 0.03 * rng.standard_normal(RUNS)) for p, v in entry.parameters.items()}

    def many(method: str, tolerance: float) -> Any:
        how: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": tolerance}
        return cg.ensemble(
            model, entry.t_span, entry.initial, spread, n=RUNS, progress=False, threads=1, **how
        )

    def one(method: str, tolerance: float) -> Any:
        how: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": tolerance}
        return model.integrate(entry.t_span, entry.initial, entry.parameters, t_eval=[entry.t_span[1]], **how)

    exact = many("vern9", TIGHTEST).y
    points = {
        (m, t): Point(float(np.median(np.abs(many(m, t).y - exact).max(axis=0))))
        for m in METHODS
        for t in TOLERANCES
    }
    for _ in range(ROUNDS):
        for (method, tolerance), point in points.items():
            for i, run in enumerate((many, one)):
                begin = perf_counter()
                run(method, tolerance)
                point.times[i] = min(point.times[i], perf_counter() - begin)
    return points


def relative(points: dict[tuple[str, float], Point], kind: int) -> Array:
    """(tolerances, methods): times at the error of dop853, relative to the shortest."""
    table = np.empty((len(DECADES), len(METHODS)))
    logs = {}
    for method in METHODS:
        own = [points[method, t] for t in TOLERANCES]
        logs[method] = np.log([[max(p.error, 1e-16), p.times[kind]] for p in own]).T
    for row, decade in enumerate(DECADES):
        aim = np.interp(decade, -np.log10(TOLERANCES), logs["dop853"][0])
        for column, method in enumerate(METHODS):
            errors, times = logs[method]
            order = np.argsort(errors)
            reached = aim >= errors.min()
            table[row, column] = np.exp(np.interp(aim, errors[order], times[order])) if reached else np.inf
    return np.minimum(table / table.min(axis=1, keepdims=True), UNREACHED)


@pytest.mark.parametrize("name", scaled(SMOOTH + HYBRID, ("chaplygin_sleigh", "bouncing_ball")))
def test_methods(name: str, points: Any) -> None:
    """Curves over the decades of the tolerance."""
    found = measured(name)
    tables = {what: relative(found, kind).T.tolist() for kind, what in enumerate(KINDS)}
    curves = {
        f"{method}, {what}": [(10.0**-decade, value) for decade, value in zip(DECADES, row, strict=True)]
        for what, rows in tables.items()
        for method, row in zip(METHODS, rows, strict=True)
    }
    points("time of a method for the error of dop853", name, curves)


def main(names: list[str]) -> None:
    """Print the geometric means."""
    for title, systems in (("smooth", SMOOTH), ("events or contacts", HYBRID)):
        found = [measured(name) for name in systems if not names or name in names]
        for kind, what in enumerate(KINDS if found else ()):
            tables = np.array([relative(points, kind) for points in found])
            means = np.exp(np.log(tables).mean(axis=0))
            print(f"\n| {title}, {what} | {' | '.join(METHODS)} |\n|---|{'---|' * len(METHODS)}")
            for decade, row in zip(DECADES, means, strict=True):
                print(f"| 1e-{decade} | {' | '.join(f'{value:.2f}' for value in row)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

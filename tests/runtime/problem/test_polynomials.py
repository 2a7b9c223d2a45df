"""Inputs that are piecewise polynomials: one evaluation in every kind of run, against SciPy between the knots."""

from __future__ import annotations

import functools
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from rated_systems import SYSTEMS
from refusals import refused
from scipy import interpolate
from scipy.integrate import solve_ivp
from springs import sprung

import chaplygin as cg
from chaplygin.errors import ArgumentError
from chaplygin.runtime.problem.polynomials import Polynomial
from chaplygin.runtime.studies.manifest import StudyFolderError

TIMES = np.array([-0.5, 0.0, 0.4, 1.0, 1.7, 2.0, 3.1])
VALUES = np.array([0.3, -0.2, 0.9, 0.4, -0.7, 0.1, 0.5])
START, NUMBERS, SPAN = {"x": 0.3, "x_dot": -0.2}, {"k": 4.0}, (0.0, 4.0)
TIGHT = {"method": "dop853", "rtol": 1e-12, "atol": 1e-13}
CUBIC = interpolate.CubicSpline(TIMES, VALUES)


class Louder(interpolate.CubicSpline):  # type: ignore[misc]
    """A spline that is called differently."""

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        return 2 * super().__call__(x, nu, extrapolate)


def held_outside(t: float) -> float:
    return float(CUBIC(min(max(t, TIMES[0]), TIMES[-1])))


SOURCES = {
    "samples": ((TIMES, VALUES, "cubic"), held_outside),
    "cg.cubic": (cg.cubic(TIMES, VALUES), held_outside),
    "two": (([0.5, 2], [1, 3], "cubic"), lambda t: np.interp(t, [0.5, 2], [1, 3])),
    "three": (([0, 1, 4], [0, 1, 16], "cubic"), lambda t: t * t),
    "CubicSpline": (CUBIC, CUBIC),
    "natural": (interpolate.CubicSpline(TIMES, VALUES, bc_type="natural"), None),
    "pchip": (interpolate.PchipInterpolator(TIMES, VALUES), None),
    "jumps": (interpolate.PPoly(np.array([[1.0, -2.0], [0.5, 3.0]]), [0.0, 1.5, 4.0]), None),
    "B-spline": (interpolate.make_interp_spline(TIMES, VALUES), None),
    "parabolas": (interpolate.make_interp_spline(TIMES, VALUES, k=2), None),
    "lines": (interpolate.make_interp_spline(TIMES, VALUES, k=1), None),
    "double knot": (interpolate.BSpline([0, 0, 0, 2, 2, 4, 4, 4], [1.0, -1, 2, 0, 3], 2), None),
}


@functools.cache
def spring() -> Any:
    return sprung("pushed_spring").compile(methods=["taylor"])


def by_scipy(source: Any, span: tuple[float, float], start: Any) -> Any:
    y = np.array(list(start.values()))
    knots = {*TIMES, 0.5, 1.5, *span}
    ends = sorted(t for t in knots if min(span) <= t <= max(span))
    for first, last in pairwise(ends if span[0] < span[1] else reversed(ends)):
        low, high = sorted((math.nextafter(first, last), math.nextafter(last, first)))
        y = solve_ivp(
            lambda t, y, low=low, high=high: [y[1], float(source(min(max(t, low), high))) - 4 * y[0]],
            (first, last), y, method="DOP853", rtol=1e-12, atol=1e-13,
        ).y[:, -1]  # fmt: skip
    return y


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.sample(1)
def test_every_run_takes_them_without_calls(name: str) -> None:
    given, source = SOURCES[name]
    expected = by_scipy(source or given, SPAN, START)
    args = START, NUMBERS, {"F": given}
    sol = spring().integrate(SPAN, *args, **TIGHT)
    np.testing.assert_allclose(sol.y[:, -1], expected, atol=1e-10)
    wanted = [float((source or given)(t)) for t in sol.t[1:-1:7]]
    np.testing.assert_allclose(sol["F"][1:-1:7], wanted, atol=1e-13)
    back = spring().integrate(SPAN[::-1], dict(zip(START, expected)), NUMBERS, {"F": given}, **TIGHT)
    np.testing.assert_allclose(back.y[:, -1], list(START.values()), atol=1e-9)
    run = spring().stepper(*args, **TIGHT)
    for t in (0.7, 2.0, 4.0):
        run.advance(t)
    np.testing.assert_allclose(run.y, expected, atol=1e-10)
    series = spring().integrate(SPAN, *args, **{**TIGHT, "method": "taylor"})
    np.testing.assert_allclose(series.y[:, -1], expected, atol=1e-10)
    for method in ("dop853", "taylor"):
        starts, how = {**START, "x": np.linspace(0.3, 0.5, 5)}, {**TIGHT, "method": method}
        one, many = (cg.ensemble(spring(), SPAN, starts, *args[1:], lanes=n, **how) for n in (1, 4))
        assert one.y.tobytes() == many.y.tobytes()
        np.testing.assert_allclose(one.y[:, 0], expected, atol=1e-10)
    varied = spring().integrate(SPAN, *args, sensitivities=["x"], **TIGHT).sensitivity
    assert varied["x", "x"][-1] == pytest.approx(math.cos(8), abs=1e-9)


def test_a_study_takes_them_in_lanes() -> None:
    drawn = {"x": scipy.stats.norm(0.3, 0.1), "x_dot": -0.2}
    given = SPAN, drawn, NUMBERS, {"F": CUBIC}
    studies = [
        spring().study(*given, n=9, seed=1, lanes=lanes, collect={"end": cg.final("x")}, **TIGHT)
        for lanes in (1, 4)
    ]
    ends = [study.results["end"]["x"] for study in studies]
    assert ends[0].tobytes() == ends[1].tobytes()
    start = {"x": studies[0].draws["x"][4], "x_dot": -0.2}
    assert ends[0][4] == pytest.approx(by_scipy(CUBIC, SPAN, start)[0], abs=1e-10)


def test_other_splines_are_functions() -> None:
    """What has more than four coefficients, repeats itself, ends, or is called differently."""
    smooth = interpolate.make_interp_spline(TIMES, VALUES, k=5)
    around = interpolate.CubicSpline([0, 1, 2, 3], [1, 2, 0, 1], bc_type="periodic")
    bounded = interpolate.PPoly(CUBIC.c, CUBIC.x, extrapolate=False)
    for source in (smooth, around, Louder(TIMES, VALUES)):
        sol = spring().integrate((0, 3), START, NUMBERS, {"F": source}, **TIGHT)
        np.testing.assert_allclose(sol.y[:, -1], by_scipy(source, (0, 3), START), atol=1e-7)
        with pytest.raises(ArgumentError, match="there are input functions"):
            cg.ensemble(spring(), (0, 3), START, NUMBERS, n=4, inputs={"F": source}, lanes=4)
    refused(r"F at t = .* nan", spring().integrate, SPAN, START, NUMBERS, {"F": bounded})
    wrong = {"F": interpolate.PPoly([[1.0, math.nan]], [0, 1, 2])}
    reason = "F is a spline with a coefficient that is not finite"
    refused(reason, spring().integrate, SPAN, START, NUMBERS, wrong)
    observed = {"work": cg.moments(cg.integral("x**2"))}
    refused(reason, cg.study, spring(), SPAN, START, NUMBERS, inputs=wrong, n=3, collect=observed)


@pytest.mark.parametrize("seed", range(20))
def test_extremes(seed: int) -> None:
    """Of a polynomial with a finer and finer grid."""
    rng = np.random.default_rng(seed)
    times, rows = np.sort(rng.uniform(0, 3, 4)), rng.normal(size=(4, 1 + seed % 4))
    low, high = np.sort(rng.uniform(-1, 4, 2))
    found, u = Polynomial(times, rows).extremes(low, high), Polynomial(times, rows)
    inside = times[(times > low) & (times < high)]
    grid = np.sort(np.concatenate([np.linspace(low, high, 20001), inside, np.nextafter(inside, -9)]))
    values = u(grid)
    assert found.min() == pytest.approx(values.min(), abs=1e-6)
    assert found.max() == pytest.approx(values.max(), abs=1e-6)


def test_assumptions_hold_in_the_run() -> None:
    x, u = cg.coordinates("x"), cg.inputs("u", nonnegative=True)
    model = cg.System("heavier", coordinates=[x], kinetic=(1 + u) * cg.rate(x) ** 2 / 2).compile()
    dip = interpolate.CubicSpline([0, 1, 2, 3], [1, 0, 0, 1])  # below zero between 1 and 2
    start = {"x": 0, "x_dot": 1}
    model.integrate((0, 1), start, {}, {"u": dip})
    run = model.stepper(start, {}, {"u": dip})
    run.advance(0.9)
    for call in (
        lambda: run.advance(1.5),
        lambda: model.integrate((0, 3), start, {}, {"u": dip}),
        lambda: model.integrate((0, 3), start, {}, {"u": dip}, sensitivities=["x"]),
        lambda: model.gradient(cg.final("x"), (0, 3), start, {}, {"u": dip}),
        lambda: cg.ensemble(model, (0, 3), start, {}, n=2, inputs={"u": dip}),
    ):
        refused(r"u = -.*but u is declared nonnegative", call)


def test_samples_that_end_without_a_slope_go_on() -> None:
    """u = 0.1 (3 t^2 - 2 t^3) stops at t = 1 with u' = 0: the run may go on, as by a function that tells all of it."""
    rated = SYSTEMS["pivot"]
    flat = interpolate.CubicSpline([0, 1], [0, 0.1], bc_type="clamped")

    def told(t: float) -> tuple[float, ...]:
        s = min(t, 1.0)
        return 0.1 * (3 * s * s - 2 * s**3), 0.6 * (s - s * s), 0.6 * (1 - 2 * s) if t < 1 else 0.0

    rows = np.zeros((3, 4))
    rows[1], rows[2, 0] = flat.c[::-1, 0], 0.1
    samples = Polynomial(np.array([0.0, 0, 1]), rows, ((), (), "cubic"))
    sol = rated.model.integrate((0, 1), rated.start, rated.numbers, {"u": told}, **TIGHT)
    on = rated.model.integrate((1, 2), sol, rated.numbers, {"u": 0.1}, **TIGHT)
    one = rated.model.integrate((0, 2), rated.start, rated.numbers, {"u": samples}, **TIGHT)
    np.testing.assert_allclose(one.y[:, -1], on.y[:, -1], atol=1e-9)


def test_a_study_goes_on_only_with_the_same_spline(tmp_path: Path) -> None:
    other = interpolate.CubicSpline(TIMES, VALUES + 0.1)
    drawn = {"x": scipy.stats.norm(0.3, 0.1), "x_dot": -0.2}

    def run(source: Any) -> Any:
        how = {"n": 5, "seed": 1, "collect": {"end": cg.final("x")}, "out": tmp_path / "study"}
        return spring().study((0, 1), drawn, NUMBERS, {"F": source}, **how)

    first = run(CUBIC).results["end"]["x"]
    assert run(interpolate.CubicSpline(TIMES, VALUES)).results["end"]["x"].tobytes() == first.tobytes()
    refused("belongs to another study", run, other, error=StudyFolderError)

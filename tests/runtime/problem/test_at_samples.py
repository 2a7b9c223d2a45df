"""Fixed steps that pass the samples of inputs: a Runge-Kutta method by hand, orders, bits in lanes, and refusals."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import sympy as sp
from lane_models import bits
from refusals import refused
from scipy.interpolate import CubicSpline, PPoly
from springs import V, X, sprung

import chaplygin as cg
from chaplygin.errors import ArgumentError

N, SPAN = 13, (0.0, 4.0)
TIMES = np.sort(np.concatenate([[-0.5, 3.73], np.random.default_rng(1).uniform(-0.5, 3.73, 30)]))
ROWS = np.random.default_rng(2).standard_normal((N, len(TIMES)))
KINDS = ("zoh", "linear", "cubic")
PASSES = {"method": "rk4", "step": 0.07, "at_samples": False}


@functools.cache
def spring() -> Any:
    halved = cg.Event(X - 0.3, direction=1, reset={V: V / 2}, name="there")
    return sprung("passing_spring", events=[halved]).compile(wait=True)


@functools.cache
def free() -> Any:
    x, F = cg.coordinates("x"), cg.inputs("F")
    return cg.System("passing", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, forces={cg.rate(x): F}).compile(
        wait=True
    )


def source(kind: str, row: Any) -> Any:
    """The input as a function of the time, by NumPy and SciPy."""
    if kind == "cubic":
        curve = CubicSpline(TIMES, row)
        return lambda t: float(curve(min(max(t, TIMES[0]), TIMES[-1])))
    if kind == "linear":
        return lambda t: float(np.interp(t, TIMES, row))
    return lambda t: float(row[max(np.searchsorted(TIMES, t, side="right") - 1, 0)])


def rk4(f: Any, y: Any, t0: float, h: float, steps: int) -> Any:
    for i in range(steps):
        t = t0 + i * h
        a = f(t, y)
        b = f(t + h / 2, y + h / 2 * a)
        c = f(t + h / 2, y + h / 2 * b)
        d = f(t + h, y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return y


@pytest.mark.parametrize("kind", KINDS)
def test_each_stage_has_the_input_at_its_time(kind: str) -> None:
    F, start = source(kind, ROWS[0]), {"x": 0.3, "x_dot": -0.2}
    given, how = (None, {"F": (TIMES, ROWS[0], kind)}), {**PASSES, "step": 0.1}
    expected = rk4(lambda t, y: np.array([y[1], F(t)]), np.array([0.3, -0.2]), 0.0, 0.1, 40)
    sol = free().integrate(SPAN, start, *given, **how)
    assert sol.n_steps == 40
    np.testing.assert_allclose(sol.y[:, -1], expected, atol=1e-12)
    back = free().integrate(SPAN[::-1], dict(zip(start, expected)), *given, **how)
    returned = rk4(lambda t, y: np.array([y[1], F(t)]), expected, 4.0, -0.1, 40)
    np.testing.assert_allclose(back.y[:, -1], returned, atol=1e-12)
    run = free().stepper(start, *given, **how)
    for t in (1.0, 2.5, 4.0):
        run.advance(t)
        again = run.save()
    run.restore(again)
    np.testing.assert_allclose(run.y, expected, atol=1e-12)


@pytest.mark.parametrize(("kind", "order"), [("zoh", 1), ("linear", 2), ("cubic", 4)])
def test_the_page_says_what_it_costs(kind: str, order: int) -> None:
    """v is the integral of F, in closed form; where the step is a 16th, the mean error falls by 16^order."""
    pieces = {
        "zoh": ROWS.T[None, :-1],
        "linear": np.array([np.diff(ROWS.T, axis=0) / np.diff(TIMES)[:, None], ROWS.T[:-1]]),
        "cubic": CubicSpline(TIMES, ROWS, axis=1).c,
    }[kind]
    exact = PPoly(pieces, TIMES).integrate(0, 3.6)
    given = (0, 3.6), {"x": 0, "x_dot": 0}, None, {"F": (TIMES, ROWS, kind)}
    rough, fine, at_samples = (
        np.abs(cg.ensemble(free(), *given, method="rk4", step=step, at_samples=at)["x_dot"] - exact).mean()
        for step, at in ((0.06, False), (0.06 / 16, False), (0.06, True))
    )
    assert rough * 16.0**-order / 4 < fine < rough * 16.0**-order * 4
    assert at_samples < 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(1)
def test_lanes_have_the_bits_of_single_runs(kind: str) -> None:
    k, moments = np.linspace(1, 4, N), np.linspace(*SPAN, 7)
    for values in (ROWS, ROWS[4]):
        for span in (SPAN, SPAN[::-1]):
            given = {"x": np.linspace(0, 0.5, N), "x_dot": 0.1}, {"k": k}, {"F": (TIMES, values, kind)}
            how = {"t_eval": None if span is SPAN else moments[::-1], **PASSES}
            alone = cg.ensemble(spring(), span, *given, lanes=1, threads=1, **how)
            for i in (0, 7, N - 1):
                start = {"x": given[0]["x"][i], "x_dot": 0.1}
                row = values if values.ndim == 1 else values[i]
                sol = spring().integrate(span, start, {"k": k[i]}, {"F": (TIMES, row, kind)}, **how)
                assert bits(alone.y[..., i]) == bits(sol.y[:, -1] if span is SPAN else sol.y)
            for lanes in (2, 4, 8):
                beside = cg.ensemble(spring(), span, *given, lanes=lanes, threads=2, chunk=5, **how)
                assert bits(alone.y) == bits(beside.y)
                assert bits(alone.nfev) == bits(beside.nfev)
                assert bits(alone.t_events["there"].t) == bits(beside.t_events["there"].t)


@functools.cache
def roots() -> Any:
    x, F = cg.coordinates("x"), cg.inputs("F")
    v = cg.rate(x)
    return cg.System("roots", coordinates=[x], kinetic=v**2 / 2, forces={v: F * sp.sqrt(1 - x)}).compile(
        wait=True
    )


@pytest.mark.parametrize("step", [0.07, 0.004])
@pytest.mark.parametrize("kind", KINDS)
def test_shared_samples_give_the_bits_of_single_runs(kind: str, step: float) -> None:
    """Lanes take them from a table of some hundred steps, until one fails and the next run is at another time."""
    how = {**PASSES, "step": step}
    inputs, starts = {"F": (TIMES, ROWS[0], kind)}, np.linspace(-1.5, 1.5, 40)
    for model in (free(), roots()):
        for span in (SPAN, SPAN[::-1]):
            given = {"x": -0.5, "x_dot": starts}, None, inputs
            ens = cg.ensemble(model, span, *given, threads=1, lanes=4, **how)
            assert len(ens.failed) > 3 or model is free()
            for i in (0, 20, 39):
                sol = model.integrate(span, {"x": -0.5, "x_dot": starts[i]}, None, inputs, **how)
                assert bits(ens.y[:, i]) == bits(sol.y[:, -1])
            for lanes in (1, 8):
                other = cg.ensemble(model, span, *given, threads=2, lanes=lanes, chunk=17, **how)
                assert bits(ens.y) == bits(other.y)
                assert bits(ens.nfev) == bits(other.nfev)


@pytest.mark.slow
def test_steps_that_fail_are_repeated_with_the_inputs_of_their_times() -> None:
    """A lane that leaves the real numbers has all lanes step one by one from the beginning of what they had leapt."""
    model = roots()
    given = {"x": np.linspace(-1, 0.9, N), "x_dot": 0.5}, None, {"F": (TIMES, ROWS, "linear")}
    alone, *others = (cg.ensemble(model, SPAN, *given, lanes=k, threads=1, **PASSES) for k in (1, 2, 4, 8))
    assert len(alone.failed)
    for other in others:
        assert bits(alone.y) == bits(other.y)
        assert bits(alone.status) == bits(other.status)


def test_derivatives_and_studies_pass_samples_too() -> None:
    start = {"x": 0.1, "x_dot": 0.1}
    alone, given = ((SPAN, start, None, {"F": (TIMES, rows, "cubic")}) for rows in (ROWS[3], ROWS))
    sol = free().integrate(*alone, sensitivities=["x_dot"], **PASSES)
    assert sol.sensitivity["x", "x_dot"][-1] == pytest.approx(4.0, abs=1e-12)  # x = x0 + v0 t + ...
    ens = cg.ensemble(free(), *given, sensitivities=["x_dot"], **PASSES)
    assert bits(ens.y[:, 3]) == bits(sol.y[:, -1])
    total = cg.integral("F")
    found = cg.study(free(), *given, collect={"end": cg.final("x"), "sum": total}, **PASSES)
    assert bits(found.results["end"]["x"]) == bits(ens.y[0])
    one = cg.study(free(), *given, lanes=1, collect={"sum": total}, **PASSES)
    assert bits(one.results["sum"]) == bits(found.results["sum"])
    fine = cg.study(free(), *given, collect={"sum": total}, **{**PASSES, "step": 0.005})
    integrals = [CubicSpline(TIMES, row).integrate(0, 3.73) + 0.27 * row[-1] for row in ROWS]
    np.testing.assert_allclose(fine.results["sum"], integrals, atol=1e-5)


def test_only_fixed_steps_pass_samples() -> None:
    given = SPAN, {"x": 0, "x_dot": 0}, {"k": 1}
    words = "at_samples=False is for fixed-step methods; this method is adaptive"
    refused(words, spring().integrate, *given, at_samples=False)
    with pytest.raises(ArgumentError, match="at_samples=False is for fixed-step methods"):
        cg.ensemble(spring(), *given, n=3, at_samples=False, method="dop853")
    with pytest.raises(ArgumentError, match="at_samples"):
        spring().integrate(*given, method="rk4", step=0.1, at_samples="no")
    assert spring().integrate(*given, method="rk4", step=0.1, at_samples=np.False_).success

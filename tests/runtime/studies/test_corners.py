"""Integrals and extremes of expressions with corners and jumps: closed forms, orders, bits, awkward places."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import integrate
from test_observed import METHODS
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.runtime import Model
from chaplygin.runtime.studies.study import Study

x = cg.coordinates("x")
level = cg.parameters("level")
v = cg.rate(x)
t = cg.time

N = 21
PHASES = np.linspace(0.05, 6.1, N)
"""x = cos(t - phase)."""
T = 10.3


@functools.cache
def oscillator() -> Model:
    """x'' = -x."""
    return unit_masses("corners_oscillator", [x], potential=x**2 / 2, outputs={"above": x - level}).compile()


def swing(collect: dict[str, Any], t1: float = T, at: Any = PHASES, c: float = 0.3, **options: Any) -> Study:
    initial = {"x": np.cos(at), "x_dot": np.sin(at)}
    options = {"rtol": 1e-9, "atol": 1e-11, "method": "dop853", **options}
    return cg.study(oscillator(), (0, t1), initial, {"level": c}, n=len(at), collect=collect, **options)


def path(phase: float, s: Any) -> dict[Any, Any]:
    return {x: np.cos(s - phase), v: -np.sin(s - phase), t: s, level: np.full_like(s, 0.3)}


def exact(expression: Any, phase: float, breaks: Any, t1: float = T) -> float:
    """Gauss-Legendre quadrature of a closed form between its breaks, given as angles t - phase modulo 2 pi."""
    function = sp.lambdify([x, v, t, level], expression)
    turns = 2 * math.pi * np.arange(-2, 4)
    places = (phase + np.asarray(breaks)[:, None] + turns).ravel()
    ends = np.unique(np.concatenate([[0.0, t1], places[(places > 0) & (places < t1)]]))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    total = 0.0
    for a, b in itertools.pairwise(ends):
        s = (a + b) / 2 + (b - a) / 2 * nodes
        total += (b - a) / 2 * float(weights @ np.broadcast_to(function(*path(phase, s).values()), s.shape))
    return total


H = math.pi / 2
ARC = math.acos(0.3)
CASES: dict[str, tuple[Any, list[float]]] = {
    "absolute value": (sp.Abs(x), [H, -H]),
    "time above": (x > 0, [H, -H]),
    "time above a parameter": (x > level, [ARC, -ARC]),
    "sign": (sp.sign(x) * v**2 + sp.sign(v), [H, -H, 0, 2 * H]),
    "largest": (sp.Max(x, v, sp.Rational(1, 10)),
                [math.pi * 3 / 4, -math.pi / 4, math.acos(0.1), -math.acos(0.1),
                 -math.asin(0.1), math.pi + math.asin(0.1)]),
    "choice": (sp.Piecewise((x**2, x > level), (-v, v < 0), (sp.exp(x), True)), [ARC, -ARC, 0, 2 * H]),
    "all of": (sp.And(x > level, v > 0), [ARC, -ARC, 0, 2 * H]),
    "either": (sp.Or(x > level, v > 0), [ARC, -ARC, 0, 2 * H]),
    "nested": (sp.Abs(sp.Abs(x) - level), [H, -H, ARC, -ARC, math.pi - ARC, math.pi + ARC]),
    "angle": (sp.atan2(v, x), [0, H, 2 * H, 3 * H]),
}  # fmt: skip


@functools.cache
def found(method: str) -> dict[str, Any]:
    study = swing({name: cg.integral(e) for name, (e, _) in CASES.items()}, method=method)
    return dict(study.results)


@pytest.mark.parametrize("method", ["tsit5", "dop853", "vern9", "rodas5p"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sample(16)
def test_integrals_are_those_of_the_closed_form(case: str, method: str) -> None:
    expression, breaks = CASES[case]
    right = [exact(expression, phase, breaks) for phase in PHASES]
    assert found(method)[case] == pytest.approx(right, abs=2.5e-9)


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_method(method: str) -> None:
    """Halved fixed steps, and the mean error of 21 trajectories, whose corners fall on different parts of a step."""
    order = oscillator().methods[method].order
    errors = []
    steps = math.ceil(0.7 * T / METHODS[method])
    for n in (steps, 2 * steps):
        fixed = {"rtol": 1e3, "atol": 1e3, "max_step": T / n, "first_step": T / n}
        both = swing(
            {"abs": cg.integral(sp.Abs(x)), "time": cg.integral(x > 0)}, method=method, **fixed
        ).results
        off = [
            [
                abs(found - exact(CASES[case][0], phase, [H, -H]))
                for found, phase in zip(values, PHASES, strict=True)
            ]
            for values, case in ((both["abs"], "absolute value"), (both["time"], "time above"))
        ]
        errors.append(np.mean(off, axis=1))
    assert (errors[1] > 1e-13).all()  # above rounding, so that the ratio means something
    assert (np.log2(errors[0] / errors[1]) > order - 1).all()  # 1 or 2 without the corners


def test_extremes_at_corners_and_jumps() -> None:
    collect = {
        "corner": cg.peak(-sp.Abs(x)),
        "kink": cg.minimum(sp.Abs(x - level) + x / 3),
        "jump": cg.peak(sp.Piecewise((x, x < level), (-1, True))),
    }
    results = swing(collect).results
    assert results["corner"].value == pytest.approx(np.zeros(N), abs=1e-14)
    off = np.abs((results["corner"].t - PHASES - H + H) % math.pi - H)
    assert off.max() < 1e-8  # where cos(t - phase) = 0
    assert results["kink"].value == pytest.approx(np.full(N, 0.1), abs=1e-12)
    assert results["jump"].value == pytest.approx(np.full(N, 0.3), abs=1e-12)  # its limit


@pytest.mark.parametrize("method", ["tsit5", "dop853"])
@pytest.mark.sample(1)
def test_the_same_bits_in_any_company(method: str) -> None:
    names = ("absolute value", "time above", "choice")
    collect: dict[str, Any] = {name: cg.integral(CASES[name][0]) for name in names}
    collect["peak"] = cg.peak(-sp.Abs(x))
    alone = swing(collect, method=method, lanes=1).results
    for options in ({"lanes": 2}, {"lanes": 8, "threads": 2}):
        other = swing(collect, method=method, **options).results
        for name in names:
            assert np.array_equal(other[name], alone[name]), (name, options)
        assert np.array_equal(other["peak"].value, alone["peak"].value)
        assert np.array_equal(other["peak"].t, alone["peak"].t)
    only = swing(
        {"time above": collect["time above"]}, method=method
    ).results  # nor do other expressions change it
    assert np.array_equal(only["time above"], alone["time above"])


def test_two_corners_in_a_step() -> None:
    """vern9 takes x = cos t in steps of about 0.6; x > c for a time 2 acos c around each top."""
    for part in (0.5, 0.1, 0.01, 1e-3):
        c = math.cos(part / 2)
        found = swing({"time": cg.integral(x > level)}, 6.0, c=c, method="vern9").results["time"]
        right = [exact(x > sp.Float(c), phase, [part / 2, -part / 2], 6.0) for phase in PHASES]
        assert found == pytest.approx(right, abs=1e-9 / part)  # the error of x over its slope there


def test_a_run_that_begins_and_ends_on_corners() -> None:
    """x = sin t over half a turn, whose ends are corners but for rounding; a state that rests on one has value 0."""
    collect = {"abs": cg.integral(sp.Abs(x)), "sign": cg.integral(sp.sign(x)), "low": cg.minimum(sp.sign(x))}
    results = swing(collect, math.pi, at=np.array([H, -H])).results
    assert results["abs"] == pytest.approx([2, 2], abs=1e-9)
    assert results["sign"] == pytest.approx([math.pi, -math.pi], abs=1e-9)
    still = cg.study(oscillator(), (0, 5), {"x": 0, "x_dot": 0}, {"level": 0}, n=1, collect=collect).results
    assert still["abs"] == [0]
    assert still["sign"] == [0]


def test_backward_in_time_and_with_the_time() -> None:
    results = swing(
        {"ramp": cg.integral(sp.Abs(t + 1)), "abs": cg.integral(sp.Abs(x))}, -2.0, at=PHASES[:1]
    ).results
    assert results["ramp"] == pytest.approx([-1.0], abs=1e-12)
    right = -integrate.quad(
        lambda s: abs(math.cos(s - PHASES[0])), -2, 0, points=[PHASES[0] - H], epsabs=1e-12
    )[0]
    assert results["abs"] == pytest.approx([right], abs=1e-9)


@pytest.mark.parametrize("method", ["tsit5", "dop853", "rodas5p"])
def test_equalities_are_true_only_where_the_motion_rests_on_them(method: str) -> None:
    """x = cos(t - phase) begins on the level, crosses it, and touches its highest; `Max` rests on the level."""
    of_level = {
        "equal": sp.Piecewise((3, sp.Eq(x, level)), (2, True)),
        "different": sp.Piecewise((2, sp.Ne(x, level)), (3, True)),
        "square": sp.Piecewise((3, sp.Eq((x - level) ** 2, 0)), (2, True)),
        "highest": sp.Piecewise((3, sp.Eq(x, 1)), (2, True)),
        "above": sp.Piecewise((3, sp.Max(x, level) > level), (2, True)),
        "below": sp.Piecewise((2, sp.Eq(sp.Max(x, level), level)), (3, True)),
        "side": sp.Piecewise((3, sp.Eq(sp.sign(x - level), 1)), (2, True)),
    }
    collect = {name: cg.integral(e) for name, e in of_level.items()}
    starts = np.array([ARC, 0.0, -ARC, 1.0])
    found = swing(collect, at=starts, c=math.cos(ARC), method=method).results
    over = [exact(x > sp.Float(math.cos(ARC)), phase, [ARC, -ARC]) for phase in starts]
    for name in of_level:
        right = 2 * T + (np.array(over) if name in ("above", "below", "side") else 0.0)
        assert found[name] == pytest.approx(right, abs=2.5e-9), name
    still = cg.study(oscillator(), (0, T), {"x": 0, "x_dot": 0}, {"level": 0}, n=1, collect=collect).results
    assert [still[name][0] for name in of_level] == pytest.approx([3 * T] * 3 + [2 * T] * 4, rel=1e-14)


def test_corners_cost_no_steps() -> None:
    plain = swing({"square": cg.integral(x**2), "count": cg.table("n_steps", "nfev")}).results["count"]
    cut = swing({"abs": cg.integral(sp.Abs(x)), "count": cg.table("n_steps", "nfev")}).results["count"]
    assert np.array_equal(plain["n_steps"], cut["n_steps"])
    assert np.array_equal(plain["nfev"], cut["nfev"])


def random_case(seed: int) -> tuple[Any, list[float]]:
    """A sum of jumps and corners at known places: of x - a and v - b."""
    random = np.random.default_rng(seed)
    a, b = random.uniform(-0.95, 0.95, 2)
    p, q, r = (sp.Float(c) for c in random.normal(size=3))
    arc, rise = math.acos(a), math.asin(b)
    pick = random.integers(4)
    of_x, of_v = x - sp.Float(a), v - sp.Float(b)
    made = [
        p * sp.Abs(of_x) * v + q * sp.sign(of_v),
        sp.Piecewise((p * x * v, of_x * of_v > 0), (q + x, True)),
        sp.Max(of_x, 0) ** 2 * p + r * sp.Min(of_v, q / 10 * of_x * 0),
        sp.Piecewise((sp.Abs(of_v), of_x > 0), (r * sp.exp(x), True)),
    ]
    return made[pick], [arc, -arc, -rise, math.pi + rise]


@pytest.mark.parametrize("first", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(8, 64, 8))])
def test_random_integrands(first: int) -> None:
    cases = [random_case(seed) for seed in range(first, first + 8)]
    results = swing({str(i): cg.integral(e) for i, (e, _) in enumerate(cases)}).results
    for i, (expression, breaks) in enumerate(cases):
        right = np.array([exact(expression, phase, breaks) for phase in PHASES])
        assert results[str(i)] == pytest.approx(right, abs=2e-8), expression


def test_gradients_refuse_them_by_name() -> None:
    with pytest.raises(cg.errors.ArgumentError, match="is not differentiable where Abs switches"):
        oscillator().gradient(cg.integral(sp.Abs(x)), (0, 1), {"x": 1, "x_dot": 0}, {"level": 0})

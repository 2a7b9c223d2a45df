"""Runs that locate kinks end by themselves, within their steps, and as runs without kinks where those end well.

Quantities that rest on a kink are released where their push passes zero: saturations, end stops. Between the zeros of
the push a sin(w t)^n the rate v is what it was, plus an integral in closed form, at most lim.
"""

from __future__ import annotations

import math
import random
import signal
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy as sp
from hybrid_systems import CALLED, built
from lane_models import assert_same, bits
from slopes import check_slopes

import chaplygin as cg

SYSTEMS = 30
STARTS = 67  # of each: 2010 in all
FEW = {"max_steps": 100}
METHODS = ("dop853", "tsit5", "vern7", "vern9")


def oscillator(name: str, force: Any) -> cg.System:
    x, v, k, mu = _symbols()
    given = {"potential": k * x**2 / 2, "forces": {v: force(x, v, mu)}}
    return cg.System(name, coordinates=[x], kinetic=v**2 / 2, **given)


def _symbols() -> tuple[Any, ...]:
    x = cg.coordinates("x")
    return x, cg.rate(x), *cg.parameters("k mu")


def system(seed: int) -> cg.System:
    """An oscillator with kinks; the first two are those that once never ended."""
    if seed < 2:
        kinks = [lambda x, v: sp.sign(v), lambda x, v: sp.Abs(x + sp.sin(2 * v))]
        return oscillator(f"kinks_{seed}", lambda x, v, mu: -mu * kinks[seed](x, v) + sp.cos(cg.time))
    draw = random.Random(f"kinks {seed}")

    def force(x: Any, v: Any, mu: Any) -> Any:
        def line() -> Any:
            a, b = draw.choice([x, v]), draw.choice([x, v, sp.sin(2 * v), sp.cos(cg.time), sp.Integer(1)])
            return a + sp.Rational(draw.randint(-15, 15), 10) * b or x

        def kink() -> Any:
            at = line()
            return draw.choice(
                [sp.Abs(at), sp.sign(at), sp.sign(at), sp.Max(at, 0), sp.Min(at, line()), sp.Heaviside(at, 0),
                 sp.Piecewise((sp.cos(x), at < 0), (at, True))]
            )  # fmt: skip

        terms = [draw.choice([-1, -1, 1]) * mu * kink() for _ in range(draw.randint(1, 3))]
        return sum(terms) + draw.choice([0, 1]) * sp.cos(cg.time) - draw.choice([0, mu / 2]) * v

    return oscillator(f"kinks_{seed}", force)


def starts(seed: int, count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Starts and parameters: the first is that which never ended."""
    rng = np.random.default_rng(seed)
    x, v = rng.uniform(-1.5, 1.5, (2, count))
    x[0], v[0] = 0.6317071082430643, -0.9945229996597038
    return {"x": x, "x_dot": v}, {"k": np.append(1.0, rng.uniform(0.5, 3, count - 1)), "mu": 0.3}


def one(values: dict[str, Any], i: int) -> dict[str, Any]:
    return {name: value[i] if isinstance(value, np.ndarray) else value for name, value in values.items()}


def check(seed: int, count: int, folder: Path) -> tuple[int, int]:
    """Run a system from `count` starts; the result: how many end well without kinks, and how many kinks are found."""
    model, (initial, parameters) = built(system(seed), folder, [], level=CALLED), starts(seed, count)
    well = found = 0
    for i in range(count):
        given: Any = (0, 10), one(initial, i), one(parameters, i)
        method = METHODS[(seed + i) % 4] if seed else "dop853"
        fine = {"method": method, "rtol": 1e-10, "atol": 1e-10, "max_steps": 20_000}
        tolerance = 10.0 ** -(3 + (seed + i) % 5)
        coarse = {"method": method, "rtol": tolerance, "atol": tolerance, "max_steps": 5000}
        for options in (fine, coarse):
            without = model.integrate(*given, **options)
            more = {**options, "kinks": True, "max_steps": 2 * options["max_steps"]}  # kinks take trials, too
            located = model.integrate(*given, **more)
            few = model.integrate(*given, **{**more, **FEW})
            # no more than the trials of one step, which the method makes by itself
            assert few.n_steps + few.n_rejected <= FEW["max_steps"] + 60, (i, options)
            if located.n_steps + located.n_rejected > FEW["max_steps"] + 60:
                assert few.status == -4
            if without.status == 0:
                assert located.status == 0, (i, options, located)
            if without.status == 0 and options is fine:
                close = {"rel": 1e-6, "abs": 1e-6}
                if located.y[:, -1] != pytest.approx(without.y[:, -1], **close):
                    # the run without kinks has stepped over a brief stay on the other side of one
                    small = {"method": "dop853", "rtol": 1e-12, "atol": 1e-12, "max_step": 1e-3}
                    without = model.integrate(*given, **small)
                assert located.y[:, -1] == pytest.approx(without.y[:, -1], **close), (i, options)
                well += 1
            found += sum(len(times) for times in located.t_kinks.values())
    options = {"method": METHODS[seed % 4], "rtol": 1e-6, "atol": 1e-6, "max_steps": 500, "kinks": True}
    alone, beside = (cg.ensemble(model, (0, 10), initial, parameters, threads=t, **options) for t in (1, 2))
    assert_same(alone, beside)
    for i in range(0, count, 9):
        single = model.integrate((0, 10), one(initial, i), one(parameters, i), **options)
        assert bits(single.y[:, -1]) == bits(alone.y[:, i])
    return well, found


@pytest.mark.parametrize("seed", range(2))
def test_runs_that_never_ended(seed: int, tmp_path: Path) -> None:
    well, found = check(seed, 5, tmp_path)
    assert well > 0
    assert found > 20


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
@pytest.mark.filterwarnings("ignore:ensemble interrupted")
@pytest.mark.parametrize("ensemble", [False, True])
def test_a_run_that_slides_along_a_kink_hears_a_signal(ensemble: bool, tmp_path: Path) -> None:
    model, (initial, parameters) = built(system(0), tmp_path, [], level=CALLED), starts(0, 1)
    integrate = model.ensemble if ensemble else model.integrate
    given = (initial, parameters) if ensemble else (one(initial, 0), one(parameters, 0))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    begun = time.process_time()  # not longer beside busy processes
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with suppress(KeyboardInterrupt):
            ended = integrate((0, 10), *given, method="dop853", kinks=True)
            assert ended.interrupted  # an ensemble returns what it has
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - begun < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_every_run_with_kinks_ends(seed: int, tmp_path: Path) -> None:
    check(seed, STARTS, tmp_path)


x = cg.coordinates("x")
v = cg.rate(x)
lim, a, w = cg.parameters("lim a w", positive=True)
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
SINE = sp.sin(w * cg.time)
FORCES = {  # by the push
    "saturation": lambda push: sp.Piecewise((0, (v >= lim) & (SINE > 0)), (push, True)),
    "two stops": lambda push: sp.Piecewise(
        (0, (v >= lim) & (SINE > 0)), (0, (v <= -lim) & (SINE < 0)), (push, True)
    ),
    "branches": lambda push: sp.Piecewise(
        (sp.Min(push, 0), v >= lim), (sp.Max(push, 0), v <= -lim), (push, True)
    ),
}


@cache
def model(kind: str, power: int) -> Any:
    force = FORCES[kind](a * SINE**power)
    return cg.System("released", coordinates=[x], kinetic=v**2 / 2, forces={v: force}).compile("lagrange")


class Run(NamedTuple):
    """The end of a run from rest: v, its derivatives by lim and a, and by how much it is closest to missing a stop."""

    v: float
    by_lim: float
    by_a: float
    near: float


def integral(power: int, t: float) -> float:
    """Of sin(t)^power."""
    c = math.cos(t)
    return {1: -c, 3: -c + c**3 / 3, 5: -c + 2 * c**3 / 3 - c**5 / 5}[power]


def exact(kind: str, power: int, stop: float, size: float, rate: float, end: float) -> Run:
    value = by_lim = by_a = t = 0.0
    near, half = math.inf, 0
    while t < end:
        after, side = min((half + 1) * math.pi / rate, end), (-1) ** half
        part = (integral(power, rate * after) - integral(power, rate * t)) / rate
        value, by_a = value + size * part, by_a + part
        if side > 0 or kind != "saturation":
            near = min(near, abs(value - side * stop))
            if side * value > stop:
                value, by_lim, by_a = side * stop, side, 0.0
        t, half = after, half + 1
    return Run(value, by_lim, by_a, near)


def drawn(kind: str, seed: int) -> tuple[int, tuple[float, ...], Run]:
    """The power, lim, a, w and the end of a run that stops and is released, and touches no stop."""
    draw = random.Random(f"{kind} {seed}")
    while True:
        power = 1 if kind == "branches" else draw.choice([1, 1, 3, 5])
        numbers = draw.uniform(0.2, 0.8), draw.uniform(0.6, 1.6), draw.uniform(0.7, 2), draw.uniform(4, 9)
        found = exact(kind, power, *numbers)
        if found.by_lim != 0 and found.near > 0.02:
            return power, numbers, found


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("method", METHODS)
def test_a_saturation_is_released_where_the_push_is(method: str, tolerance: float) -> None:
    how: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": tolerance, "max_steps": 2000}
    given = (0, 3.2), {"x": 0, "x_dot": 0}, {"lim": 0.5, "a": 1, "w": 1}
    plain = model("saturation", 1).integrate(*given, **how)
    sol = model("saturation", 1).integrate(*given, kinks=True, **how)
    assert (plain.status, sol.status) == (0, 0), sol.message
    assert len(sol.t) <= 2 * len(plain.t)
    assert sol["x_dot"][-1] == pytest.approx(0.5 - 1 - math.cos(3.2), abs=100 * tolerance)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tolerance", [1e-8, 1e-11])
def test_derivatives_of_a_saturation(method: str, tolerance: float) -> None:
    how: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": tolerance, "max_steps": 2000}
    given = (0, 8), {"x": 0, "x_dot": 0}, {"lim": 0.5, "a": 1, "w": 1}
    expected = {"lim": 1, "a": -1 - math.cos(8)}  # -0.8544999662
    check_slopes(model("saturation", 1), "x_dot", expected, *given, **how, abs=1e-7)


@pytest.mark.parametrize("kind", list(FORCES))
@pytest.mark.sample(1)
def test_random_stops(kind: str) -> None:
    """Runs with kinks take at most twice the steps of those without, and give derivatives."""
    for seed in range(67):
        draw, (power, numbers, ends) = random.Random(seed), drawn(kind, seed)
        tolerance = 10.0 ** -draw.randint(5, 12)
        how: dict[str, Any] = {"method": draw.choice(METHODS), "max_steps": 5000}
        given = (0, numbers[3]), {"x": 0, "x_dot": 0}, dict(zip(("lim", "a", "w"), numbers, strict=False))
        plain, sol = (
            model(kind, power).integrate(*given, kinks=kinks, rtol=tolerance, atol=tolerance, **how)
            for kinks in (False, True)
        )
        assert (plain.status, sol.status) == (0, 0), (seed, sol.message)
        assert len(sol.t) <= 2 * len(plain.t), seed
        assert sol["x_dot"][-1] == pytest.approx(ends.v, abs=100 * tolerance), seed
        fine = min(tolerance, 1e-9)
        sol = model(kind, power).integrate(*given, sensitivities=["lim", "a"], rtol=fine, atol=fine, **how)
        assert sol.status == 0, (seed, sol.message)
        assert sol.sensitivity.y[1, :, -1] == pytest.approx([ends.by_lim, ends.by_a], abs=1e-7), seed

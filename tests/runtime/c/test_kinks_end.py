"""Runs that locate kinks end by themselves, within their steps, and as runs without kinks where those end well."""

from __future__ import annotations

import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hybrid_systems import CALLED, built
from lane_models import assert_same, bits

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

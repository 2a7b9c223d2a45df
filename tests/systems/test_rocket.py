"""The rocket of the catalogue: RocketPy's apogee, closed forms on rail and parachute, winds of each run."""

from __future__ import annotations

import json
from functools import cache
from math import cos, radians, sqrt, tan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline, make_interp_spline

import chaplygin as cg
from chaplygin.systems import rocket

FLOWN = json.loads((Path(__file__).parents[1] / "data" / "rocketpy.json").read_text())
"""By RocketPy at a tolerance of 1e-10, with the same physics: bench/bench_rocket.py."""
CALM = {name: 0.0 if name.startswith("wind") else value for name, value in rocket.PARAMETERS.items()}
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "kinks": True}


@cache
def model(gusts: bool = False) -> Any:
    return cg.example("rocket", gusts=gusts).system.compile()


@pytest.mark.slow
def test_apogee_is_that_of_rocketpy() -> None:
    sol = model().integrate((0, 30), rocket.INITIAL, rocket.PARAMETERS, **TIGHT)
    (rail,), (apogee,), _ = sol.t_events
    at = dict(zip(model().states, sol.y_events[1][0], strict=True))
    assert rail == pytest.approx(FLOWN["t_rail"], rel=1e-5)  # where it is looked for between steps of 0.05 s
    assert apogee == pytest.approx(FLOWN["t"], rel=1e-6)
    assert at["z"] == pytest.approx(FLOWN["z"], rel=1e-6)
    assert [at["x"], at["y"]] == pytest.approx([FLOWN["x"], FLOWN["y"]], abs=0.02)  # of 311 m


def test_velocity_along_the_rail_without_air() -> None:
    """v = exhaust log(m0 / m) - g cos(tilt) t, Tsiolkovsky's; nothing acts across."""
    numbers = {**CALM, "area": 0.0}
    sol = model().integrate((0, 0.3), rocket.INITIAL, numbers, **TIGHT)
    thrust = make_interp_spline(*rocket.TABLES["thrust"][:2], 1)
    burnt = quad(thrust, 0, 0.3, points=[0.2], epsabs=1e-12)[0] / numbers["exhaust"]
    mass = numbers["dry"] + rocket.INITIAL["fuel"]
    tilt = radians(5)
    speed = numbers["exhaust"] * np.log(mass / (mass - burnt)) - numbers["g"] * cos(tilt) * 0.3
    assert sol["vz"][-1] == pytest.approx(speed * cos(tilt), rel=1e-10)
    assert sol["vx"][-1] == pytest.approx(sol["vz"][-1] * tan(tilt), rel=1e-12)
    assert not sol["w2"].any()


def test_descent_under_the_parachute() -> None:
    """m g = rho (chute + area cd) v^2 / 2 in calm air, nearly, since the density changes slowly."""
    sol = model().integrate((0, 300), rocket.INITIAL, CALM, **TIGHT)
    density = CubicSpline(*rocket.TABLES["density"][:2])
    assert [t.size for t in sol.t_events] == [1, 1, 1]
    late = sol.t > sol.t[-1] - 20
    drag = density(sol["z"][late]) / 2 * (CALM["chute"] + CALM["area"] * rocket.TABLES["cd"][1][0])
    fall = np.sqrt(CALM["dry"] * CALM["g"] / drag)
    np.testing.assert_allclose(-sol["vz"][late], fall, rtol=2e-3)
    assert fall[-1] == pytest.approx(sqrt(2 * 17 * 9.81 / (1.225 * (1.2 + 0.0123 * 0.46))), rel=1e-4)


@pytest.mark.slow
def test_winds_and_gusts_of_each_run() -> None:
    """Runs of an ensemble, with a wind profile each and gusts, have the bits of single runs in any number of lanes."""
    rng = np.random.default_rng(5)
    rows = {f"wind_{to}": rng.normal(0, 3, (5, len(rocket.HEIGHTS))) for to in ("east", "north")}
    given = {k: v for k, v in rocket.PARAMETERS.items() if not k.startswith("wind")}
    gust = cg.noise.ou(tau=2.0, sigma=1.0, dt=0.5)
    inputs = {"gust_east": gust, "gust_north": gust}
    found = [
        model(True).ensemble(
            (0, 60), rocket.INITIAL, given, inputs, interpolants=rows, seed=7, rtol=1e-7, lanes=lanes
        )
        for lanes in (1, 4)
    ]
    np.testing.assert_array_equal(found[0].y, found[1].y)
    assert np.ptp(found[0]["x"]) > 50
    alone = model(True).integrate(
        (0, 60),
        rocket.INITIAL,
        given,
        found[0].inputs(3),
        interpolants={name: row[3] for name, row in rows.items()},
        rtol=1e-7,
    )
    np.testing.assert_array_equal(alone.y[:, -1], found[0].y[:, 3])

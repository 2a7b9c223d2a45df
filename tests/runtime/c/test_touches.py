"""Guards that constraints keep on one side of zero, and that touch it: against the same motion in an angle."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.runtime import Model

x, y, th = cg.coordinates("x y th")
v, w, om = cg.rate(x), cg.rate(y), cg.rate(th)
c = cg.parameters("c", positive=True)
TIMES = (0, 12)


@functools.cache
def bead() -> Model:
    """A bead on a circle, which it goes round several times: y < 1 but for one point, at the top."""
    force = c * y * sp.Piecewise((1, y < 1), (5, True)) - c * v / 5
    events = [
        cg.Event(y - 1, name="top"),
        cg.Event(y - 1, direction=1, reset={v: -v, w: -w}, name="ceiling"),
        cg.Event(y - 1 + sp.Rational(1, 10**5), name="near"),
    ]
    system = unit_masses(
        "bead", [x, y], potential=y, holonomic=[x**2 + y**2 - 1], forces={v: force}, events=events
    )
    return system.compile("multipliers")


@functools.cache
def angle() -> Model:
    force = (c * sp.cos(th) - c * sp.cos(th) * om / 5) * sp.cos(th)
    near = cg.Event(sp.cos(th) - 1 + sp.Rational(1, 10**5), name="near")
    system = unit_masses("angle", [th], potential=sp.cos(th), forces={om: force}, events=[near])
    return system.compile()


def start(at: Any) -> dict[str, Any]:
    return {"x": np.sin(at), "y": np.cos(at), "x_dot": 3 * np.cos(at), "y_dot": -3 * np.sin(at)}


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-11])
def test_a_bead_at_the_top_of_its_circle_touches_what_is_above(tolerance: float) -> None:
    starts = np.linspace(1.5, 3, 6)
    for method in ("tsit5", "dop853", "vern9"):
        options: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": tolerance}
        ens = cg.ensemble(bead(), TIMES, start(starts), {"c": 0.3}, **options)
        for i, at in enumerate(starts):
            sol = bead().integrate(TIMES, start(at), {"c": 0.3}, **options)
            assert sol.status == 0, sol.message
            assert [len(found) for found in sol.t_events[:2]] == [0, 0]
            assert (ens["x"][i], ens["y"][i]) == (sol["x"][-1], sol["y"][-1])
            given = {"th": at, "th_dot": 3}, {"c": 0.3}
            same = angle().integrate(TIMES, *given, method="vern9", rtol=1e-12, atol=1e-12)
            assert len(same.t_events[0]) >= 6
            if tolerance < 1e-5:  # what is near is nearer than that
                assert sol.t_events[2] == pytest.approx(same.t_events[0], abs=1e3 * tolerance)
            assert sol["x"][-1] == pytest.approx(np.sin(same["th"][-1]), abs=1e3 * tolerance)


@pytest.mark.parametrize("method", ["tsit5", "dop853", "vern9"])
def test_derivatives_past_the_top(method: str) -> None:
    options: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11, "sensitivities": ["c"]}
    for at in np.linspace(1.5, 3, 6):
        sol = bead().integrate(TIMES, start(at), {"c": 0.3}, method=method, **options)
        assert sol.status == 0, sol.message
        same = angle().integrate(TIMES, {"th": at, "th_dot": 3}, {"c": 0.3}, method="vern9", **options)
        slope = np.cos(same["th"][-1]) * same.sensitivity["th", "c"][-1]
        assert sol.sensitivity["x", "c"][-1] == pytest.approx(slope, abs=1e-7)

"""Steps end at the knots of tables, however many of them a step would pass, and methods keep their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline, PchipInterpolator, PPoly

import chaplygin as cg

END = 10.0
KNOTS = np.linspace(-2, 2, 41)
FORCES = -KNOTS - KNOTS**3 / 4 + 0.2 * np.sin(3 * KNOTS)
START = {"x": 1.5, "x_dot": 0.1}
TOLERANCES = [1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12]
SPLINES = {
    "linear": PPoly(np.stack([np.diff(FORCES) / np.diff(KNOTS), FORCES[:-1]]), KNOTS),
    "cubic": CubicSpline(KNOTS, FORCES),
    "pchip": PchipInterpolator(KNOTS, FORCES),
}


def driven(force: Any) -> Any:
    """A unit mass with a force."""
    x = cg.coordinates("x")
    return cg.System(
        "driven", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, forces={cg.rate(x): force(x)}
    ).compile()


def by_pieces(spline: Any) -> Any:
    """The state at the end by SciPy, with a new start at each knot and the polynomial of each cell alone."""
    t, y, cell = 0.0, np.array(list(START.values())), int(np.searchsorted(KNOTS, 1.5 + 1e-9)) - 1
    while t < END:
        low, high = KNOTS[cell : cell + 2]

        def field(_: float, y: Any, c: Any = spline.c[:, cell], low: float = low) -> Any:
            return [y[1], np.polyval(c, y[0] - low)]

        def leaves_up(_: float, y: Any, high: float = high) -> float:
            return float(y[0] - high)

        def leaves_down(_: float, y: Any, low: float = low) -> float:
            return float(y[0] - low)

        for leaves, direction in ((leaves_up, 1), (leaves_down, -1)):
            vars(leaves).update(terminal=True, direction=direction)
        end = solve_ivp(field, (t, END), y, "DOP853", rtol=3e-14, atol=1e-15, events=[leaves_up, leaves_down])
        t, y = end.t[-1], end.y[:, -1]
        cell += 1 if len(end.t_events[0]) else -1
    return y


def errors(model: Any, wanted: Any, method: str) -> Any:
    """The largest error at the end for each tolerance, in tolerances."""
    found = []
    for tolerance in TOLERANCES:
        how = {"rtol": tolerance, "atol": tolerance, "method": method, "kinks": True}
        found.append(np.abs(model.integrate((0, END), START, **how).y[:, -1] - wanted).max() / tolerance)
    return np.array(found)


@pytest.mark.parametrize("method", ["dop853", "vern9"])
@pytest.mark.parametrize("kind", SPLINES)
def test_errors_follow_the_tolerance_as_without_tables(kind: str, method: str) -> None:
    """At most forty times the error of the smooth force, whose table it is, and what both reach by rounding."""
    smooth = driven(lambda x: -x - x**3 / 4 + sp.Rational(1, 5) * sp.sin(3 * x))
    exact = solve_ivp(
        lambda t, y: [y[1], -y[0] - y[0] ** 3 / 4 + 0.2 * np.sin(3 * y[0])],
        (0, END), list(START.values()), "DOP853", rtol=3e-14, atol=1e-15,
    ).y[:, -1]  # fmt: skip
    table = cg.Interpolant("f", {"x": KNOTS}, FORCES, kind=kind, knots="auto" if kind == "linear" else True)
    found = errors(driven(table), by_pieces(SPLINES[kind]), method)
    plain = errors(smooth, exact, method)
    assert (found < 40 * np.maximum(plain, 1)).all()
    assert found[-1] < 30


@pytest.mark.parametrize("method", ["dop853", "tsit5", "vern9"])
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_a_step_ends_at_every_knot(method: str, tolerance: float) -> None:
    """Steps over a cubic table could pass several knots: none does, there and back."""
    table = cg.Interpolant("f", {"x": KNOTS}, FORCES, knots=True)
    sol = driven(table).integrate((0, END), START, rtol=tolerance, atol=tolerance, method=method, kinks=True)
    apart = sol["x"][:, None] - KNOTS
    at_knot = np.abs(apart) < 1e-6
    passed = (apart[1:] * apart[:-1] < 0) & ~at_knot[1:] & ~at_knot[:-1]
    assert not passed.any()
    assert at_knot.sum() > 100

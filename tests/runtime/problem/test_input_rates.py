"""What is given for an input tells its rates, or is refused."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from rated_systems import SPAN, SYSTEMS, TIMES, TOLERANCES, of_sine, sine, told
from refusals import refused
from scipy.integrate import solve_ivp
from scipy.interpolate import Akima1DInterpolator, PPoly, make_interp_spline

import chaplygin as cg
from chaplygin.runtime.problem.input_rates import differences

PIVOT = SYSTEMS["pivot"]
CUBIC = (TIMES, PIVOT.samples, "cubic")


@pytest.mark.parametrize(
    "source",
    [
        sine,
        told,
        lambda t: told(t)[:2],
        lambda t: np.array(told(t)),
        make_interp_spline(np.linspace(-1, 5, 601), 0.1 * np.sin(5 * np.linspace(-1, 5, 601)), k=7),
    ],
    ids=["differences", "all told", "first told", "array", "spline"],
)
@pytest.mark.sample(1)
def test_functions_of_the_time(source: Any) -> None:
    sol = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, {"u": source}, **TOLERANCES)
    np.testing.assert_allclose(sol.y[:, -1], of_sine(), atol=1e-9)
    np.testing.assert_allclose(sol["u_ddot"], -25 * sol["u"], atol=1e-8)
    assert sol.audit()


def test_a_cubic_spline_of_scipy_is_taken_piece_by_piece() -> None:
    given = PIVOT.start, PIVOT.numbers
    one, two = (PIVOT.model.integrate(SPAN, *given, {"u": u}, **TOLERANCES) for u in (CUBIC, PIVOT.spline))
    np.testing.assert_allclose(two.y[:, -1], PIVOT.end, atol=1e-9)
    assert two.n_steps == one.n_steps
    three = PIVOT.model.integrate(SPAN, *given, {"u": cg.cubic(TIMES, PIVOT.samples)}, **TOLERANCES)
    assert three.y.tobytes() == one.y.tobytes()


def test_lines_have_a_rate_that_is_held_between_their_samples() -> None:
    car = SYSTEMS["car"]
    few = TIMES[::8]
    values = car.motion(few)
    slopes = np.diff(values) / np.diff(few)

    def line(t: float) -> tuple[float, float, float]:
        i = min(int(np.searchsorted(few, t + 1e-12, side="right")) - 1, len(slopes) - 1)
        return float(np.interp(t, few, values)), slopes[i], math.nan

    sol = car.model.integrate(SPAN, car.start, car.numbers, {"u": (few, values, "linear")}, **TOLERANCES)
    expected = car.start
    y = np.array(list(expected.values()))
    for first, last in pairwise(few):
        middle = line(0.5 * (first + last))[1]
        found = solve_ivp(
            lambda t, y, rate=middle: car.by_hand(y, float(np.interp(t, few, values)), rate, 0.0),
            (first, last), y, method="DOP853", rtol=1e-12, atol=1e-13,
        )  # fmt: skip
        y = found.y[:, -1]
    np.testing.assert_allclose(sol.y[:, -1], y, atol=1e-9)
    assert set(few) <= set(sol.t)
    assert sol.audit()
    back = car.model.integrate(
        SPAN[::-1],
        dict(zip(car.start, sol.y[:, -1])),
        car.numbers,
        {"u": (few, values, "linear")},
        **TOLERANCES,
    )
    np.testing.assert_allclose(back.y[:, -1], list(car.start.values()), atol=1e-8)


def test_held_samples_that_do_not_jump_have_rates() -> None:
    one, two = (
        PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, {"u": u}) for u in (0.2, ([0, 1], [0.2, 0.2]))
    )
    assert np.abs(one.y[:, -1] - two.y[:, -1]).max() < 1e-8
    assert not two["u_dot"].any()


@pytest.mark.slow
def test_akima_splines() -> None:
    spline = Akima1DInterpolator(TIMES, PIVOT.samples)
    sol = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, {"u": spline}, **TOLERANCES)
    expected = PIVOT.solved(lambda t: (spline(t), spline(t, 1), spline(t, 2)))
    np.testing.assert_allclose(sol.y[:, -1], expected, atol=1e-8)


def test_splines_that_overshoot_are_taken_with_their_assumptions() -> None:
    x, u = cg.coordinates("x"), cg.inputs("u", nonnegative=True)
    model = cg.System("massive", coordinates=[x], kinetic=(1 + u) * cg.rate(x) ** 2 / 2).compile()
    given = {"x": 0, "x_dot": 1}, {}
    wild = ([0, 1, 2, 3], [0, 0, 1, 1], "cubic")
    refused(r"u = -.*but u is declared nonnegative", model.integrate, (0, 3), *given, {"u": wild})
    sol = model.integrate((0, 3), *given, {"u": ([0, 1, 2, 3], [0, 1, 4, 9], "cubic")}, **TOLERANCES)
    np.testing.assert_allclose(sol["x_dot"], 1 / (1 + sol.t**2), atol=1e-10)  # (1 + u) x' is conserved


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_differences(scale: float) -> None:
    for t in np.linspace(-1, 1, 7) * scale:
        first, second = differences(lambda s: math.sin(s / scale), t, math.sin(t / scale))
        assert first * scale == pytest.approx(math.cos(t / scale), abs=1e-11)
        assert second * scale**2 == pytest.approx(-math.sin(t / scale), abs=1e-8)


@pytest.mark.parametrize("hertz", [8, 16, 40, 64, 1000])
def test_differences_of_what_repeats_within_their_widest_distance(hertz: int) -> None:
    w = 2 * math.pi * hertz
    first, second = differences(lambda s: math.sin(w * s), 0.1, math.sin(w * 0.1))
    assert first / w == pytest.approx(math.cos(w * 0.1), abs=1e-7)
    assert second / w**2 == pytest.approx(-math.sin(w * 0.1), abs=1e-4)


# ---- refusals ----


KINKED = PPoly(np.array([[1.0, -1.0], [0.0, 2.0]]), [0.0, 2.0, 4.0])
BROKEN = PPoly(np.array([[0.0, 0.0], [0, 0], [1.0, 1.0], [0.0, 0.0]]), [0.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("pivot", (TIMES, PIVOT.samples), r"u is held between .* jumps at t = 0\.1.*give samples .*'cubic'"),
        ("pivot", (TIMES, PIVOT.samples, "linear"), "u is linear between its samples, so u_dot jumps.*u_ddot"),
        ("car", (TIMES, TIMES), r"u is held between its samples, and jumps at t = 0\.1"),
        ("car", ([0, 1, 1, 2], [0, 1, 2, 3], "linear"), "u jumps at t = 1, where u_dot"),
        ("car", lambda t, y: y[0], "u is a function of t and y, and the model needs u_dot"),
        ("pivot", lambda t: [1.0] * 4, "u at t = 0 has 4 entries"),
        ("pivot", lambda t: (1.0, math.nan, 0.0), "u_dot at t = 0"),
        ("pivot", make_interp_spline(TIMES, TIMES**2, k=1), "u is a spline of degree 1, so u_dot jumps at t = 0.1"),
        ("pivot", KINKED, "u is a spline of degree 1, so u_dot jumps at t = 2, where u_ddot"),
        ("pivot", BROKEN, "u jumps at t = 2, where u_dot"),
        ("pivot", (TIMES[:31], PIVOT.samples[:31], "cubic"), "u has samples .* to 3, .*from t = 0 to 4"),
    ],
)  # fmt: skip
def test_sources_without_rates_are_refused(name: str, source: Any, message: str) -> None:
    rated = SYSTEMS[name]
    refused(message, rated.model.integrate, SPAN, rated.start, rated.numbers, {"u": source})


def test_gradients_notice_that_samples_end() -> None:
    short = {"u": (TIMES[:31], PIVOT.samples[:31], "cubic")}
    for span in (SPAN, SPAN[::-1]):
        with pytest.raises(cg.ArgumentError, match=r"u has samples .* to 3, .*from t = 0 to 4"):
            PIVOT.model.gradient(cg.final("q"), span, PIVOT.start, PIVOT.numbers, short)


def test_other_refusals() -> None:
    model, start, numbers = PIVOT.model, PIVOT.start, PIVOT.numbers
    with pytest.raises(cg.ArgumentError, match="u_dot is a number, but u varies; leave u_dot out"):
        model.integrate(SPAN, start, numbers, {"u": CUBIC, "u_dot": 1.0})
    run = model.stepper(start, numbers, {"u": (TIMES[:11], PIVOT.samples[:11], "cubic")})
    run.advance(1.0)
    refused("u has samples from t = 0 to 1", run.advance, 1.1)
    refused("u_dot is the rate of another input, which is not named; name both", run.set_inputs, u_dot=1.0)
    refused("u is held between its samples", run.set_inputs, u=([0, 2], [0, 1]))


def test_rates_follow_from_what_varies() -> None:
    model, start, numbers = PIVOT.model, PIVOT.start, PIVOT.numbers
    varies, held = (TIMES, PIVOT.samples, "cubic"), (TIMES, PIVOT.samples)
    for wrong in ({"u": varies, "u_dot": 0.0}, [varies, 0, 0]):
        with pytest.raises(cg.ArgumentError, match="u_dot is a number, but u varies; leave u_dot out"):
            model.integrate(SPAN, start, numbers, wrong)
    for wrong in ({"u": 0.1, "u_dot": lambda t: 1.0}, {"u_dot": varies}):
        with pytest.raises(cg.ArgumentError, match="u_dot varies, but u is a number; give u as samples"):
            model.integrate(SPAN, start, numbers, wrong)
    with pytest.raises(cg.ArgumentError, match="u is held between its samples, and jumps at t"):
        model.integrate(SPAN, start, numbers, {"u": held, "u_dot": lambda t: 1.0})
    refused("u = None is not a real number", model.integrate, SPAN, start, numbers, {"u": None})

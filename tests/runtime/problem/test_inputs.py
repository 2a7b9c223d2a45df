"""Inputs of runs against closed forms: those that are not given, functions and splines."""

from __future__ import annotations

import functools
import math
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy import interpolate, stats

import chaplygin as cg
from chaplygin.runtime import ArgumentError

START = {"x": 0.3, "x_dot": 0.2}
NUMBERS = {"m": 2}
SPAN = (0, 1)


@pytest.fixture(scope="module")
def driven() -> Any:
    """m x'' = F + 3 G."""
    x = cg.coordinates("x")
    v, m, (F, G) = cg.rate(x), cg.parameters("m"), cg.inputs("F G")
    system = cg.System("driven", coordinates=[x], kinetic=m * v**2 / 2, forces={v: F + 3 * G}, example={x: 0})
    return system.compile()


def pushed(force: float) -> list[float]:
    """The state at t = 1 after a constant force."""
    return [0.3 + 0.2 + force / 4, 0.2 + force / 2]


@pytest.mark.parametrize(
    ("inputs", "force"), [(None, 0), ({}, 0), ({"F": 2}, 2), ({"G": 1}, 3), ({"G": ([0, 9], [1, 1])}, 3)]
)
def test_inputs_that_are_not_given_are_zero(driven: Any, inputs: Any, force: float) -> None:
    end = pytest.approx(pushed(force), abs=1e-12)
    assert driven.integrate(SPAN, START, NUMBERS, inputs).y[:, -1] == end
    assert driven.stepper(START, NUMBERS, inputs).advance(1.0) == end
    for column in driven.ensemble(SPAN, START, NUMBERS, inputs, n=3).y.T:
        assert column == end
    study = driven.study(SPAN, START, NUMBERS, inputs, n=3, collect={"end": cg.final("x")})
    assert study.results["end"]["x"] == pytest.approx(np.full(3, pushed(force)[0]), abs=1e-12)
    if inputs is None or "G" not in inputs or isinstance(inputs["G"], int):
        batch = driven.batch(START, NUMBERS, inputs, n=2)
        batch.advance(1.0)
        assert batch.y[:, 1] == end


def test_other_questions_take_inputs_that_are_not_given_as_zero(driven: Any) -> None:
    derivative = driven.integrate(SPAN, START, NUMBERS, sensitivities=["F", "G"]).sensitivity
    assert derivative["x", "F"][-1] == pytest.approx(0.25, abs=1e-12)
    assert derivative["x", "G"][-1] == pytest.approx(0.75, abs=1e-12)
    rest = driven.equilibrium({"x": 1}, NUMBERS, {"F": 6}, keep=["x"], free=["G"])
    assert rest.inputs == pytest.approx({"F": 6, "G": -2})
    assert driven.linearize({"x": 1, "x_dot": 0}, NUMBERS).point["F"] == 0
    drawn = driven.ensemble(SPAN, START, {"m": 2 + cg.inputs("F")}, {"G": stats.norm()}, n=4, seed=1)
    assert drawn.y[1] == pytest.approx(0.2 + 1.5 * drawn.draws["G"], abs=1e-12)
    with pytest.raises(ArgumentError, match="m = F \\+ 2 needs F, which is not given"):
        driven.ensemble(SPAN, START, {"m": 2 + cg.inputs("F")}, {"F": lambda t: t}, n=4)


@pytest.mark.parametrize(
    "call",
    [
        lambda model, inputs: model.integrate(SPAN, START, NUMBERS, inputs),
        lambda model, inputs: model.ensemble(SPAN, START, NUMBERS, inputs, n=2),
        lambda model, inputs: model.stepper(START, NUMBERS, inputs),
        lambda model, inputs: model.batch(START, NUMBERS, inputs, n=2),
        lambda model, inputs: model.linearize(START, NUMBERS, inputs),
        lambda model, inputs: model.equilibrium(START, NUMBERS, inputs),
    ],
)
def test_unknown_inputs_are_errors_that_name_the_nearest(driven: Any, call: Any) -> None:
    refused("inputs: unknown FF; did you mean F", call, driven, {"FF": 1})


TIMES = np.linspace(0, 2, 9)


class Ramp:
    """6 t, as a method and as a call."""

    def method(self, t: float) -> float:
        return 6 * t

    def __call__(self, t: float, scale: float = 6.0) -> float:
        return scale * t


def scaled(scale: float, t: float) -> float:
    return scale * t


@pytest.mark.parametrize(
    "ramp",
    [
        lambda t: 6 * t,
        lambda t, y: 6 * t + 0 * y[0],
        lambda t, scale=6: scale * t,
        lambda *both: 6 * both[0] + 0 * both[1][0],
        functools.partial(scaled, 6.0),
        Ramp(),
        Ramp().method,
        np.poly1d([6, 0]),
        interpolate.CubicSpline(TIMES, 6 * TIMES),
        interpolate.PPoly(np.array([[6.0], [0.0]]), np.array([0.0, 2.0])),
        interpolate.make_interp_spline(TIMES, 6 * TIMES),
        interpolate.interp1d(TIMES, 6 * TIMES),
        interpolate.Akima1DInterpolator(TIMES, 6 * TIMES),
        interpolate.PchipInterpolator(TIMES, 6 * TIMES),
        interpolate.UnivariateSpline(TIMES, 6 * TIMES, s=0),
        (TIMES, 6 * TIMES, "cubic"),
        cg.cubic(TIMES, 6 * TIMES),
    ],
)
def test_functions_of_one_argument_take_the_time_and_of_two_the_state(driven: Any, ramp: Any) -> None:
    """2 x'' = 6 t."""
    end = pytest.approx([0.3 + 0.2 + 0.5, 0.2 + 1.5], abs=1e-9)
    assert driven.integrate(SPAN, START, NUMBERS, {"F": ramp}).y[:, -1] == end
    assert driven.stepper(START, NUMBERS, {"F": ramp}).advance(1.0) == end
    assert driven.ensemble(SPAN, START, NUMBERS, {"F": ramp}, n=2).y[:, 1] == end


def test_functions_written_in_c(driven: Any) -> None:
    """math.log has no signature, and takes a second argument: x'' = log t from 1 to 2."""
    end = 2 * math.log(2) - 1
    for logarithm in (math.log, np.log):
        found = driven.integrate((1, 2), {"x": 0, "x_dot": 0}, NUMBERS, {"F": logarithm}).y[1, -1]
        assert found == pytest.approx(end / 2, abs=1e-9)


def test_errors_of_functions_come_through_with_the_name_of_the_input(driven: Any) -> None:
    def broken(t: float) -> float:
        raise KeyError("sensor")

    for call in (driven.integrate, functools.partial(driven.ensemble, n=2)):
        with pytest.raises(KeyError, match="sensor") as caught:
            call(SPAN, START, NUMBERS, {"G": broken})
        if sys.version_info >= (3, 11):
            assert caught.value.__notes__ == ["inputs: G raised this at t = 0"]


def test_cubic_samples_are_a_spline_that_holds_its_ends(driven: Any) -> None:
    """A cubic is its own spline: 2 x'' = t^3 up to t = 1, and 1 from there on."""
    times = np.array([0.0, 0.2, 0.5, 0.9, 1.0])
    push = cg.cubic(times, times**3)
    assert push(np.array([-1, 0.3, 0.7, 5])) == pytest.approx([0, 0.027, 0.343, 1], abs=1e-15)
    assert pickle.loads(pickle.dumps(push))(0.3) == push(0.3)
    samples = {"F": (times, times**3, "cubic")}
    end = driven.integrate((0, 2), {"x": 0, "x_dot": 0}, NUMBERS, samples, rtol=1e-11, atol=1e-11)
    assert end.y[:, -1] == pytest.approx([1 / 40 + 1 / 8 + 1 / 4, 1 / 8 + 1 / 2], abs=1e-8)
    refused("times of cubic must not decrease", cg.cubic, [1, 0], [1, 2])

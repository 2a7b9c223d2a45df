"""Derivatives at events of runs with functions of the time, whose own slopes are differences."""

from __future__ import annotations

import math

import pytest

import chaplygin as cg

x, u = cg.coordinates("x"), cg.inputs("u")
a, n = cg.parameters("a n")
v = cg.rate(x)
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


@pytest.mark.parametrize("off", [1e-3, 1e-6, 1e-10])
def test_a_function_is_not_asked_about_the_time_before_the_start(off: float) -> None:
    """x = v t at first, with v = 1 + t after a blow n u at x = a, at t = a, and u = 1 + sqrt(t).

    A force that is 0 before a: x(2) = a + (1 + n u(a)) (2 - a), and w = u x.
    """

    def asked(t: float) -> float:
        if t < 0:
            raise ValueError(f"not known at t = {t}")
        return 1 + math.sqrt(1 + t)

    met = cg.Event(x - a, direction=1, reset={v: v + n * u}, name="met")
    system = cg.System(
        "soon", coordinates=[x], kinetic=v**2 / 2, forces={v: 0}, events=[met], outputs={"w": u * x}
    )
    model = system.compile("lagrange")
    given = (0, 2), {"x": 0, "x_dot": 1}, {"a": off, "n": 0.5}, {"u": asked}
    level, slope = asked(off), 0.5 / math.sqrt(1 + off)
    expected = 1 - (1 + 0.5 * level) + 0.5 * slope * (2 - off)
    sol = model.integrate(*given, sensitivities=["a"], **TIGHT)
    assert sol.sensitivity["x", "a"][-1] == pytest.approx(expected, abs=1e-8)
    assert sol.sensitivity["w", "a"][-1] == pytest.approx(asked(2) * expected, abs=1e-8)
    assert sol.sensitivity.events["met"]["w", "a"] == pytest.approx([slope * off + level], abs=1e-8)
    assert model.gradient(cg.final("x"), *given, by=["a"], **TIGHT)["a"] == pytest.approx(expected, abs=1e-8)
    at_event = model.gradient(cg.at_event("met", "w"), *given, by=["a"], **TIGHT)["a"]
    assert at_event == pytest.approx(slope * off + level, abs=1e-8)
    many = cg.ensemble(model, *given, n=2, sensitivities=["a"], **TIGHT)
    assert many.sensitivity["w", "a"] == pytest.approx([asked(2) * expected] * 2, abs=1e-8)
    stepper = model.stepper(*given[1:], sensitivities=["a"], **TIGHT)
    stepper.advance(2)
    assert stepper.sensitivity["w", "a"] == pytest.approx(asked(2) * expected, abs=1e-8)


@pytest.mark.parametrize("speed", [1.0, 1e4, 1e6])
def test_a_function_that_is_faster_than_a_mean_step(speed: float) -> None:
    """u = tanh(s (t - 2)) reaches a at 2 + artanh(a) / s, where the run ends: dt/da = 1 / (s (1 - a^2))."""
    system = cg.System(
        "fast",
        coordinates=[x],
        kinetic=v**2 / 2,
        forces={v: -x},
        events=[cg.Event(u - a, direction=1, terminal=True, name="met")],
        outputs={"w": u + x},
    )
    model = system.compile("lagrange")
    given = (0, 30), {"x": 1, "x_dot": 0}, {"a": 0.3}, {"u": lambda t: math.tanh(speed * (t - 2))}
    end = 2 + math.atanh(0.3) / speed
    by_a = 1 / (speed * (1 - 0.3**2))
    expected = 1 - math.sin(end) * by_a
    sol = model.integrate(*given, sensitivities=["a"], **TIGHT)
    assert sol.t_reached == pytest.approx(end, rel=1e-12)
    found = sol.sensitivity.events["met"]
    assert found.t[0] == pytest.approx([by_a], rel=1e-7)
    assert found["w", "a"] == pytest.approx([expected], abs=1e-7)
    assert sol.sensitivity["w", "a"][-1] == pytest.approx(expected, abs=1e-7)
    assert model.gradient(cg.final("w"), *given, by=["a"], **TIGHT)["a"] == pytest.approx(expected, abs=1e-7)
    many = cg.ensemble(model, *given, n=2, sensitivities=["a"], **TIGHT)
    assert many.sensitivity["w", "a"] == pytest.approx([expected] * 2, abs=1e-7)

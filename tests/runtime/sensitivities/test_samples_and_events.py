"""Derivatives at events of runs whose inputs are samples, or functions of the time with slopes by differences.

An event at the very time of a sample is compared with runs in which it is earlier, and later. Where both agree,
sensitivities, gradients, ensembles and steppers do too; elsewhere they end with status -15.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy as sp
from unit_masses import unit_masses

import chaplygin as cg

x, u = cg.coordinates("x"), cg.inputs("u")
a, b, n = cg.parameters("a b n")
v = cg.rate(x)
NUMBERS = {"b": 1.0, "n": 0.4}
START = {"x": 0.3, "x_dot": 1.0}
HELD = ([0, 1], [1, 3])
JUMP = ([0, 1, 1, 2], [1, 1, 3, 3], "linear")
CORNER = ([0, 1, 2], [0, 1, 3], "linear")


class Case(NamedTuple):
    force: Any
    guard: Any
    reset: Any
    samples: Any
    agree: bool
    terminal: bool = False


CASES = {
    "a blow between forces": Case(u, cg.time - b, {v: v + n}, HELD, True),
    "a blow between lines": Case(u * v, cg.time - b, {v: v + n}, CORNER, True),
    "a mark": Case(u * v, cg.time - b, {v: v + n * x}, ([0, 1], [2, 2]), True),
    "a blow between gains": Case(u * v, cg.time - b, {v: v + n}, HELD, False),
    "a blow where a line jumps": Case(u * v, cg.time - b, {v: v + n}, JUMP, False),
    "a wall between forces": Case(u, cg.time - b, {v: -n * v}, HELD, False),
    "a reset that reads the input": Case(-x, cg.time - b, {v: v + n * u}, HELD, False),
    "a reset that reads the line": Case(v, cg.time - b, {v: v + n * u}, CORNER, False),
    "a guard that reads the line": Case(v, u - b, {v: v + n}, CORNER, False),
    "a kink": Case(u * n * sp.sign(cg.time - b), None, None, HELD, False),
    "an end": Case(u, cg.time - b, None, HELD, False, terminal=True),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CASES)
def test_an_event_at_the_time_of_a_sample(name: str) -> None:
    case = CASES[name]
    events = (
        [cg.Event(case.guard, reset=case.reset, terminal=case.terminal, name="met")]
        if case.guard is not None
        else []
    )
    system = unit_masses("sampled", [x], forces={v: case.force}, events=events)
    model = system.compile("lagrange")
    numbers = {p: NUMBERS[p] for p in model.parameters}
    rest: dict[str, Any] = {"inputs": {"u": case.samples}, "rtol": 1e-12, "atol": 1e-12, "method": "vern9"}

    def end(by: str, off: float) -> Any:
        start, given = ({**g, by: g[by] + off} if by in g else g for g in (START, numbers))
        return model.integrate((0, 2), start, given, **rest).y[:, -1]

    h = 1e-5
    earlier, later = (
        s * (4 * end("b", s * h) - end("b", 2 * s * h) - 3 * end("b", s * 1e-13)) / (2 * h) for s in (-1, 1)
    )
    assert np.allclose(earlier, later, atol=1e-4) == case.agree
    given = (0, 2), START, numbers
    sol = model.integrate(*given, **rest, sensitivities=["b"])
    many = cg.ensemble(model, *given, n=2, **rest, sensitivities=["b"])
    assert many.status.tolist() == [sol.status] * 2
    stepper = model.stepper(*given[1:], **rest, sensitivities=["b"])
    if case.agree:
        assert sol.status == 0, sol.message
        stepper.advance(2)
        found = [sol.sensitivity.y[:, 0, -1], [stepper.sensitivity[s, "b"] for s in model.states]]
        found += [[many.sensitivity[s, "b"][1] for s in model.states]]
        found += [[model.gradient(cg.final(s), *given, by=["b"], **rest)["b"] for s in model.states]]
        np.testing.assert_allclose(found, [(earlier + later) / 2] * 4, atol=1e-6)
    else:
        assert sol.status == -15, sol.message
        for fails in (
            lambda: stepper.advance(2),
            lambda: model.gradient(cg.final("x"), *given, by=["b"], **rest),
        ):
            with pytest.raises(cg.KernelError, match="in an order that matters"):
                fails()
    # The event stays where it is if the initial velocity changes.
    by_start = model.integrate(*given, **rest, sensitivities=["x_dot"])
    assert by_start.status in (0, 1), by_start.message
    h = 1e-3
    expected = (8 * (end("x_dot", h) - end("x_dot", -h)) - end("x_dot", 2 * h) + end("x_dot", -2 * h)) / (
        12 * h
    )
    np.testing.assert_allclose(by_start.sensitivity.y[:, 0, -1], expected, atol=1e-8)
    found = model.gradient(cg.final("x"), *given, by=["x_dot"], **rest)["x_dot"]
    assert found == pytest.approx(expected[0], abs=1e-8)


def test_a_kink_at_the_time_of_a_sample() -> None:
    """x'' = u n sign(t - b), u = 1 before t = 1 and 3 after it: at b = 1 there is a derivative by the start alone."""
    model = unit_masses("sampled", [x], forces={v: CASES["a kink"].force}).compile()
    given: tuple[Any, ...] = (0, 2), START, NUMBERS
    rest: dict[str, Any] = {"inputs": {"u": HELD}, "rtol": 1e-12, "atol": 1e-12, "method": "vern9"}
    with pytest.raises(cg.KernelError, match="in an order that matters"):
        model.gradient(cg.final("x"), *given, by=["b"], **rest)
    assert model.gradient(cg.final("x"), *given, by=["x_dot"], **rest)["x_dot"] == pytest.approx(2, abs=1e-9)


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
    system = unit_masses("soon", [x], forces={v: 0}, events=[met], outputs={"w": u * x})
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
    system = unit_masses(
        "fast",
        [x],
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

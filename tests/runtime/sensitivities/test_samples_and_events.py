"""An event at the very time of a sample: its derivatives by differences of runs in which it is earlier, and later.

Where both agree, sensitivities, gradients, ensembles and steppers do too; elsewhere they end with status -15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy as sp

import chaplygin as cg

x, u = cg.coordinates("x"), cg.inputs("u")
b, n = cg.parameters("b n")
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
    system = cg.System("sampled", coordinates=[x], kinetic=v**2 / 2, forces={v: case.force}, events=events)
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
    model = cg.System(
        "sampled", coordinates=[x], kinetic=v**2 / 2, forces={v: CASES["a kink"].force}
    ).compile()
    given: tuple[Any, ...] = (0, 2), START, NUMBERS
    rest: dict[str, Any] = {"inputs": {"u": HELD}, "rtol": 1e-12, "atol": 1e-12, "method": "vern9"}
    with pytest.raises(cg.KernelError, match="in an order that matters"):
        model.gradient(cg.final("x"), *given, by=["b"], **rest)
    assert model.gradient(cg.final("x"), *given, by=["x_dot"], **rest)["x_dot"] == pytest.approx(2, abs=1e-9)

"""Inputs of runs against closed forms: those that are not given, functions and splines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

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
    study = driven.ensemble(SPAN, START, NUMBERS, inputs, n=3, collect={"end": cg.final("x")})
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
    with pytest.raises(ArgumentError, match="inputs: unknown FF; did you mean F"):
        call(driven, {"FF": 1})

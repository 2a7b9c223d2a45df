"""Gradients of runs whose inputs vary: against sensitivities, differences of runs, and a fit with a known answer."""

from __future__ import annotations

import math
from typing import Any

import pytest
from driven_wall import INPUTS, NAMES, NUMBERS, START, differences, system
from runtime_models import needs_core
from scipy.optimize import Bounds, minimize

import chaplygin as cg
from chaplygin.errors import ArgumentError

pytestmark = needs_core
TIGHT = {"rtol": 1e-11, "atol": 1e-12}
RUN = (0, 5), START, NUMBERS
kinds = pytest.mark.parametrize("kind", list(INPUTS))


@kinds
@pytest.mark.parametrize("how", [TIGHT, {"method": "rk4", "step": 0.01}], ids=["dop853", "rk4"])
def test_the_end_as_by_sensitivities_whatever_memory_there_is(kind: str, how: dict[str, Any]) -> None:
    model, inputs = system().compile("lagrange"), {"u": INPUTS[kind]}
    found = model.gradient(cg.final("x"), *RUN, inputs, by=NAMES, **how)
    forward = model.integrate(*RUN, inputs, sensitivities=NAMES, **how).sensitivity
    assert list(found.vector) == pytest.approx([forward["x", name][-1] for name in NAMES], abs=1e-10)
    again = model.gradient(cg.final("x"), *RUN, inputs, by=NAMES, memory=8 * 2 * 2 * 5, **how)
    assert again.n_repeated > 0
    assert list(again.vector) == pytest.approx(list(found.vector), abs=1e-10)


@kinds
def test_integrals_and_samples_that_have_the_input_in_them(kind: str) -> None:
    """Beside differences of the losses themselves."""
    model, inputs = system().compile("lagrange"), {"u": INPUTS[kind]}
    x, u = cg.coordinates("x"), cg.inputs("u")
    loss = [cg.integral(x**2 * u), cg.final(x * u), cg.at_event("wall", x * u)]
    found = model.gradient(loss, *RUN, inputs, by=NAMES, **TIGHT)
    expected = differences(
        lambda *given: model.gradient(loss, (0, 5), *given, inputs, by=["k"], rtol=1e-12, atol=1e-13).value
    )
    assert list(found.vector) == pytest.approx(expected, abs=1e-6 if kind == "cubic" else 1e-9)


@kinds
def test_an_objective_finds_a_stiffness(kind: str) -> None:
    model, inputs = system().compile("lagrange"), {"u": INPUTS[kind]}
    times = [0.5, 1.0, 1.5, 2.0]
    measured = model.integrate((0, 2), START, NUMBERS, inputs, t_eval=times, **TIGHT)["x"]
    guess = NUMBERS | {"k": 3.6}
    wanted = model.objective(
        cg.squares({"x": (times, measured)}), (0, 2), START, guess, inputs, free=["k"], **TIGHT
    )
    found = minimize(wanted, wanted.start, jac=True, bounds=Bounds(*wanted.bounds), tol=1e-15)
    assert found.x == pytest.approx([4.0], abs=1e-5)


def test_what_is_refused() -> None:
    model = system().compile("lagrange")
    with pytest.raises(
        ArgumentError, match=r"gradient: the derivative of an input f\(t, y\) by y is not known: u"
    ):
        model.gradient(cg.final("x"), *RUN, {"u": lambda t, y: -y[0]}, by=["k"])
    with pytest.raises(ArgumentError, match="by: u is an input that varies"):
        model.gradient(cg.final("x"), *RUN, {"u": INPUTS["held"]}, by=["u"])
    with pytest.raises(ZeroDivisionError):
        model.gradient(cg.final("x"), *RUN, {"u": lambda t: 1 / 0 if t > 1 else 0.0}, by=["k"])


def test_a_function_is_not_asked_about_the_time_before_the_start() -> None:
    """A block that slides from the start on, under a force 8 sqrt(t): x = 32/15 t^2 sqrt(t) - mu g t^2 / 2."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    mu = cg.parameters("mu", positive=True)
    v = cg.rate(x)
    block = cg.System(
        "pushed_block",
        coordinates=[x],
        kinetic=v**2 / 2,
        forces={v: u},
        contacts=[cg.Coulomb("floor", slip=v, normal=10, mu=mu)],
    ).compile()
    given = (0, 2), {"x": 0.0, "x_dot": 20.0}, {"mu": 0.3}, {"u": lambda t: 8 * math.sqrt(t)}
    assert block.gradient(cg.final("x"), *given, by=["mu"], **TIGHT)["mu"] == pytest.approx(-20.0, abs=1e-8)

"""Gradients of runs whose inputs vary: against sensitivities, differences of runs, and a fit with a known answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from driven_wall import INPUTS, NAMES, NUMBERS, START, differences, system
from refusals import refused
from scipy.optimize import Bounds, minimize
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.errors import ArgumentError

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


def rubbed() -> cg.System:
    """A sprung mass on a rough floor, thrown back at b by a blow that reads the input."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    m, c, k, b = cg.parameters("m c k b", positive=True)
    v = cg.rate(x)
    return cg.System(
        "rubbed",
        coordinates=[x],
        kinetic=m * v**2 / 2,
        potential=k * x**2 / 2,
        forces={v: u},
        contacts=[cg.Coulomb("floor", slip=v, normal=m, mu=c / 4)],
        events=[cg.Event(x - b, direction=1, reset={v: -0.8 * v - u**2 / 3}, name="wall")],
    )


@kinds
def test_a_contact_and_a_reset_that_reads_the_input(kind: str) -> None:
    """Beside differences of runs at 1e-13; ensembles have the bits of single runs, however many threads there are."""
    model, given = (
        rubbed().compile("lagrange"),
        ((0, 5), START, NUMBERS | {"b": 0.12, "c": 0.6}, {"u": INPUTS[kind]}),
    )
    names = ["k", "b", "m", "x", "c"]
    sol = model.integrate(*given, sensitivities=names, **TIGHT)
    slip = sol["slip_floor"]
    resting = (slip[:-1] == 0) & (slip[1:] == 0)
    assert len(sol.t_events[0]) == 1
    assert np.diff(sol.t)[resting].sum() > 0.5
    assert slip.min() < 0 < slip.max()
    forward = [sol.sensitivity["x", name][-1] for name in names]

    def end(name: str, off: float) -> float:
        start, numbers = ({**g, name: g[name] + off} if name in g else g for g in given[1:3])
        return float(model.integrate((0, 5), start, numbers, given[3], rtol=1e-13, atol=1e-14)["x"][-1])

    h = 3e-5
    expected = [(8 * (end(n, h) - end(n, -h)) - end(n, 2 * h) + end(n, -2 * h)) / (12 * h) for n in names]
    close = 1e-6 if kind == "cubic" else 1e-9
    assert forward == pytest.approx(expected, abs=close)
    assert list(model.gradient(cg.final("x"), *given, by=names, **TIGHT).vector) == pytest.approx(
        expected, abs=close
    )
    starts = {"x": [0.02, START["x"], 0.05], "x_dot": 0.0}
    for threads in (1, 2):
        many = cg.ensemble(
            model, (0, 5), starts, *given[2:], n=3, sensitivities=names, threads=threads, **TIGHT
        )
        assert [many.sensitivity["x", name][1] for name in names] == forward


def test_what_is_refused() -> None:
    model = system().compile("lagrange")
    words = r"gradient: the derivative of an input f\(t, y\) by y is not known: u"
    refused(words, model.gradient, cg.final("x"), *RUN, {"u": lambda t, y: -y[0]}, by=["k"])
    with pytest.raises(ArgumentError, match="by: u is an input that varies"):
        model.gradient(cg.final("x"), *RUN, {"u": INPUTS["held"]}, by=["u"])
    with pytest.raises(ZeroDivisionError):
        model.gradient(cg.final("x"), *RUN, {"u": lambda t: 1 / 0 if t > 1 else 0.0}, by=["k"])


def test_a_function_is_not_asked_about_the_time_before_the_start() -> None:
    """A block that slides from the start on, under a force 8 sqrt(t): x = 32/15 t^2 sqrt(t) - mu g t^2 / 2."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    mu = cg.parameters("mu", positive=True)
    v = cg.rate(x)
    block = unit_masses(
        "pushed_block", [x], forces={v: u}, contacts=[cg.Coulomb("floor", slip=v, normal=10, mu=mu)]
    ).compile()
    given = (0, 2), {"x": 0.0, "x_dot": 20.0}, {"mu": 0.3}, {"u": lambda t: 8 * math.sqrt(t)}
    assert block.gradient(cg.final("x"), *given, by=["mu"], **TIGHT)["mu"] == pytest.approx(-20.0, abs=1e-8)

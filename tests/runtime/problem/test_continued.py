"""Results as starts: a run, an equilibrium, a periodic motion in the place of `initial`, with what they ran with."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from rated_systems import SYSTEMS
from springs import C, M, U, V, sprung

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.errors import ArgumentError
from chaplygin.generated.double_pendulum import model as double
from chaplygin.generated.harmonic_oscillator import model as spring


@functools.cache
def system() -> cg.System:
    """m x'' = u - k x - c x'."""
    return sprung("pushed", U - C * V, mass=M)


@functools.cache
def pushed() -> Any:
    return system().compile()


NUMBERS = {"m": 2.0, "k": 3.0, "c": 0.5}


def ramp(t: float) -> float:
    return t / 4


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("u", [0.0, 1.5, ([0.0, 5.0], [1.0, -2.0]), ramp])
def test_a_run_goes_on_from_a_run(u: Any, pure: bool) -> None:
    """With its parameters and inputs, as one that is given all of them by name."""
    model = python_model(system().equations().program, quiet=True) if pure else pushed()
    first = model.integrate((0, 3), {"x": 1, "x_dot": 0}, NUMBERS, {"u": u})
    end = dict(zip(model.states, first.y[:, -1]))
    expected = model.integrate((3, 7), end, NUMBERS, {"u": u})
    found = model.integrate((3, 7), first)
    assert found.y.tobytes() == expected.y.tobytes()
    again = model.integrate((7, 8), found)
    assert again.parameters == NUMBERS
    assert again["u"].tobytes() == model.integrate((7, 8), found.y[:, -1], NUMBERS, {"u": u})["u"].tobytes()
    if pure:
        return
    many = cg.ensemble(model, (3, 7), first, {"c": [0.5, 1.0]})
    assert many.y[:, 0].tobytes() == expected.y[:, -1].tobytes()
    assert many.y[:, 1].tobytes() == model.integrate((3, 7), first, {"c": 1.0}).y[:, -1].tobytes()


def test_what_is_given_replaces_what_it_ran_with() -> None:
    """By name, so that the rest stays; a vector replaces all."""
    first = pushed().integrate((0, 3), {"x": 1, "x_dot": 0}, NUMBERS, {"u": ([0.0, 5.0], [1.0, -2.0])})
    end = first.y[:, -1]
    numbers, samples = {**NUMBERS, "k": 5.0}, {"u": ([0.0, 5.0], [1.0, -2.0])}
    for parameters, inputs, all_parameters, all_inputs in (
        ({"k": 5.0}, None, numbers, samples),
        ([numbers[name] for name in pushed().parameters], {"u": 1.0}, numbers, {"u": 1.0}),
        (None, [1.0], NUMBERS, {"u": 1.0}),
    ):
        found = pushed().integrate((3, 7), first, parameters, inputs)
        assert found.y.tobytes() == pushed().integrate((3, 7), end, all_parameters, all_inputs).y.tobytes()


def test_a_rest_is_linearized_and_runs() -> None:
    """u / k, and it stays there; `linearize` has the same matrix as by numbers."""
    rest = pushed().equilibrium({"x": 0}, NUMBERS, {"u": 1.5})
    assert rest["x"] == pytest.approx(0.5, abs=1e-12)
    found = pushed().linearize(rest)
    assert pytest.approx(np.array([[0, 1], [-1.5, -0.25]]), abs=1e-12) == found.A
    assert pytest.approx(np.array([[0], [0.5]]), abs=1e-12) == found.B
    run = pushed().integrate((0, 10), rest)
    assert run["x"] == pytest.approx(np.full(len(run.t), 0.5), abs=1e-10)
    assert run["u"].tolist() == [1.5] * len(run.t)
    free = pushed().integrate((0, 4), rest, {"c": 1e-9}, {"u": 0.0}, rtol=1e-11, atol=1e-11)
    assert free["x"][-1] == pytest.approx(0.5 * np.cos(4 * np.sqrt(1.5)), abs=1e-7)
    family = pushed().linearize(rest, {"c": np.array([0.5, 1.0])})
    assert family.A[:, 1, 1] == pytest.approx([-0.25, -0.5])
    assert pushed().equilibrium(rest, inputs={"u": 3.0})["x"] == pytest.approx(1.0, abs=1e-12)
    assert pushed().equilibrium(run)["x"] == pytest.approx(0.5, abs=1e-12)


def test_other_calls_that_begin_a_run_take_them_too() -> None:
    first = spring.integrate((0, 3), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
    assert spring.stepper(first, t0=3).advance(4)[0] == pytest.approx(np.cos(8), abs=1e-6)
    batch = spring.batch(first, {"k": [4, 9]}, t0=3)
    batch.advance(4)
    assert batch["x"][0] == pytest.approx(np.cos(8), abs=1e-6)
    assert batch["x"][1] == pytest.approx(np.cos(6) * np.cos(3) - np.sin(6) * np.sin(3) * 2 / 3, abs=1e-6)
    varied = spring.integrate((3, 4), first, sensitivities=["k", "x"], rtol=1e-10, atol=1e-10)
    by_name = spring.integrate(
        (3, 4), first.y[:, -1], {"m": 1, "k": 4}, sensitivities=["k", "x"], rtol=1e-10, atol=1e-10
    )
    for name in ("k", "x"):
        assert varied.sensitivity["x", name].tobytes() == by_name.sensitivity["x", name].tobytes()
    slope = spring.gradient(cg.final("x"), (3, 4), first, by=["k", "x"])
    expected = spring.gradient(cg.final("x"), (3, 4), first.y[:, -1], {"m": 1, "k": 4}, by=["k", "x"])
    assert (slope["k"], slope["x"]) == (expected["k"], expected["x"])
    orbit = spring.periodic(first, 3)
    assert orbit.period == pytest.approx(np.pi, abs=1e-9)
    assert spring.integrate((0, np.pi), orbit)["x"][-1] == pytest.approx(orbit.state["x"], abs=1e-6)
    assert spring.lyapunov((0, 10), first).values == pytest.approx([0, 0], abs=0.2)


def test_what_cannot_begin_a_run_is_refused_by_name() -> None:
    """Results of other models, runs that failed, points that are not the end of a run, and inputs that have moved."""
    start, short = ({"x": 1, "x_dot": 0}, {"m": 1, "k": 4}), spring.integrate
    x, pivot, run = cg.coordinates("x"), SYSTEMS["pivot"], short((0, 1), *start)
    rest = pushed().equilibrium({"x": 0}, NUMBERS)
    other = cg.System("pushed", coordinates=[x], kinetic=cg.rate(x) ** 2).compile()
    empty, early = short((0, 1), *start, t_eval=[]), short((0, 2), *start, t_eval=[0, 1.5])
    failed = short((0, 20), *start, max_steps=5)
    moved = pivot.model.integrate((0, 1), pivot.start, pivot.numbers, {"u": 0.1, "u_dot": 1})
    ours = r"initial is the SteadyState of pushed \(lagrange\), and this model is"
    theirs = r"initial is the Solution of harmonic_oscillator \(lagrange\), and this model is double_pendulum"
    cases: list[tuple[Any, str]] = [
        (lambda: double.integrate((0, 1), run), theirs + r" .*by name: theta1, theta2"),
        (lambda: spring.linearize(rest), ours),
        (lambda: spring.batch(rest, n=2), ours),
        (lambda: other.integrate((0, 1), rest), r"the SteadyState of another model pushed \(lagrange\)"),
        (lambda: short((0, 1), empty), r"a run without points \(t_eval is empty\)"),
        (lambda: short((0, 1), run, {"c": 1.0}), "parameters: unknown c; known names are m, k"),
        (lambda: short((2, 4), early), r"a run to t = 2, of which t_eval keeps no point after t = 1\.5"),
        (lambda: short((20, 30), failed), r"the limit on the number of steps .*; give sol\.y\[:, -1\]"),
        (lambda: cg.ensemble(pivot.model, (1, 2), moved, n=2), "u has moved with its rates .* give it anew"),
    ]
    for call, message in cases:
        with pytest.raises(ArgumentError, match=message):
            call()

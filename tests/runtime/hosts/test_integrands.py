"""Quantities of models as integrands of `scipy.integrate`."""

from __future__ import annotations

import gc
import math
from typing import Any

import pytest
import sympy as sp
from host_models import SLEIGH, pushed_model, sleigh_model
from refusals import refused
from scipy.integrate import nquad, quad

import chaplygin as cg

A, B, K = (SLEIGH.parameters[name] for name in "abk")


@pytest.fixture
def sleigh() -> cg.Model:
    return sleigh_model()


@pytest.fixture
def pushed() -> cg.Model:
    return pushed_model()


def test_an_output_over_one_and_two_states(sleigh: cg.Model) -> None:
    """The reaction of the blade is omega (v - b omega) k^2 / (a^2 + k^2)."""
    omega, v = sp.symbols("omega v")
    reaction = omega * (v - B * omega) * K**2 / (A**2 + K**2)
    both = sleigh.to_scipy("lateral_reaction", ["omega", "v"], {"phi": 0, "x": 0, "y": 0}, SLEIGH.parameters)
    exact = float(sp.integrate(reaction, (omega, 0, 1), (v, 0, 2)))
    assert nquad(both, [(0, 1), (0, 2)])[0] == pytest.approx(exact, abs=1e-13)
    exact = float(sp.integrate(reaction.subs(v, 3), (omega, 0, 1)))
    assert quad(both, 0, 1, args=(3.0,))[0] == pytest.approx(exact, abs=1e-13)
    one = sleigh.to_scipy("lateral_reaction", "omega", [0, 0, 0, 9, 3], [A, B, K])
    assert quad(one, 0, 1)[0] == pytest.approx(exact, abs=1e-13)


def test_an_invariant_over_a_parameter(sleigh: cg.Model) -> None:
    """2 T = (a^2 + k^2) omega^2 + (v - b omega)^2."""
    energy = sleigh.to_scipy("energy", "k", {"phi": 0, "x": 0, "y": 0, "omega": 2, "v": 1}, {"a": A, "b": B})
    exact = (A**2 * 4 + (1 - 2 * B) ** 2) / 2 * 3 + 2 * 3**3 / 3
    assert quad(energy, 0, 3)[0] == pytest.approx(exact, rel=1e-13)


def test_a_derivative_over_the_time_and_an_input(pushed: cg.Model) -> None:
    given = {"x": 0, "x_dot": 0}, {"m": 2}
    over_time = pushed.to_scipy("der(x_dot)", "t", *given, {"F": 3})
    assert quad(over_time, 0, 1)[0] == pytest.approx((3 + math.sin(1)) / 2, rel=1e-13)
    over_force = pushed.to_scipy("der(x_dot)", sp.Symbol("F"), *given, t=1)
    assert quad(over_force, 0, 2)[0] == pytest.approx((2 + 2 * math.cos(1)) / 2, rel=1e-13)


def test_an_integrand_owns_what_it_needs(sleigh: cg.Model) -> None:
    made = [
        sleigh.to_scipy("energy", "omega", {"phi": 0, "x": 0, "y": 0, "v": float(i)}, SLEIGH.parameters)
        for i in range(50)
    ]
    gc.collect()
    for i, energy in enumerate(made):
        exact = (A**2 + K**2) / 6 + ((i - B) ** 2 + i * (i - B) + i**2) / 6
        assert quad(energy, 0, 1)[0] == pytest.approx(exact, rel=1e-12)


def test_modes_of_contacts_follow_the_inputs() -> None:
    """A block on a belt: friction along the slip, sigma mu m g against it."""
    belt = cg.example("block_on_belt")
    model = belt.system.compile()
    y, p = [belt.initial[n] for n in model.states], [belt.parameters[n] for n in model.parameters]
    (mode,) = model.modes
    for sigma in (-1, 1):
        rate = model.to_scipy(f"der({model.states[1]})", model.states[0], y, p, {mode: sigma})
        slope = [float(model.rhs(0, [x, y[1]], p, [sigma])[1]) for x in (0, 1)]
        assert slope[0] != model.rhs(0, [0, y[1]], p, [-sigma])[1]
        assert quad(rate, 0, 1)[0] == pytest.approx(sum(slope) / 2, rel=1e-12)  # linear in the displacement
    refused("a mode is 0", model.to_scipy, "der(x)", "x", y, p, {mode: 0.5})


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_an_integrand_without_all_its_variables_is_nan(sleigh: cg.Model) -> None:
    both = sleigh.to_scipy("energy", ["omega", "v"], {"phi": 0, "x": 0, "y": 0}, SLEIGH.parameters)
    assert math.isnan(quad(both, 0, 1)[0])
    singular = sleigh.to_scipy("der(omega)", "omega", {"phi": 0, "x": 0, "y": 0, "v": 1}, [0, 1, 0])
    assert math.isnan(quad(singular, 0, 1)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quantity": "lateral"}, "'lateral' is not a quantity of chaplygin_sleigh.*did you mean lateral_reaction"),
        ({"quantity": "v"}, "'v' is not a quantity"),
        ({"over": "omg"}, "over: unknown omg; did you mean omega"),
        ({"over": []}, "over = .*one name or several different ones"),
        ({"over": ["v", "v"]}, "over = .*one name or several different ones"),
        ({"over": "v"}, "state: missing omega"),
        ({"state": {"speed": 1}}, "state: unknown speed"),
        ({"state": [1, 2]}, r"state has shape \(2,\)"),
        ({"parameters": {"a": 1}}, "parameters: missing b, k"),
        ({"inputs": {"tau": 1}}, "inputs: unknown tau; the model has none"),
        ({"t": math.nan}, "t = nan is not finite"),
    ],
)  # fmt: skip
def test_wrong_arguments_of_an_integrand(sleigh: cg.Model, change: dict[str, Any], message: str) -> None:
    given = {
        "quantity": "energy",
        "over": "omega",
        "state": {"phi": 0, "x": 0, "y": 0, "v": 1},
        "parameters": SLEIGH.parameters,
    }
    refused(message, sleigh.to_scipy, **{**given, **change})

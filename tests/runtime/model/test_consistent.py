"""`model.consistent`: starts moved onto the constraints, against closed forms for a pendulum in x and y."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import refused
from test_projection import NUMBERS, compiled

import chaplygin as cg
from chaplygin.errors import ArgumentError

GIVEN = {"x": 0.9, "y": -1.2, "x_dot": 0.3, "y_dot": 0.8}


@pytest.mark.parametrize("form", ["multipliers", "maggi"])
def test_the_nearest_point_of_a_circle_is_on_its_radius(form: str) -> None:
    found = compiled(form).consistent(GIVEN, NUMBERS)
    radial = np.array([0.6, -0.8])
    velocity = np.array([0.3, 0.8])
    np.testing.assert_allclose([found["x"], found["y"]], 0.7 * radial, rtol=1e-12)
    tangential = velocity - radial * (radial @ velocity)
    np.testing.assert_allclose([found["x_dot"], found["y_dot"]], tangential, rtol=1e-12)
    sol = compiled(form).integrate((0, 0.1), found, NUMBERS)
    assert sol.success


def test_what_is_kept_stays() -> None:
    found = compiled().consistent(GIVEN | {"x": 0.5}, NUMBERS, keep=["x", "x_dot"])
    y = -np.sqrt(0.49 - 0.25)
    assert (found["x"], found["x_dot"]) == (0.5, 0.3)
    assert found["y"] == pytest.approx(y, rel=1e-12)
    assert found["y_dot"] == pytest.approx(-0.5 * 0.3 / y, rel=1e-12)


def test_symbols_are_names() -> None:
    x = cg.coordinates("x")
    assert compiled().consistent(GIVEN | {"x": 0.5}, NUMBERS, keep=x)["x"] == 0.5
    assert compiled().consistent(GIVEN | {"x": 0.5}, NUMBERS, keep=[x])["x"] == 0.5


def test_arguments_that_are_wrong_are_named() -> None:
    with pytest.raises(
        ArgumentError, match=r"initial = \[1.*\]: give values by name, a dict of x, y, x_dot, y_dot"
    ):
        compiled().consistent([1, 0.2, 0, 1], NUMBERS)
    length = next(name for name in NUMBERS if NUMBERS[name] == 0.7)
    with pytest.raises(ArgumentError, match=f"{length} = -0.5, but {length} is declared positive"):
        compiled().consistent(GIVEN, NUMBERS | {length: -0.5})


def test_velocities_that_are_not_given_count_as_zero() -> None:
    found = compiled().consistent({"x": 0.7, "y": 0}, NUMBERS)
    assert found == {"x": 0.7, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}


@pytest.mark.parametrize(
    ("given", "keep", "message"),
    [
        (
            {"x": 0.9},
            ["x"],
            r"no coordinates near the given ones satisfy holonomic_1 with x held: the residual is",
        ),
        (
            {"x": 0.5},
            ["x_dot", "y_dot"],
            r"no velocities satisfy constraint_1 with x_dot, y_dot held: the residual",
        ),
        ({}, ["z"], r"keep: unknown z"),
        ({}, 3, r"keep = 3: give a list of names"),
        ({"phi": 1.0}, [], r"phi"),
        ({"y": np.nan}, [], r"y"),
    ],
)
def test_what_is_impossible_is_named(given: Any, keep: Any, message: str) -> None:
    refused(message, compiled().consistent, GIVEN | given, NUMBERS, keep=keep)


def test_a_model_without_constraints_has_nothing_to_satisfy() -> None:
    model = cg.example("harmonic_oscillator").system.compile()
    refused("has no constraints", model.consistent, {"x": 1}, {"m": 1, "k": 1})

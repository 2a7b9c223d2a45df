"""Drives that leave no freedom, and holonomic equations that say nothing."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import chaplygin as cg
from chaplygin.errors import DeclarationError, FormError

x, y = cg.coordinates("x y")
m, length = cg.parameters("m l", positive=True)
w, g = cg.parameters("w g")
GIVEN = {
    "coordinates": [x, y],
    "kinetic": m * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2,
    "potential": m * g * y,
}
CIRCLE = [x - length * sp.cos(w * cg.time), y - length * sp.sin(w * cg.time)]


def test_the_forces_of_a_motion_that_is_known() -> None:
    """A mass led round a circle: the forces are m x'' and m (y'' + g), and d/dm of the first is x''."""
    system = cg.System("led", **GIVEN, holonomic=CIRCLE)
    model, p = system.compile(), {"m": 2.0, "l": 1.5, "w": 0.7, "g": 9.81}
    assert model.form == "multipliers"
    start = {"x": 1.5, "y": 0.0, "x_dot": 0.0, "y_dot": 1.05}
    sol = model.integrate((0, 5), start, p, rtol=1e-10, atol=1e-12, sensitivities=["m"])
    expected = -1.5 * 0.49 * np.cos(0.7 * sol.t)
    np.testing.assert_allclose(sol["x"], 1.5 * np.cos(0.7 * sol.t), atol=1e-12)
    np.testing.assert_allclose(sol["lambda_1"], 2 * expected, atol=1e-12)
    np.testing.assert_allclose(sol.sensitivity["lambda_1", "m"], expected, atol=1e-12)
    weight = 2 * (9.81 - 1.5 * 0.49 * np.sin(0.7 * sol.t))
    np.testing.assert_allclose(sol["reaction_y_dot"], weight, atol=1e-11)
    found = model.consistent(dict.fromkeys(start, 0.5), p)
    assert found == pytest.approx(start, abs=1e-12)
    for form in ("maggi", "hamel", "nonholonomic"):
        with pytest.raises(
            FormError, match=r"constraints leave a velocity free' fails .*; use 'multipliers'"
        ):
            system.equations(form)
    with pytest.raises(DeclarationError, match="3 constraints leave none of the 2 velocities free"):
        cg.System("held", **GIVEN, holonomic=[*CIRCLE, x - y])


def test_a_driven_tree_by_the_recursion() -> None:
    """The couple that turns a pendulum by q = sin w t: m l^2 q'' + m g l sin q."""
    arm = cg.joint.revolute(None, "y", name="q", mass=m, center=(0, 0, -length))
    drive = [arm.coordinates[0] - sp.sin(w * cg.time)]
    model = cg.System("arm", bodies=[arm], interactions=[cg.Weight(g)], holonomic=drive).compile("recursive")
    sol = model.integrate((0, 2), {"q": 0, "q_dot": 0.7}, {"m": 2.0, "l": 1.5, "w": 0.7, "g": 9.81})
    q = np.sin(0.7 * sol.t)
    np.testing.assert_allclose(sol["lambda_1"], 4.5 * -0.49 * q + 3 * 9.81 * np.sin(q), atol=1e-11)


def test_equations_that_are_zero_everywhere_are_left_out() -> None:
    rope, plain = x**2 + y**2 - length**2, sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1
    system = cg.System("rope", **GIVEN, holonomic=[0, rope, plain])
    assert system.holonomic == (rope,)
    assert system.digest == cg.System("rope", **GIVEN, holonomic=[rope]).digest
    assert not cg.System("loose", **GIVEN, holonomic=[0]).constraints
    with pytest.raises(DeclarationError, match=r"holonomic\[0\] contains no coordinate"):
        cg.System("wrong", **GIVEN, holonomic=[length, rope])

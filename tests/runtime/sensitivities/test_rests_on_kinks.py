"""Derivatives of runs that come to rest on kinks where the force goes on without a jump: against those of the rest.

The drag c v |v|, a damper that works one way and springs that are stiffer on one side have their kink where the motion
ends, so that it crosses the kink with ever smaller speeds, in the end with those of rounding errors. After a long time
the derivatives are those of the place of rest.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from slopes import check_slopes
from unit_masses import unit_masses

import chaplygin as cg

x, z = cg.coordinates("x z")
v, u = cg.rate(x), cg.rate(z)
k, c, a, r, g = cg.parameters("k c a r g")
FORCES = {
    "drag": -k * x - c * v * sp.Abs(v) - a * v + g,
    "a damper one way": -k * x - c * sp.Max(v, 0) - a * v + g,
    "branches of a damper": -k * x - a * v - sp.Piecewise((c * v**2, v > 0), (c * v / 3, True)) + g,
    "a spring": -k * (x - r) - c * sp.Abs(x - r) / 4 - a * v,
    "a spring and a damper": -k * (x - r) - c * sp.Max(x - r, v) / 4 - a * sp.Max(v, 0) - a * v,
}
METHODS = ("tsit5", "dop853", "vern7", "vern9")


@cache
def resting(kind: str, more: str) -> Any:
    """A mass under this force, with an event that is far away or a block that sticks beside it."""
    given: dict[str, Any] = {"coordinates": [x], "kinetic": v**2 / 2, "forces": {v: FORCES[kind]}}
    if more == "event":
        given["events"] = [cg.Event(x - 50, reset={v: -v}, name="far")]
    if more == "contact":
        given |= {"coordinates": [x, z], "kinetic": (v**2 + u**2) / 2}
        given["forces"][u] = sp.Rational(1, 10)
        given["contacts"] = [cg.Coulomb("block", slip=u, normal=1, mu=1)]
    return cg.System("resting", **given).compile()


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("more", ["", "event", "contact"])
@pytest.mark.parametrize("kind", list(FORCES))
def test_derivatives_of_a_rest_on_a_kink(kind: str, more: str, seed: int) -> None:
    model, random = resting(kind, more), np.random.default_rng([seed, len(kind), len(more)])
    numbers = {
        p: float(q) for p, q in zip("kcarg", random.uniform(1, 3, 5), strict=True) if p in model.parameters
    }
    away = random.choice([1.0, 1e-3, 1e-9, 0.0]) if kind == "drag" else random.choice([1.0, 1e-2])
    rest = numbers["r"] if "r" in numbers else numbers["g"] / numbers["k"]
    start = dict.fromkeys(model.states, 0.0)
    start |= {"x": rest + away * random.uniform(-1, 1), "x_dot": away * random.uniform(-1, 1)}
    at = numbers["k"], numbers.get("g", 0.0)
    slopes = {"r": 1.0} if "r" in numbers else {"k": -at[1] / at[0] ** 2, "g": 1 / at[0]}
    expected = dict.fromkeys(["x", "x_dot", *numbers], 0.0) | slopes
    tolerance = float(random.choice([1e-6, 1e-9]))
    given = (0, 60), start, numbers
    how: dict[str, Any] = {"method": METHODS[seed % 4], "rtol": tolerance, "atol": tolerance}
    check_slopes(model, "x", expected, *given, **how, abs=max(1e-6, 100 * tolerance))


def test_a_kink_without_a_jump_beside_one_with() -> None:
    """Quadratic drag on the way up and down, and a thrust that ends at x = b, crossed while x swings around it."""
    b = cg.parameters("b")
    system = unit_masses("beside", [x], forces={v: -k * (x - b) - c * sp.sign(x - b) - a * v * sp.Abs(v)})
    model = system.compile()
    start, numbers = {"x": 1.0, "x_dot": 0.0}, {"k": 2.0, "c": 0.2, "a": 0.4, "b": 0.3}
    exact: dict[str, Any] = {"method": "vern9", "rtol": 1e-13, "atol": 1e-13, "kinks": True}
    expected = {}
    for name in ("b", "c"):
        ends = [
            model.integrate((0, 6), start, {**numbers, name: numbers[name] + h}, **exact)["x"][-1]
            for h in (-2e-4, -1e-4, 1e-4, 2e-4)
        ]
        expected[name] = np.dot([1, -8, 8, -1], ends) / 12e-4
    check_slopes(model, "x", expected, (0, 6), start, numbers, rtol=1e-11, atol=1e-11, abs=1e-7)

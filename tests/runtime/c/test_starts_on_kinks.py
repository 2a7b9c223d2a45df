"""A start exactly on a kink while a contact sticks: the modes are those of the side to which the motion goes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp

import chaplygin as cg

LIMIT = 0.2


@cache
def falling(guard: str) -> Any:
    """A block, m = N = 1, pushed by F sign(y) while y falls from 0 with the acceleration 1."""
    x, y = cg.coordinates("x y")
    force, mu = cg.parameters("F mu")
    v, w = cg.rate(x), cg.rate(y)
    push = {"y": sp.sign(y), "w": sp.sign(w), "branch": sp.Piecewise((0, y >= 0), (-1, True))}[guard]
    return cg.System(
        f"on_kink_{guard}",
        coordinates=[x, y],
        kinetic=(v**2 + w**2) / 2,
        potential=y,
        forces={v: force * push},
        contacts=[cg.Coulomb("c", slip=v, normal=1, mu=mu)],
    ).compile()


REST = {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}


@pytest.mark.parametrize("guard", ["y", "w", "branch"])
@pytest.mark.parametrize("method", ["vern9", "dop853", "tsit5", "rk4"])
@pytest.mark.parametrize("force", [1.0, 0.3, 0.19])
def test_a_contact_breaks_at_once_if_the_branch_ahead_breaks_it(
    guard: str, method: str, force: float
) -> None:
    """The force is -F from t = 0 on: the block slides with -(F - mu), x(2) = -2 (F - mu), or sticks for F < mu."""
    how: dict[str, Any] = {"method": method} | ({"step": 1e-2} if method == "rk4" else {})
    run = falling(guard).integrate((0, 2), REST, {"F": force, "mu": LIMIT}, max_steps=5000, **how)
    assert run.status == 0
    assert run["x"][-1] == pytest.approx(-2 * max(force - LIMIT, 0), rel=1e-12)
    assert [mode.contacts["c"] for mode in run.modes] == ["slip-" if force > LIMIT else "stick"]
    assert np.abs(run["friction_c"]).max() <= LIMIT * (1 + 1e-12)


def test_the_same_bits_in_lanes_and_steppers() -> None:
    forces = np.array([1.0, 0.3, 0.19, 0.6, 2.0])
    start = {name: np.zeros(5) for name in REST}
    model = falling("y")
    runs = cg.ensemble(model, (0, 2), start, {"F": forces, "mu": LIMIT}, lanes=4)
    assert (runs.status == 0).all()
    for i, force in enumerate(forces.tolist()):
        one = model.integrate((0, 2), REST, {"F": force, "mu": LIMIT})
        stepper = model.stepper(REST, {"F": force, "mu": LIMIT})
        assert one.y[:, -1].tolist() == runs.y[:, i].tolist() == stepper.advance(2.0).tolist()

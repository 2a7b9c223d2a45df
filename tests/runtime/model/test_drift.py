"""Runs that leave their constraints: told where the errors of the steps are more than the tolerances promise."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.api.python_model import python_model

RING = cg.example("rolling_ring")


@functools.cache
def ring() -> Any:
    """Two constraints on velocities, which all are states."""
    return RING.system.compile("multipliers")


def run(t: float, **options: Any) -> Any:
    return ring().integrate((0, t), RING.initial, RING.parameters, **{"rtol": 1e-3, "atol": 1e-3, **options})


def slip(sol: Any) -> float:
    """The larger of the residuals at the end, as the model names them."""
    return max(abs(sol[name][-1]) for name in ring().residuals)


def test_a_slip_beyond_the_tolerances_is_told() -> None:
    """As many times 1e-3 as it is of the sum of magnitudes of the terms, dA/d(eta) eta, or of atol times slopes."""
    with pytest.warns(
        RuntimeWarning, match=r"rolling_ring: at t = 500 constraint_\d = .* tolerances off.*other than"
    ) as w:
        sol = run(500)
    assert w[0].filename == __file__
    end = sol.y[:, -1]
    residual, terms, slopes = np.reshape(
        ring()._columns(
            "consistency", np.array([500.0]), end[:, None], sol._p[:, None], np.empty((0, 1)), None
        ),
        (-1, 3),
    ).T
    assert np.abs(residual).max() == pytest.approx(slip(sol), rel=1e-12)
    counts = np.abs(residual) / (1e-3 * np.maximum(terms, slopes))
    worst = int(np.argmax(counts))
    assert counts[worst] > 10
    told = f"{ring().residuals[worst]} = {residual[worst]:.3g}, which must be zero, is {counts[worst]:.0f} tolerances"
    assert told in sol.message


@pytest.mark.parametrize(
    "options",
    [
        {"t_eval": [0, 1]},
        {"t_eval": []},
        {"t_eval": [1], "sensitivities": ["m1"], "sensitivity_control": False},
    ],
)
def test_it_is_judged_at_the_end_of_the_run_whatever_points_are_kept(options: dict[str, Any]) -> None:
    told = r"at t = 500 constraint_\d = -?\d.* tolerances off"
    with pytest.warns(RuntimeWarning, match=told):
        sol = run(500, **options)
    with pytest.warns(RuntimeWarning):
        whole = run(500)
    assert sol.t_reached == 500
    assert "tolerances off" in sol.message
    assert "sensitivities" in options or sol.message == whole.message


@pytest.mark.parametrize(("t", "options"), [(5, {}), (500, {"rtol": 1e-8, "atol": 1e-8})])
def test_a_slip_within_the_tolerances_is_not(t: float, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = run(t, **options)
    assert "tolerances off" not in sol.message


def test_without_a_projection_only_the_message_tells() -> None:
    """A pendulum in x and y that nothing holds on its circle."""
    x, y = cg.coordinates("x y")
    system = unit_masses("loose", [x, y], potential=10 * y, holonomic=[x**2 + y**2 - 1])
    equations = system.equations("multipliers")
    compiled, pure = equations.compile(), python_model(equations.program, quiet=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loose = [
            model.integrate((0, 100), [1.0, 0, 0, 0], rtol=1e-4, atol=1e-4, project=None)
            for model in (compiled, pure)
        ]
        held = compiled.integrate((0, 100), [1.0, 0, 0, 0], rtol=1e-4, atol=1e-4)
    told = "tolerances off, since errors of steps add up; make rtol and atol smaller, or leave project"
    assert all(told in sol.message for sol in loose)
    assert "tolerances off" not in held.message


def test_trajectories_of_an_ensemble_do_not_warn_one_by_one() -> None:
    given: dict[str, Any] = {
        "initial": RING.initial,
        "parameters": RING.parameters,
        "rtol": 1e-3,
        "atol": 1e-3,
    }
    with pytest.warns(RuntimeWarning, match="tolerances off"):
        alone = run(500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ens = cg.ensemble(ring(), (0, 500), **given, n=2)
    assert (ens.y == alone.y[:, -1:]).all()

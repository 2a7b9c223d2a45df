"""Arrays of the caller that change during a run: after the arguments are checked only copies are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runtime_models import model

import chaplygin as cg
from chaplygin.runtime.ensembles import start as ensemble_start

NUMBERS = {"m": 1.0, "k": 4.0}
SPAN = (0.0, 3.0)


def spoiling(*arrays: Any, value: float = np.nan) -> Callable[[float, Any], float]:
    """An input function that overwrites arrays of the caller from its first call on."""

    def force(t: float, y: Any) -> float:
        y[:] = 1e300  # the input function's own copy
        for array in arrays:
            array[...] = value
        return 0.25

    return force


def quiet(t: float, y: Any) -> float:
    return 0.25


@pytest.mark.parametrize("value", [np.nan, -1e9, 0.0, 1e9])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dense", [False, True])
def test_times_asked_for(value: float, stride: int, dense: bool) -> None:
    times = np.linspace(0.1, 2.9, 80)[::stride]
    asked = times.copy()
    right = model("oscillator").integrate(SPAN, [1.0, 0.0], NUMBERS, {"F": quiet}, t_eval=asked)
    sol = model("oscillator").integrate(
        SPAN, [1.0, 0.0], NUMBERS, {"F": spoiling(times, value=value)}, t_eval=times, dense_output=dense
    )
    assert (times == value).all() or np.isnan(value)
    assert np.array_equal(sol.t, asked)
    assert np.array_equal(sol.y, right.y)
    ens = cg.ensemble(
        model("oscillator"), SPAN, [1.0, 0.0], NUMBERS, {"F": spoiling(asked, value=value)}, n=3, t_eval=asked
    )
    assert np.array_equal(ens.y[:, :, 1], right.y)
    assert np.array_equal(ens["t"][:, 0], right.t)


def test_starts_parameters_tolerances_and_samples() -> None:
    """Every other array argument of `integrate`, a stepper and an ensemble."""
    m = model("sleigh")
    x0, p = np.array([0.0, 0.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.2, 0.5])
    atol = np.full(5, 1e-9)
    given = [array.copy() for array in (x0, p, atol)]
    right = m.integrate(SPAN, *given[:2], {"tau": quiet}, atol=given[2], dense_output=True)
    sol = m.integrate(SPAN, x0, p, {"tau": spoiling(x0, p, atol)}, atol=atol, dense_output=True)
    assert np.isnan(x0).all()
    assert np.array_equal(sol.y, right.y)
    assert np.array_equal(sol.sol(1.5), right.sol(1.5))
    assert np.array_equal(sol["energy"], right["energy"])
    assert np.array_equal(sol._repeat().y, right.y)
    x0, p, atol = (array.copy() for array in given)
    run = m.stepper(x0, p, {"tau": spoiling(x0, p, atol)}, atol=atol)
    quietly = m.stepper(*given[:2], {"tau": quiet}, atol=given[2])
    assert np.array_equal(run.advance(3.0), quietly.advance(3.0))
    moments, values = np.linspace(0, 3, 9), np.sin(np.linspace(0, 3, 9))
    kept = (moments.copy(), values.copy(), "linear")
    run = m.stepper(given[0], given[1], {"tau": (moments, values, "linear")})
    moments[:], values[:] = np.nan, np.nan
    assert np.array_equal(run.advance(3.0), m.integrate(SPAN, given[0], given[1], {"tau": kept}).y[:, -1])


@pytest.mark.parametrize("kind", ["plain", "converted"])
def test_starts_of_ensembles(kind: str) -> None:
    m = model("sleigh")
    omega, J = np.linspace(1, 2, 6), np.linspace(0.4, 0.6, 6)
    start = {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": omega, "v": 1.0 if kind == "plain" else np.float32(1.0)}
    given = [omega.copy(), J.copy()]
    numbers = {"m": 1.0, "a": 0.2, "J": J}
    right = cg.ensemble(m, SPAN, start | {"omega": given[0]}, numbers | {"J": given[1]}, {"tau": quiet}, n=6)
    ens = cg.ensemble(m, SPAN, start, numbers, {"tau": spoiling(omega, J)}, n=6, threads=2)
    assert np.isnan(J).all()
    assert np.array_equal(ens.y, right.y)
    assert np.array_equal(ens["energy"], right["energy"])


def test_large_tables_of_an_ensemble_may_change_but_nothing_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 16 MB of parameters are not copied: a trajectory uses the values at the time it begins."""
    monkeypatch.setattr(ensemble_start, "KEPT", 0)
    monkeypatch.setattr(ensemble_start, "STRETCH", 4)  # only shorter tables are read at C speed
    m = model("sleigh")
    omega, J = np.linspace(1, 2, 6), np.full(6, 0.5)
    start = {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": omega, "v": 1.0}
    for value in (np.nan, np.inf, 0.0, -1.0):
        J[:], omega[:] = 0.5, 1.0
        spoil = spoiling(J, omega, value=value)
        ens = cg.ensemble(m, SPAN, start, {"m": 1.0, "a": 0.2, "J": J}, {"tau": spoil}, n=6, threads=1)
        assert ens.status[0] == 0  # it had already begun, and states are always copied
        assert set(ens.status) <= {0, -1, -2, -3}
        assert np.isfinite(ens.y[:, 0]).all()

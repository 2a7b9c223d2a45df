"""The default method: the same choice, by tolerance and kind of model, wherever a run names none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chaplygin as cg
from chaplygin.generated.harmonic_oscillator import model as oscillator

START, NUMBERS = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
TOLERANCES = [(1e-3, 1e-9, "dop853"), (1e-9, 1e-4, "dop853"), (1e-5, 1e-9, "vern9"), (1e-13, 0.0, "vern9")]


@pytest.mark.parametrize(("rtol", "atol", "method"), TOLERANCES)
def test_every_kind_of_run_takes_it(rtol: float, atol: float, method: str) -> None:
    """The larger of the two tolerances counts, and the bits are those of a run that names the method."""
    how: dict[str, Any] = {"rtol": rtol, "atol": atol}
    sol = oscillator.integrate((0, 5), START, NUMBERS, **how)
    assert sol.method == oscillator.default_method(rtol, atol) == method
    named = oscillator.integrate((0, 5), START, NUMBERS, method=method, **how)
    assert np.array_equal(sol.y, named.y)
    stepper = oscillator.stepper(START, NUMBERS, **how)
    batch = oscillator.batch(START, NUMBERS, n=2, **how)
    ensemble = cg.ensemble(oscillator, (0, 5), START, NUMBERS, n=2, **how)
    assert stepper.method == batch.method == ensemble.method == method
    assert np.array_equal(stepper.advance(5.0), named.y[:, -1])
    assert np.array_equal(ensemble.y[:, 1], named.y[:, -1])
    study = cg.study(oscillator, (0, 5), START, NUMBERS, n=2, collect={"x": cg.moments("x")}, **how)
    assert study.rerun(1).method == method


def test_the_smallest_absolute_tolerance_counts() -> None:
    atol = {"x": 1e-4, "x_dot": 1e-8}
    sol = oscillator.integrate((0, 1), START, NUMBERS, rtol=1e-9, atol=atol)
    assert sol.method == oscillator.default_method(1e-9, atol) == "vern9"


def test_events_and_contacts_take_another_one() -> None:
    for name in ("bouncing_ball", "block_on_belt"):
        model = cg.example(name).system.compile("lagrange")
        assert [model.default_method(t, t) for t in (1e-9, 1e-12, 1e-13)] == ["dop853", "dop853", "vern9"]


def test_the_defaults_are_compiled_into_models() -> None:
    from chaplygin.codegen.methods import PAIRS

    inlined = {name for name, pair in PAIRS.items() if pair.inlined}
    assert inlined == {oscillator.default_method(t, t) for t in (1e-3, 1e-9)}


def test_a_repeated_run_keeps_its_method() -> None:
    """An audit repeats a run with its interpolant, and fails unless the bits are the same."""
    assert oscillator.integrate((0, 10), START, NUMBERS).audit().passed


def test_a_wrong_tolerance_is_named() -> None:
    with pytest.raises(cg.ArgumentError, match="rtol = 'x'"):
        oscillator.default_method("x")

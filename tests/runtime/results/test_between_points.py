"""A run between its points: `sol(t)`, pictures drawn from the interpolant, and tables."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from refusals import refused
from runtime_models import hybrid
from test_runtime_python import kernels

import chaplygin as cg
from chaplygin.generated.harmonic_oscillator import model as oscillator
from chaplygin.runtime import PythonModel

START, NUMBERS = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
TIMES = np.linspace(0.0, 10.0, 333)
BALL = {"g": 9.81, "e": 0.5, "floor": 0.0}
DROP = [1.0, 0.0, 0.0]
FIRST = np.sqrt(2 / BALL["g"])  # the ball, dropped from rest at height 1, meets the floor


def swing(**options: Any) -> Any:
    return oscillator.integrate((0, 10), START, NUMBERS, rtol=1e-10, **options)


@pytest.mark.parametrize(
    "options", [{}, {"t_eval": [3.0, 7.0]}, {"sensitivities": ["k"]}, {"method": "rodas5p"}]
)
def test_states_at_any_time(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    sol = swing(**options)
    assert sol.sol is None
    calls = []
    monkeypatch.setattr(
        cg.Solution, "_repeat", (lambda own: lambda s: calls.append(s) or own(s))(cg.Solution._repeat)
    )
    assert sol(TIMES)[0] == pytest.approx(np.cos(2 * TIMES), abs=1e-7)
    assert sol(0.5) == pytest.approx([np.cos(1), -2 * np.sin(1)], abs=1e-7)
    assert len(calls) == 1  # repeated once
    again = swing(dense_output=True, **options)
    np.testing.assert_array_equal(again(TIMES), sol(TIMES))
    assert len(calls) == 1  # and never where the interpolant is there
    np.testing.assert_array_equal(again.sol(TIMES)[:2], again(TIMES))


def test_models_in_pure_python() -> None:
    x, x_dot = (lambda t: np.cos(2 * t)), (lambda t: -2 * np.sin(2 * t))
    pure = PythonModel(kernels(), quiet=True)
    for method in ("dop853", "radau"):
        sol = pure.integrate(
            (0, 2), [1.0, 0.0], [1.0, 4.0], [0.0], method=method, rtol=1e-9, atol=1e-9, max_step=0.02
        )
        moments = np.linspace(0, 2, 57)
        assert sol(moments) == pytest.approx(np.array([x(moments), x_dot(moments)]), abs=1e-6)
        refused("inside the run", sol, 2.5)


def test_backward_and_terminal_and_failed_runs() -> None:
    sol = oscillator.integrate((10, 0), START, NUMBERS, rtol=1e-10)
    assert sol(TIMES)[0] == pytest.approx(np.cos(2 * (TIMES - 10)), abs=1e-7)

    def half(t: float, y: Any) -> float:
        return t - 5.0

    half.terminal = True  # type: ignore[attr-defined]
    ended = swing(events=half)
    assert ended(5.0)[0] == pytest.approx(np.cos(10), abs=1e-7)
    refused(r"inside the run, \[0, 5\]", ended, 5.1)
    failed = swing(max_steps=7)
    assert not failed.success
    assert failed(failed.t_reached / 2)[0] == pytest.approx(np.cos(failed.t_reached), abs=1e-7)


def test_at_a_reset_the_state_is_that_before() -> None:
    sol = hybrid("ball").integrate((0, 1), DROP, BALL, rtol=1e-10)
    i = sol.model.states.index("v")
    hit = float(sol.t_events[0][0])
    assert hit == pytest.approx(FIRST, abs=1e-9)
    assert sol(hit)[i] == pytest.approx(-BALL["g"] * FIRST, abs=1e-8)
    assert sol(np.nextafter(hit, 1))[i] == pytest.approx(0.5 * BALL["g"] * FIRST, abs=1e-8)


@pytest.mark.parametrize("t", [10.5, -1e-9, np.nan, [[1.0]], "x"])
def test_other_times_are_refused(t: Any) -> None:
    refused("t", swing(), t)


def test_a_run_that_cannot_be_repeated_is_refused_and_drawn_by_its_points(axes: Any) -> None:
    count = iter(range(10**6))
    x, f = cg.coordinates("x"), cg.inputs("f")
    system = cg.System("pushed", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, forces={cg.rate(x): f})
    sol = system.compile().integrate(
        (0, 1), {"x": 0, "x_dot": 0}, inputs={"f": lambda t, y: float(next(count))}, method="rk4", step=0.1
    )
    refused("gave different numbers when it was repeated", sol, 0.5)
    sol.plot("x", ax=axes[0])
    (line,) = axes[0].get_lines()
    np.testing.assert_array_equal(line.get_xdata(), sol.t)


@pytest.mark.parametrize("how", [copy.deepcopy, copy.copy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("called", [False, True])
def test_copies(how: Any, called: bool) -> None:
    sol = swing()
    expected = sol(TIMES) if called else swing(dense_output=True)(TIMES)
    if called:
        sol["energy"]
    np.testing.assert_array_equal(how(sol)(TIMES), expected)


def test_a_member_of_an_ensemble() -> None:
    many = cg.ensemble(oscillator, (0, 10), {"x": np.array([1.0, 2.0]), "x_dot": 0}, NUMBERS, rtol=1e-10)
    assert many.rerun(1)(TIMES)[0] == pytest.approx(2 * np.cos(2 * TIMES), abs=1e-7)


# ---- pictures ----


@pytest.fixture
def axes() -> Any:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    return figure.subplots(2, 1)


def test_curves_are_those_of_the_interpolant(axes: Any) -> None:
    sol = swing(t_eval=[0.0, 10.0])
    assert sol.plot(["x", "energy"], ax=axes) is axes
    line = axes[0].get_lines()[0]
    t, x = line.get_xdata(), line.get_ydata()
    assert len(t) >= 600
    assert x == pytest.approx(np.cos(2 * t), abs=1e-7)
    assert np.abs(np.diff(x)).max() < 0.05
    assert axes[1].get_lines()[0].get_ydata() == pytest.approx(np.full(len(t), 2.0), rel=1e-7)


def test_a_reset_is_drawn_as_a_jump(axes: Any) -> None:
    sol = hybrid("ball").integrate((0, 1), DROP, BALL, rtol=1e-10)
    sol.plot("v", ax=axes[0])
    line = axes[0].get_lines()[0]
    t, v = line.get_xdata(), line.get_ydata()
    before, after = v[t == sol.t_events[0][0]][[0, -1]]
    assert before == pytest.approx(-BALL["g"] * FIRST, abs=1e-8)
    assert after == pytest.approx(0.5 * BALL["g"] * FIRST, abs=1e-8)
    falling = t < FIRST
    assert v[falling] == pytest.approx(-BALL["g"] * t[falling], abs=1e-8)


def test_inputs_held_and_contacts_between_points(axes: Any) -> None:
    x, f = cg.coordinates("x"), cg.inputs("f")
    system = cg.System("driven", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, forces={cg.rate(x): f})
    sol = system.compile().integrate((0, 2), {"x": 0, "x_dot": 0}, inputs={"f": ([0, 1], [1.0, -1.0])})
    sol.plot(["f", "x"], ax=axes)
    line = axes[0].get_lines()[0]
    t, values = line.get_xdata(), line.get_ydata()
    np.testing.assert_array_equal(values[t < 1], 1.0)
    np.testing.assert_array_equal(values[t > 1], -1.0)
    path = axes[1].get_lines()[0]
    expected = np.where(t < 1, t**2 / 2, 0.5 + (t - 1) - (t - 1) ** 2 / 2)
    assert path.get_ydata() == pytest.approx(expected, abs=1e-8)


def test_all_names_in_one_panel(axes: Any) -> None:
    swing().plot(ax=axes[0])
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["x [m]", "x_dot"]


@pytest.mark.parametrize("ax", [3, "axes", [], [1, 2]])
def test_what_is_not_axes_is_refused(ax: Any) -> None:
    refused(r"plot: ax is .*; give .*plt\.subplots", swing().plot, ax=ax)


def test_a_long_run_is_drawn_by_its_points(axes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sol = oscillator.integrate((0, 100), START, NUMBERS, method="rk4", step=0.02)
    monkeypatch.setattr(cg.Solution, "_repeat", lambda s: pytest.fail("repeated"))
    sol.plot("x", ax=axes[0])
    assert len(axes[0].get_lines()[0].get_xdata()) == len(sol.t)


# ---- tables ----


def test_to_pandas() -> None:
    pytest.importorskip("pandas")
    sol = swing()
    frame = sol.to_pandas()
    assert frame.index.name == "t"
    assert list(frame.columns) == list(sol.names)
    np.testing.assert_array_equal(frame.index, sol.t)
    np.testing.assert_array_equal(frame["energy"], sol["energy"])
    assert frame.attrs["parameters"] == {"m": 1.0, "k": 4.0}


def test_to_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(cg.MissingExtraError, match=r"Solution.to_pandas needs pandas.*chaplygin\[pandas\]"):
        swing().to_pandas()

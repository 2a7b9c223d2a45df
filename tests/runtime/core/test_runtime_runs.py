"""Runs of a compiled model against closed forms and SciPy: inputs, failures, dense output, steppers.

The last row of a failed run is the state that it has reached, which a stepper has too, with and without `t_eval`.
"""

from __future__ import annotations

import functools
import gc
import itertools
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from runtime_models import model
from scipy.integrate import solve_ivp

import chaplygin as cg
from chaplygin.runtime import ArgumentError, KernelError

ADAPTIVE = ["dop853", "tsit5", "vern7", "vern9"]
SPRING = {"m": 1.0, "k": 4.0}
START = {"q": 1.0, "v": 0.0}
SLEIGH = ({"phi": 0.0, "x": 0.0, "y": 0.0, "omega": 1.0, "v": 1.0}, {"m": 1.0, "a": 0.2, "J": 0.5})


def sleigh(tau: Any, t_span: tuple[float, float], pieces: list[float] | None = None) -> np.ndarray[Any, Any]:
    """Final state of the sleigh by SciPy, piecewise between the knots of tau."""
    m, a, J = 1.0, 0.2, 0.5

    def rates(t: float, y: Any, middle: float) -> list[float]:
        phi, _, _, omega, v = y
        couple = tau(t, y, middle)
        return [
            omega,
            v * np.cos(phi),
            v * np.sin(phi),
            (couple - m * a * omega * v) / (J + m * a * a),
            a * omega**2,
        ]

    ends = [t_span[0], *(pieces or []), t_span[1]]
    y = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
    for begin, end in itertools.pairwise(ends):
        middle = (begin + end) / 2
        y = solve_ivp(rates, (begin, end), y, "DOP853", rtol=1e-13, atol=1e-13, args=(middle,)).y[:, -1]
    return y


@pytest.mark.parametrize("span", [(0.0, 10.0), (3.0, -4.0)])
@pytest.mark.parametrize(
    "options",
    [
        *({"method": method, "rtol": 1e-12, "atol": 1e-12} for method in ADAPTIVE),
        {"method": "rk4", "step": 1e-3},
    ],
)
def test_oscillator_against_closed_form(span: tuple[float, float], options: dict[str, Any]) -> None:
    sol = model("oscillator").integrate(span, START, SPRING, [0.0], **options)
    assert sol.success
    assert sol.status == 0
    assert sol.t[0] == span[0]
    assert sol.t[-1] == span[1]
    assert sol.y.shape == (2, len(sol.t))
    assert sol["q"] == pytest.approx(np.cos(2 * (sol.t - span[0])), abs=1e-9)
    assert sol["v"] == pytest.approx(-2 * np.sin(2 * (sol.t - span[0])), abs=1e-9)
    assert sol["energy"] == pytest.approx(np.full(len(sol.t), 2.0), rel=1e-9)
    assert sol.evaluate("pull") == pytest.approx(-4 * sol["q"])
    assert sol.nfev > 0


def test_many_rows_are_recorded_in_order() -> None:
    sol = model("oscillator").integrate(
        (0, 10), START, SPRING, [0.0], method="rk4", step=1e-3, dense_output=True
    )
    assert len(sol.t) == 10001
    assert sol.t == pytest.approx(np.linspace(0, 10, 10001), abs=1e-12)
    assert sol.sol(np.array([1.23456, 9.87])) == pytest.approx(
        np.array([[np.cos(2 * t), -2 * np.sin(2 * t)] for t in (1.23456, 9.87)]).T, abs=1e-9
    )


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("span", [(0.0, 5.0), (5.0, 0.0)])
def test_t_eval_and_dense_output(span: tuple[float, float], method: str) -> None:
    times = np.linspace(*span, 77)
    sol = model("oscillator").integrate(
        span, START, SPRING, [0.0], method=method, t_eval=times, dense_output=True, rtol=1e-11, atol=1e-11
    )
    exact = np.array([np.cos(2 * (times - span[0])), -2 * np.sin(2 * (times - span[0]))])
    assert np.array_equal(sol.t, times)
    assert sol.y == pytest.approx(exact, abs=1e-8)
    assert np.array_equal(sol.sol(times), sol.y)  # the same interpolant, by the same arithmetic
    assert sol.sol(times[5]) == pytest.approx(exact[:, 5], abs=1e-8)
    refused("inside the run", sol.sol, 6.0)
    few = model("oscillator").integrate(span, START, SPRING, [0.0], t_eval=[])
    assert few.y.shape == (2, 0)
    assert few.success


@pytest.mark.parametrize("method", ADAPTIVE)
def test_same_numbers_as_solve_ivp_gives_with_our_rhs(method: str) -> None:
    m = model("sleigh")
    p = np.array([1.0, 0.2, 0.5])
    theirs = solve_ivp(lambda t, y: m.rhs(t, y, p, [0.1]), (0, 10), [0, 0, 0, 1, 1], "DOP853", rtol=1e-12, atol=1e-12,
                       vectorized=True)  # fmt: skip
    ours = m.integrate((0, 10), [0, 0, 0, 1, 1], p, [0.1], method=method, rtol=1e-12, atol=1e-12)
    assert ours.y[:, -1] == pytest.approx(theirs.y[:, -1], abs=1e-9)


def test_vectors_dicts_and_symbols_give_the_same_bits() -> None:
    m = model("sleigh")
    initial, parameters = SLEIGH
    ends = [
        m.integrate((0, 3), *given).y[:, -1].tobytes()
        for given in [
            (initial, parameters, {"tau": 0.1}),
            (list(initial.values()), np.array(list(parameters.values())), 0.1 * np.ones(1)),
            ({sp.Symbol(k): v for k, v in initial.items()}, dict(reversed(parameters.items())), (0.1,)),
            (initial, parameters, {"tau": np.float64(0.1)}),
        ]
    ]
    assert len(set(ends)) == 1


KNOTS = [0.5, 1.25, 3.0, 3.5]
VALUES = [0.3, -0.2, 0.5, 0.1]


@pytest.mark.parametrize(
    "signal", [(KNOTS, VALUES), (KNOTS, VALUES, "zoh"), [np.array(KNOTS), np.array(VALUES)]]
)
def test_held_signal(signal: Any) -> None:
    def tau(t: float, y: Any, middle: float) -> float:
        return VALUES[max(int(np.searchsorted(KNOTS, middle, side="right")) - 1, 0)]

    sol = model("sleigh").integrate((0, 5), *SLEIGH, {"tau": signal}, rtol=1e-12, atol=1e-12)
    assert sol.y[:, -1] == pytest.approx(sleigh(tau, (0, 5), KNOTS), abs=1e-10)
    assert set(KNOTS) <= set(sol.t)
    assert sol["tau"][-1] == 0.1
    assert sol["tau"][0] == 0.3


def test_linear_signal_and_jump() -> None:
    def tau(t: float, y: Any, middle: float) -> float:
        return (
            float(np.interp(t, [0.5, 2.0], [0.3, -0.2]))
            if middle < 2.0
            else float(np.interp(t, [2, 4], [1.0, 0.0]))
        )

    signal = ([0.5, 2.0, 2.0, 4.0], [0.3, -0.2, 1.0, 0.0], "linear")
    sol = model("sleigh").integrate((0, 5), *SLEIGH, {"tau": signal}, rtol=1e-12, atol=1e-12)
    assert sol.y[:, -1] == pytest.approx(sleigh(tau, (0, 5), [0.5, 2.0, 4.0]), abs=1e-10)
    assert sol["tau"][sol.t == 2.0] == pytest.approx([1.0])


def test_input_function_sees_time_and_state() -> None:
    sol = model("sleigh").integrate(
        (0, 5), *SLEIGH, {"tau": lambda t, y: 0.3 * np.sin(t) - 0.5 * y[3]}, rtol=1e-12, atol=1e-12
    )
    expected = sleigh(lambda t, y, _: 0.3 * np.sin(t) - 0.5 * y[3], (0, 5))
    assert sol.y[:, -1] == pytest.approx(expected, abs=1e-10)
    assert sol["tau"] == pytest.approx(0.3 * np.sin(sol.t) - 0.5 * sol["omega"])


def test_errors_of_input_functions_come_through() -> None:
    m = model("sleigh")

    def broken(t: float, y: Any) -> float:
        if t > 1:
            raise KeyError("sensor")
        return 0.0

    refused("sensor", m.integrate, (0, 5), *SLEIGH, {"tau": broken}, error=KeyError)
    with pytest.raises(ArgumentError, match=r"inputs: tau at t = .* = nan is not finite"):
        m.integrate((0, 5), *SLEIGH, {"tau": lambda t, y: np.nan})
    refused("tau at t", m.integrate, (0, 5), *SLEIGH, {"tau": lambda t, y: "0"})
    assert m.integrate((0, 5), *SLEIGH, {"tau": 0.0}).success


def test_an_input_function_may_use_the_model_itself() -> None:
    m = model("sleigh")
    p = list(SLEIGH[1].values())

    def feedback(t: float, y: Any) -> float:
        inner = m.integrate((0, 0.1), y, p, [0.0], method="rk4", step=0.05)
        return -0.1 * float(inner.y[3, -1]) + float(m.rhs(t, y, p, [0.0])[3]) * 0.0

    def plain(t: float, y: Any) -> float:
        inner = model("sleigh").integrate((0, 0.1), y, p, [0.0], method="rk4", step=0.05)
        return -0.1 * float(inner.y[3, -1])

    assert np.array_equal(
        m.integrate((0, 2), *SLEIGH, {"tau": feedback}).y,
        model("sleigh").integrate((0, 2), *SLEIGH, {"tau": plain}).y,
    )


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([], "inputs has 0 entries; 1 are needed"),
        ({"tau": 1, "mu": 2}, "inputs: unknown mu"),
        ({"tau": ([0, 1], [1])}, r"tau has times of shape \(2,\) and values of shape \(1,\)"),
        ({"tau": ([1, 0], [1, 2])}, "times of tau must not decrease: 1, then 0"),
        ({"tau": ([0, 1], [1, np.inf])}, "tau has a time or value that is not finite"),
        ({"tau": ([0, 1], [1, 2], "spline")}, "'spline'; give 'zoh', 'linear' or 'cubic'"),
        ({"tau": ([0], [1], "cubic")}, "tau has one sample; a cubic spline needs two or more"),
        ({"tau": ([0, 1, 1], [1, 2, 3], "cubic")}, "tau has two samples at 1; .* the times must increase"),
        ({"tau": lambda: 1.0}, "tau is a function without arguments; give f"),
        ({"tau": lambda t, y, p: 1.0}, "tau is a function of 3 arguments; give f"),
        ({"tau": lambda t: None}, "tau at t = 0 = None is not a real number"),
        ({"tau": lambda t: np.ones(2)}, r"tau at t = 0 has shape \(2,\)"),
        ({"tau": lambda t: np.nan}, "tau at t = 0 = nan is not finite"),
        ({"tau": ([], [])}, "tau has times"),
        ({"tau": (1, 2, 3, 4)}, "tau has 4 entries"),
        ({"tau": np.nan}, "tau = nan"),
        ({"tau": np.zeros(3)}, "tau has shape"),
        ([0.1, 0.2], "inputs has 2 entries; 1 are needed"),
        ("tau", "inputs must be a dict"),
    ],
)
def test_wrong_inputs_are_named(inputs: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        model("sleigh").integrate((0, 1), *SLEIGH, inputs)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "euler"}, "unknown method 'euler'; known methods are rk4, dop853, tsit5, vern7, vern9"),
        ({"method": "DOP853"}, "unknown method 'DOP853'; .*; did you mean 'dop853'"),
        ({"method": "dop853\0x"}, r"unknown method 'dop853\\x00x'"),
        ({"method": "\udc80"}, r"unknown method '\\udc80'"),
        ({"events": 3}, r"events = 3: callables of \(t, y\) are needed"),
        ({"method": "rk4"}, "fixed-step method: give step="),
        ({"step": 0.1}, "first_step or max_step"),
        ({"method": "rk4", "step": -0.1}, "step = -0.1 must be positive"),
        ({"method": "rk4", "step": np.nan}, "step = nan"),
        ({"rtol": -1.0}, "must not be negative"),
        ({"rtol": 0.0, "atol": 0.0}, "atol of q are both zero"),
        ({"rtol": 0, "atol": {"q": 1e-9, "v": 0}}, "atol of v are both zero"),
        ({"atol": [1e-9]}, "atol has shape"),
        ({"atol": {"q": 1e-9}}, "atol: missing v"),
        ({"max_step": 0}, "max_step = 0 must be positive"),
        ({"max_steps": 0}, "max_steps = 0"),
        ({"max_steps": 1.5}, "max_steps = 1.5"),
        ({"first_step": np.inf}, "first_step = inf"),
        ({"t_eval": [0, 2]}, r"t_eval\[1\] = 2 is outside"),
        ({"t_eval": [0.5, 0.25]}, "t_eval must increase strictly: entry 0 is 0.5, the next one 0.25"),
        ({"t_eval": [[0.5]]}, "t_eval has shape"),
        ({"t_eval": [0.5, np.nan]}, r"t_eval\[1\] = nan"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        model("oscillator").integrate((0, 1), START, SPRING, [0.0], **options)


@pytest.mark.parametrize("span", [None, 3, (0,), (0, 1, 2), (0, np.inf), ("0", 1), "01", {0: 1, 1: 2}])
def test_wrong_spans(span: Any) -> None:
    with pytest.raises(ArgumentError, match="t_span"):
        model("oscillator").integrate(span, START, SPRING, [0.0])


def test_dependent_entries_are_checked_against_the_outputs() -> None:
    m = model("oscillator")
    assert m.integrate((0, 1), START | {"w": 0.0}, SPRING, [0.0]).success
    with pytest.raises(ArgumentError, match=r"initial: w = 0.5 contradicts the other entries, which give 0"):
        m.integrate((0, 1), START | {"w": 0.5}, SPRING, [0.0])
    refused("initial: unknown pull", m.integrate, (0, 1), START | {"pull": 0.0}, SPRING, [0.0])
    refused("initial: missing v", m.integrate, (0, 1), {"q": 1.0}, SPRING, [0.0])


def test_initial_kernel_gives_states_and_parameters() -> None:
    m = model("momentum")
    sol = m.integrate((0, 1), {"q": 1.0, "v": 0.5}, {"m": 2.0, "k": 3.0})
    assert sol.y[:, 0].tolist() == [1.0, 1.0]
    assert sol.parameters == {"m": 2.0, "k": 3.0, "h": 0.5 * 2 * 0.25 + 0.5 * 3}
    direct = m.integrate((0, 1), {"q": 1.0, "p_v": 1.0}, {"m": 2.0, "k": 3.0, "h": 1.75})
    assert np.array_equal(direct.y, sol.y)
    refused("parameters: missing k, h", m.integrate, (0, 1), {"q": 1.0, "v": 0.5}, {"m": 2.0})
    refused("initial: missing v", m.integrate, (0, 1), {"q": 1.0}, {"m": 2.0, "k": 3.0})
    refused("initial: unknown w", m.integrate, (0, 1), {"q": 1.0, "v": 0.5, "w": 1.0}, {"m": 2.0, "k": 3.0})
    with pytest.raises(ArgumentError, match=r"parameters: h = 9 contradicts .* 1.75"):
        m.integrate((0, 1), {"q": 1.0, "v": 0.5}, {"m": 2.0, "k": 3.0, "h": 9})
    refused("unknown kk", m.integrate, (0, 1), {"q": 1.0, "v": 0.5}, {"m": 2.0, "kk": 3.0})
    refused("m = nan", m.integrate, (0, 1), {"q": 1.0, "v": 0.5}, {"m": np.nan, "k": 3.0})


def test_failures_keep_what_is_computed() -> None:
    m = model("runaway")
    blown = m.integrate((0, 2), [1.0], [0.0])
    assert not blown.success
    assert blown.status in (-2, -3)
    assert blown.t[-1] == pytest.approx(1.0, abs=1e-6)
    assert f"stopped at t = {blown.t[-1]:.17g}" in blown.message
    before = blown.t < 0.99
    assert blown["x"][before] == pytest.approx(1 / (1 - blown.t[before]), rel=1e-6)

    singular = m.integrate((0, 2), [1.0], [0.5], method="rk4", step=0.125)
    assert singular.status == -1
    assert "singular" in singular.message
    assert singular.t.tolist() == [0.0, 0.125, 0.25, 0.375]
    assert singular["x"] == pytest.approx(1 + singular.t)

    limited = m.integrate((0, 2), [1.0], [5.0], method="rk4", step=0.125, max_steps=3)
    assert limited.status == -4
    assert "max_steps" in limited.message
    assert len(limited.t) == 4

    asked = m.integrate((0, 2), [1.0], [0.5], method="rk4", step=0.125, t_eval=[0.1, 0.3, 1.5])
    assert asked.t.tolist() == [0.1, 0.3, 0.375]
    at_once = model("oscillator").integrate((0, 1), START, {"m": 0.0, "k": 1.0}, [0.0])
    assert at_once.status == -1
    assert at_once.t.tolist() == [0.0]


def test_tolerances_by_state_and_step_limits() -> None:
    m = model("oscillator")
    coarse = m.integrate((0, 10), START, SPRING, [0.0], rtol=1e-4, atol=1e-4)
    fine = m.integrate((0, 10), START, SPRING, [0.0], rtol=1e-4, atol={"q": 1e-12, "v": 1e-12})
    assert coarse.n_steps <= fine.n_steps
    short = m.integrate((0, 10), START, SPRING, [0.0], max_step=0.01)
    assert np.diff(short.t).max() <= 0.01
    assert m.integrate((0, 1), START, SPRING, [0.0], events=None).success
    first = m.integrate((0, 10), START, SPRING, [0.0], first_step=1e-3)
    assert first.t[1] == pytest.approx(1e-3)


def test_a_solution_outlives_its_model() -> None:
    m = model("oscillator")
    sol = m.integrate((0, 1), START, SPRING, [0.0], dense_output=True)
    del m
    gc.collect()
    assert sol.evaluate("energy") == pytest.approx(np.full(len(sol.t), 2.0))
    assert sol.model.name == "oscillator"
    assert "oscillator" in repr(sol)


def test_solution_names_plots_and_tables(tmp_path: Any) -> None:
    sol = model("oscillator").integrate((0, 1), START, SPRING, {"F": ([0.2], [1.0])})
    assert sol.names == ("q", "v", "w", "pull", "energy", "F")
    everything = sol.evaluate()
    assert set(everything) == {"q", "v", "w", "pull", "energy"}
    assert sol["t"] is sol.t
    assert (sol.t_events, sol.y_events, sol.njev, sol.nlu, sol.sol) == (None, None, 0, 0, None)
    with pytest.raises(ArgumentError, match="'speed' is not a quantity of oscillator; it has q, v"):
        sol["speed"]
    pytest.importorskip("matplotlib")
    refused(r"plot: no names; .* some of q, v", sol.plot, [])
    sol.plot(file=tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 5000
    figure = sol.plot(["q", "energy"])
    assert [axis.get_ylabel() for axis in figure.axes] == ["q [m]", "energy [J]"]


def test_stepper_lands_on_times_and_takes_inputs() -> None:
    m = model("sleigh")
    run = m.stepper(*SLEIGH, [0.0], rtol=1e-12, atol=1e-12)
    assert run.t == 0.0
    for t, value in [(1.0, 0.2), (2.5, -0.3), (4.0, 0.0)]:
        run.set_inputs(tau=value)
        y = run.advance(t)
        assert run.t == t
        assert np.array_equal(y, run.y)

    def tau(t: float, y: Any, middle: float) -> float:
        return 0.2 if middle < 1 else -0.3 if middle < 2.5 else 0.0

    assert run.y == pytest.approx(sleigh(tau, (0, 4), [1.0, 2.5]), abs=1e-10)
    assert run.advance(0.0) is not None
    assert run.t == 0.0


def test_stepper_snapshots_continue_bit_for_bit() -> None:
    m = model("sleigh")
    run = m.stepper(*SLEIGH, {"tau": ([0, 2, 3], [0.1, -0.1, 0.2], "linear")})
    run.advance(1.5)
    snapshot = run.save()
    once = run.advance(6.0)
    run.set_inputs(tau=lambda t, y: 1.0)
    run.advance(7.0)
    run.restore(snapshot)
    assert run.t == 1.5
    assert np.array_equal(run.advance(6.0), once)
    other = m.stepper([0.0] * 5, [1, 1, 1], [0.0])
    other.restore(snapshot)
    assert np.array_equal(other.advance(6.0), once)
    with pytest.raises(ArgumentError, match="another model or method"):
        model("oscillator").stepper(START, SPRING, [0.0]).restore(snapshot)
    refused("save", run.restore, None)


def test_stepper_errors() -> None:
    run = model("runaway").stepper([1.0], [0.0])
    with pytest.raises(KernelError, match=r"runaway stopped at t = (1\.0|0\.9{9})") as caught:
        run.advance(2.0)
    assert caught.value.status < 0
    assert run.t == pytest.approx(1.0, abs=1e-8)
    refused("t = nan", run.advance, np.nan)
    refused("inputs: unknown F", run.set_inputs, F=1.0)


AT_ONE = {"x": 1.0, "x_dot": np.sqrt(20.0)}
TIMES = [None, [], [0.0, 0.1, 0.15, 1.0], np.linspace(0, 1, 101), [0.1], [0.0]]


@functools.cache
def blowing() -> Any:
    """x'' = 40 x^3 without energy: x' = sqrt(20) x^2, x = 1 / (1 - sqrt(20) t), which is infinite at 0.2236."""
    x = cg.coordinates("x")
    system = cg.System("blowing", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=-10 * x**4)
    return system.compile()


@pytest.mark.parametrize("times", TIMES, ids=repr)
def test_the_last_row_is_the_last_state(times: Any) -> None:
    model = blowing()
    run = model.stepper(AT_ONE, (), max_steps=20, rtol=1e-10, atol=1e-10)
    with pytest.raises(cg.KernelError):
        run.advance(1.0)
    sol = model.integrate((0, 1), AT_ONE, (), t_eval=times, max_steps=20, rtol=1e-10, atol=1e-10)
    assert sol.status == -4
    assert sol.t[-1] == sol.t_reached == run.t
    assert sol.y[:, -1].tobytes() == run.y.tobytes()
    np.testing.assert_allclose(sol.y[0], 1 / (1 - np.sqrt(20.0) * sol.t), rtol=1e-7)
    inside = np.array([t for t in (times if times is not None else []) if t < run.t])
    if times is not None:
        np.testing.assert_array_equal(sol.t[:-1], inside)
        ens = cg.ensemble(model, (0, 1), AT_ONE, (), n=2, t_eval=times, max_steps=20, rtol=1e-10, atol=1e-10)
        assert ens.y.shape == (2, len(times), 2)
        np.testing.assert_array_equal(ens.y[:, : len(inside), 1], sol.y[:, :-1])
        assert np.isnan(ens.y[:, len(inside) :]).all()


def test_a_start_without_a_derivative_is_a_row() -> None:
    x = cg.coordinates("x")
    law = cg.System(
        "roots", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, forces={cg.rate(x): sp.sqrt(x)}
    ).compile()
    for times in (None, [0.5]):
        sol = law.integrate((0, 1), {"x": -1.0, "x_dot": 2.0}, (), t_eval=times)
        assert (sol.status, sol.t.tolist(), sol.y.tolist()) == (-2, [0.0], [[-1.0], [2.0]])


def test_the_row_is_not_doubled_where_a_time_was_asked_for() -> None:
    end = blowing().integrate((0, 1), AT_ONE, (), max_steps=20).t_reached
    sol = blowing().integrate((0, 1), AT_ONE, (), t_eval=[0.1, end], max_steps=20)
    assert sol.t.tolist() == [0.1, end]


def test_with_the_tangents_of_the_last_state() -> None:
    model = blowing()
    sol = model.integrate((0, 1), AT_ONE, (), t_eval=[0.1], max_steps=20, sensitivities=["x"])
    full = model.integrate((0, 1), AT_ONE, (), max_steps=20, sensitivities=["x"])
    assert sol.t[-1] == full.t[-1]
    assert sol.sensitivity["x", "x"][-1] == full.sensitivity["x", "x"][-1]


def test_accumulating_events_and_a_reset() -> None:
    y, e = cg.coordinates("y"), cg.parameters("e", positive=True)
    w = cg.rate(y)
    floor = cg.Event(y, direction=-1, reset={w: -e * w})
    ball = cg.System("ball", coordinates=[y], kinetic=w**2 / 2, potential=9.81 * y, events=[floor]).compile()
    start, numbers = {"y": 1.0, "y_dot": 0.0}, {"e": 0.5}
    run = ball.stepper(start, numbers)
    with pytest.raises(cg.KernelError):
        run.advance(3.0)
    for times in (None, [0.0, 1.0, 2.0]):
        sol = ball.integrate((0, 3), start, numbers, t_eval=times)
        assert sol.status == -9
        assert (sol.t[-1], sol.y[:, -1].tolist()) == (run.t, run.y.tolist())
        np.testing.assert_array_equal(sol.t_events[0], ball.integrate((0, 3), start, numbers).t_events[0])
        # the flights end where their geometric series does: t1 (1 + 2 e / (1 - e))
        assert sol.t[-1] == pytest.approx(np.sqrt(2 / 9.81) * 3, abs=2e-3)

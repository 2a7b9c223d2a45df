"""Events of compiled models at run time, against closed forms and SciPy."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from refusals import refused
from runtime_models import BLOCK, ctrl_c_after, hybrid, model
from scipy.integrate import solve_ivp

from chaplygin.api.ensemble import ensemble
from chaplygin.runtime import ArgumentError

SPRING = {"w": 1.0, "level": 0.5, "stop": 0.0}
TOP = [1.0, 0.0]
BALL = {"g": 9.81, "e": 0.5, "floor": 0.0}
DROP = [1.0, 0.0, 0.0]


def event(function: Any, terminal: Any = None, direction: float = 0.0) -> Any:
    function.terminal, function.direction = terminal, direction
    return function


# ---- events ----


def test_times_and_states() -> None:
    found = hybrid("spring")
    assert found.events == ("cross", "top", "level")
    sol = found.integrate((0, 20), TOP, SPRING, rtol=1e-12, atol=1e-12)
    assert sol.success
    assert sol.t_events is not None
    assert sol.y_events is not None
    crossings, tops, level = sol.t_events
    assert crossings == pytest.approx(np.pi * (0.5 + np.arange(6)), abs=1e-10)
    assert tops == pytest.approx(2 * np.pi * np.arange(1, 4), abs=1e-10)
    assert level.shape == (0,)
    assert [y.shape for y in sol.y_events] == [(6, 2), (3, 2), (0, 2)]
    for row, (states, times) in enumerate(zip(sol.y_events[:2], sol.t_events[:2])):
        assert (np.abs(states[:, row]) <= 2 * np.spacing(times)).all()  # the step ends at the zero itself
    assert set(crossings) <= set(sol.t)
    assert np.all(np.diff(sol.t) > 0)  # without resets no time occurs twice


@pytest.mark.parametrize("method", ["dop853", "tsit5", "vern7", "vern9"])
def test_event_times_are_as_accurate_as_the_method(method: str) -> None:
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        sol = hybrid("spring").integrate((0, 12), TOP, SPRING, method=method, rtol=rtol, atol=rtol)
        times = np.concatenate(sol.t_events[:2])
        exact = np.concatenate([np.pi * (0.5 + np.arange(4)), [2 * np.pi]])
        errors.append(np.abs(times - exact).max())
        at_end = abs(sol["x"][-1] - np.cos(12)) + abs(sol["v"][-1] + np.sin(12))
        assert errors[-1] < 10 * at_end + 30 * rtol
    assert errors[-1] < 1e-8
    assert errors[0] > 100 * errors[-1]


def test_order_of_a_fixed_step() -> None:
    errors = []
    for step in (0.1, 0.05, 0.025):
        sol = hybrid("spring").integrate((0, 12), TOP, SPRING, method="rk4", step=step)
        errors.append(np.abs(sol.t_events[0] - np.pi * (0.5 + np.arange(4))).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 3.7).all()


def test_terminal_event_ends_the_run() -> None:
    sol = hybrid("spring").integrate((0, 20), TOP, SPRING | {"stop": 1.0}, rtol=1e-12, atol=1e-12)
    assert (sol.status, sol.success) == (1, True)
    assert "terminal event" in sol.message
    assert sol.t[-1] == sol.t_events[2][0] == pytest.approx(math.acos(0.5), abs=1e-11)
    assert sol["x"][-1] == pytest.approx(0.5, abs=1e-15)


def test_bouncing_ball() -> None:
    for e in (0.5, 0.8):
        sol = hybrid("ball").integrate((0, 10), DROP, BALL | {"e": e}, dense_output=True)
        assert sol.status == -9
        assert "events accumulate (bounce)" in sol.message
        flights = 2 * math.sqrt(2 / 9.81) * e ** np.arange(1, 40)
        bounces = math.sqrt(2 / 9.81) + np.concatenate([[0.0], np.cumsum(flights)])
        assert sol.t_events[0][:40] == pytest.approx(bounces, abs=1e-12)
        assert sol.t_reached == pytest.approx(math.sqrt(2 / 9.81) * (1 + 2 * e / (1 - e)), abs=1e-8)
        # the same guard twice: handled in order; after the first one's reset the second one sees the ball rising
        assert np.array_equal(sol.t_events[0], sol.t_events[1])
        assert (sol.y_events[0][:, 1] < 0).all()
        assert (sol.y_events[1][:, 1] > 0).all()
        assert sol["bounces"][-1] == len(sol.t_events[1])
        # both sides of the first bounce are recorded
        (first,) = np.flatnonzero(sol.t == sol.t_events[0][0])[:1]
        assert sol.t[first + 1] == sol.t[first]
        assert sol["v"][first + 1] == pytest.approx(-e * sol["v"][first], rel=1e-15)
        middle = sol.t[first] + 0.1
        impact = math.sqrt(2 * 9.81)
        assert sol.sol(middle)[0] == pytest.approx(0.1 * e * impact - 9.81 / 2 * 0.01, abs=1e-9)


def test_times_asked_for_around_a_reset() -> None:
    times = np.linspace(0, 1.2, 241)
    sol = hybrid("ball").integrate((0, 1.2), DROP, BALL, t_eval=times, rtol=1e-12, atol=1e-12)
    fall, impact = math.sqrt(2 / 9.81), math.sqrt(2 * 9.81)
    first = times < fall
    second = (times > fall) & (times < fall + impact / 9.81)
    assert np.array_equal(sol.t, times)
    assert sol["y"][first] == pytest.approx(1 - 9.81 / 2 * times[first] ** 2, abs=1e-11)
    since = times[second] - fall
    assert sol["y"][second] == pytest.approx(impact / 2 * since - 9.81 / 2 * since**2, abs=1e-11)


def test_backward_in_time() -> None:
    sol = hybrid("spring").integrate((0, -10), TOP, SPRING, rtol=1e-12, atol=1e-12)
    assert sol.t_events[0] == pytest.approx(-np.pi * (0.5 + np.arange(3)), abs=1e-10)
    # v is falling where it changes from + to - along the run: at -pi, -3 pi
    assert sol.t_events[1] == pytest.approx([-np.pi, -3 * np.pi], abs=1e-10)


def test_kinks_are_located_when_asked() -> None:
    found = hybrid("switched")
    assert found.kinks == ("x - 1",)
    assert not found.hybrid
    sol = found.integrate((0, 2), [0.0], {"c": 2.0, "jump": 1.0}, kinks=True)
    assert sol.t_kinks["x - 1"] == pytest.approx([1 / 3], abs=1e-14)
    assert sol["x"][-1] == pytest.approx(1 + 2 - 1 / 3, abs=1e-14)
    assert sol.t_events is None
    assert found.integrate((0, 2), [0.0], {"c": 2.0, "jump": 1.0}).t_kinks == {}
    # x' = 3/2 below 1 and -1/2 above: from t = 2/3 on the motion slides along the kink
    for kinks in (False, True):
        options: dict[str, Any] = {"kinks": kinks, "method": "dop853", "rtol": 1e-6, "atol": 1e-6}
        slides = found.integrate((0, 2), [0.0], {"c": 0.5, "jump": 1.0}, **options)
        assert slides.status == 0
        assert slides["x"][-1] == pytest.approx(1, abs=1e-4)
        ends = found.integrate((0, 2), [0.0], {"c": 0.5, "jump": 1.0}, max_steps=500, **options)
        assert ends.status == -4
        assert ends.n_steps + ends.n_rejected <= 510
    assert slides.t_kinks["x - 1"][0] == pytest.approx(2 / 3, abs=1e-10)


# ---- Python events, as in solve_ivp ----


@pytest.mark.parametrize("terminal", [None, False, True, 3])
@pytest.mark.parametrize("direction", [0, 1, -2.5])
def test_callables_give_what_solve_ivp_gives(terminal: Any, direction: float) -> None:
    first = event(lambda t, y: y[0] - 0.3 * np.sin(0.7 * t), terminal, direction)
    second = event(lambda t, y: y[1] + 0.1)
    both = [first, second]
    ours = hybrid("spring").integrate((0, 20), TOP, SPRING, events=both, rtol=1e-11, atol=1e-11)
    options: dict[str, Any] = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    right = solve_ivp(lambda _t, y: [y[1], -y[0]], (0, 20), TOP, events=both, **options)
    assert ours.status == right.status
    assert ours.t[-1] == pytest.approx(right.t[-1], abs=1e-8)
    assert len(ours.t_events) == 5  # the model's own come first
    for mine, theirs in zip(ours.t_events[3:], right.t_events):
        assert mine == pytest.approx(theirs, abs=1e-8)
    for states, theirs in zip(ours.y_events[3:], right.y_events):
        assert states == pytest.approx(theirs, abs=1e-8)


def test_one_callable_on_a_model_without_events() -> None:
    start, parameters = {"q": 1.0, "v": 0.0}, {"m": 1.0, "k": 4.0}
    hit = event(lambda _t, y: y[:1] + 0.5, True)  # an array with one number is accepted
    sol = model("oscillator").integrate((0, 10), start, parameters, [0.0], events=hit)
    assert sol.status == 1
    assert sol.t_events[0] == pytest.approx([math.acos(-0.5) / 2], abs=1e-9)
    again = sol._repeat()
    assert np.array_equal(again.t, sol.t)
    assert np.array_equal(again.y, sol.y)


def test_errors_of_callables() -> None:
    def fails(t: float, y: Any) -> float:
        raise RuntimeError("from inside")

    with pytest.raises(RuntimeError, match="from inside"):
        hybrid("spring").integrate((0, 1), TOP, SPRING, events=fails)
    for wrong in (math.nan, -math.inf, None, "high", 1j, [], [1.0, 2.0]):
        with pytest.raises(
            ArgumentError, match=r"events\[1\] returned .* at t = 0.5.*; a finite number is needed"
        ):
            hybrid("spring").integrate(
                (0, 1), TOP, SPRING, events=[lambda t, y: 1.0, lambda t, y, w=wrong: w if t > 0.5 else 1.0]
            )
    for events in (3, "x", [1.0]):
        with pytest.raises(ArgumentError, match="events"):
            hybrid("spring").integrate((0, 1), TOP, SPRING, events=events)
    with pytest.raises(ArgumentError, match="terminal"):
        hybrid("spring").integrate((0, 1), TOP, SPRING, events=event(lambda t, y: t, -1))


def test_a_callable_may_use_the_model() -> None:
    """Dicts are read into a buffer of the model, which calls with other dicts from inside a run overwrite."""
    spring = hybrid("spring")

    def busy(t: float, y: Any) -> float:
        spring.rhs(t, {"x": 9.0, "v": 9.0}, SPRING)
        return 1.0

    start = {"x": 1.0, "v": 0.0}
    for end in (0, 1):
        sol = spring.integrate((0, end), start, SPRING, events=busy, dense_output=True)
        plain = spring.integrate((0, end), start, SPRING, dense_output=True)
        assert sol.sol(0.0).tolist() == [1.0, 0.0]
        assert np.array_equal(sol.sol(sol.t), plain.sol(plain.t))


@pytest.mark.slow
def test_ctrl_c_in_a_callable() -> None:
    def slow(t: float, y: Any) -> float:
        time.sleep(0.001)
        return float(y[0])

    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.2):
        hybrid("spring").integrate((0, 1e6), TOP, SPRING, events=slow)


# ---- steppers and ensembles ----


def test_stepper_stops_at_terminal_events_and_goes_on() -> None:
    run = hybrid("spring").stepper(TOP, SPRING | {"stop": 1.0}, rtol=1e-12, atol=1e-12)
    run.advance(10.0)
    assert run.status == 1
    assert run.t == pytest.approx(math.acos(0.5), abs=1e-11)
    assert run.events == [(run.t, "level")]
    run.advance(3.0)
    assert (run.status, run.t) == (0, 3.0)
    assert [name for _, name in run.events] == ["cross"]
    run.advance(10.0)
    assert run.t == pytest.approx(2 * np.pi - math.acos(0.5), abs=1e-10)


@pytest.mark.parametrize(("name", "start", "parameters", "end"), [
    ("ball", DROP, BALL, 1.3),
    ("block", [2.0, 0.0], BLOCK, 6.0),
    ("spring", TOP, SPRING, 9.0),
])  # fmt: skip
def test_stepper_saves_and_restores_bit_for_bit(name: str, start: Any, parameters: Any, end: float) -> None:
    inputs = [0.0] if name == "block" else None
    run = hybrid(name).stepper(start, parameters, inputs)
    middle = 0.4 * end
    run.advance(middle)
    snapshot = run.save()
    right = run.advance(end)
    events = run.events
    assert events
    other = hybrid(name).stepper(start, parameters, inputs)
    for stepper in (run, other):
        stepper.restore(snapshot)
        assert stepper.t == middle
        assert np.array_equal(stepper.advance(end), right)
        assert stepper.events == events
    refused("damaged", run.restore, type(snapshot)(**(vars(snapshot) | {"block": snapshot.block[:-8]})))


def test_ensembles_have_the_bits_of_single_runs() -> None:
    ball, heights = hybrid("ball"), np.linspace(0.5, 2.0, 9)
    start = {"y": heights, "v": 0.0, "bounces": 0.0}
    ens = ensemble(ball, (0, 1.1), initial=start, parameters=BALL, threads=2, chunk=2)
    for i, height in enumerate(heights):
        sol = ball.integrate((0, 1.1), [height, 0.0, 0.0], BALL)
        assert np.array_equal(ens.y[:, i], sol.y[:, -1])
        assert (ens.status[i], ens.t[i], ens.n_steps[i]) == (sol.status, sol.t_reached, sol.n_steps)
        assert np.array_equal(ens.rerun(i).t_events[0], sol.t_events[0])
    assert -9 in ens.status or (ens.status == 0).all()
    times = np.linspace(0, 1.1, 12)
    ens = ensemble(ball, (0, 1.1), initial=start, parameters=BALL, t_eval=times)
    sol = ball.integrate((0, 1.1), [0.5, 0.0, 0.0], BALL, t_eval=times)
    assert sol.t[-1] == sol.t_reached  # of a failed run
    assert np.array_equal(ens.y[:, : len(sol.t) - 1, 0], sol.y[:, :-1])
    refused("there is no lane file", ensemble, ball, (0, 1), initial=start, parameters=BALL, lanes=4)


def test_ensemble_of_contacts_and_terminal_events() -> None:
    block, starts = hybrid("block"), np.linspace(0.0, 2.0, 7)
    ens = ensemble(block, (0, 5), initial={"x": starts, "v": 0.0}, parameters=BLOCK, inputs={"F": 0.0})
    for i, x in enumerate(starts):
        sol = block.integrate((0, 5), [x, 0.0], BLOCK, [0.0])
        assert np.array_equal(ens.y[:, i], sol.y[:, -1])
        assert ens.rerun(i).modes == sol.modes
    with pytest.raises(ArgumentError, match="rerun"):
        ens["friction"]
    stops = ensemble(hybrid("spring"), (0, 5), {"x": [1.0, 0.4, 2.0], "v": 0.0}, SPRING | {"stop": 1.0}, n=3)
    assert stops.status.tolist() == [1, 0, 1]
    assert stops.success


def test_audit_of_a_run_with_events() -> None:
    from chaplygin.generated.harmonic_oscillator import model as oscillator

    start, parameters = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
    sol = oscillator.integrate((0, 10), start, parameters, events=lambda _t, y: y[0] - 0.2)
    assert len(sol.t_events[0]) == 6
    check = sol.audit()
    assert check.passed
    assert check.largest < 1e-8

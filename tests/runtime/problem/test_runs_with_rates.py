"""Inputs with rates in all kinds of runs, against SciPy with equations written by hand."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from rated_systems import SPAN, SYSTEMS, TIMES, TOLERANCES, Rated, U, of_sine, sine, told
from refusals import refused
from scipy.integrate import simpson, solve_ivp
from scipy.interpolate import CubicSpline

import chaplygin as cg
from chaplygin.api.python_model import PythonModel, python_kernels

PIVOT = SYSTEMS["pivot"]
CUBIC = (TIMES, PIVOT.samples, "cubic")
METHODS = ("tsit5", "vern7", "vern9", "dop853", "rodas5p", "auto", "rk4")


def how(method: str) -> dict[str, Any]:
    return {"method": method, **({"step": 1e-3} if method == "rk4" else TOLERANCES)}


@pytest.fixture(params=SYSTEMS)
def rated(request: pytest.FixtureRequest) -> Rated:
    return SYSTEMS[request.param]


# ---- single runs ----


@pytest.mark.sample(7)
@pytest.mark.parametrize("method", METHODS)
def test_samples_in_a_cubic_spline(rated: Rated, method: str) -> None:
    given = {"u": (TIMES, rated.samples, "cubic")}
    sol = rated.model.integrate(SPAN, rated.start, rated.numbers, given, **how(method))
    np.testing.assert_allclose(sol.y[:, -1], rated.end, atol=1e-8)
    np.testing.assert_allclose(sol["u"], rated.spline(sol.t), atol=1e-13)
    np.testing.assert_allclose(sol["u_dot"], rated.spline(sol.t, 1), atol=1e-12)
    assert set(TIMES) <= set(sol.t)  # steps end where the third derivative jumps
    if method != "rk4":
        assert sol.audit(), sol.audit()


def test_the_drive_does_work() -> None:
    """Over the run, T2 - T0 + V of the pendulum changes by the integral of the power, and is not constant."""
    moments = np.linspace(*SPAN, 4001)
    given = PIVOT.start, PIVOT.numbers, {"u": CUBIC}
    sol = PIVOT.model.integrate(SPAN, *given, t_eval=moments, **TOLERANCES)
    work = simpson(sol["power"], x=moments)
    change = sol["painleve"][-1] - sol["painleve"][0]
    assert abs(change) > 0.05
    assert work == pytest.approx(change, abs=1e-8)


@pytest.mark.parametrize("name", ["pivot", "car"])
def test_backward_runs(name: str) -> None:
    rated = SYSTEMS[name]
    given = {"u": (TIMES, rated.samples, "cubic")}
    end = dict(zip(rated.start, rated.end))
    back = rated.model.integrate(SPAN[::-1], end, rated.numbers, given, **TOLERANCES)
    np.testing.assert_allclose(back.y[:, -1], list(rated.start.values()), atol=1e-8)


def test_a_length_that_is_wound_up() -> None:
    """A holonomic equation with u in it: a mass at the distance u from a pivot, against the equation of its angle."""
    x, y, u = *cg.coordinates("x y"), cg.inputs("u")
    m, g = cg.parameters("m g", positive=True)
    system = cg.System(
        "wound", coordinates=[x, y], kinetic=m * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2, potential=m * g * y,
        holonomic=[x**2 + y**2 - u**2],
    )  # fmt: skip
    assert [s.name for s in system.inputs] == ["u", "u_dot", "u_ddot"]
    model = system.compile()
    length = CubicSpline(TIMES, 1 + 0.3 * np.sin(2 * TIMES))
    start = model.consistent(
        {"x": 0.5, "y": -0.9, "x_dot": 0.3, "y_dot": 0}, {"m": 2, "g": 9.81}, inputs={"u": length}
    )
    sol = model.integrate(SPAN, start, {"m": 2, "g": 9.81}, {"u": length}, **TOLERANCES)
    angle = math.atan2(start["x"], -start["y"])
    rate = (start["x_dot"] * math.cos(angle) + start["y_dot"] * math.sin(angle)) / float(length(0))

    def by_angle(t: float, s: Any) -> Any:
        return [s[1], -(2 * length(t, 1) * s[1] + 9.81 * np.sin(s[0])) / length(t)]

    found = solve_ivp(by_angle, SPAN, [angle, rate], rtol=1e-12, atol=1e-13, method="DOP853", max_step=0.1)
    place = length(4) * np.array([np.sin(found.y[0, -1]), -np.cos(found.y[0, -1])])
    np.testing.assert_allclose(sol.y[:2, -1], place, atol=1e-8)
    assert np.abs(sol["holonomic_1"]).max() < 1e-12
    assert sol.audit()


def test_an_event_where_a_moving_input_meets_a_state() -> None:
    x, u = cg.coordinates("x"), cg.inputs("u")
    meets = cg.Event(x - u, name="meets", direction=-1)
    system = cg.System("meeting", coordinates=[x], kinetic=(cg.rate(x) + cg.rate(u)) ** 2 / 2, events=[meets])
    spline = CubicSpline(TIMES, np.sin(TIMES))
    given = {"x": 0.3, "x_dot": 0.0}, {}, {"u": (TIMES, np.sin(TIMES), "cubic")}
    model = system.compile()
    sol = model.integrate(SPAN, *given, **TOLERANCES)
    # x'' = -u'', so x = 0.3 + u'(0) t - (u - u(0))
    expected = scipy.optimize.brentq(lambda t: 0.3 + spline(0, 1) * t - 2 * spline(t), 0.1, 1.2, xtol=1e-14)
    assert sol.t_events[0][0] == pytest.approx(expected, abs=1e-10)
    many = cg.ensemble(
        model, SPAN, {"x": [0.3] * 6, "x_dot": 0.0}, {}, inputs=given[2], lanes=2, **TOLERANCES
    )
    assert set(many.y[0]) == {sol.y[0, -1]}


def test_friction_on_a_belt_with_a_driven_speed() -> None:
    """A block that sticks to a belt of speed u moves with it, and the friction force is m u'."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    grip = cg.Coulomb("belt", slip=cg.rate(x) - u, normal=20, mu=0.5)
    model = cg.System("carried", coordinates=[x], kinetic=2 * cg.rate(x) ** 2 / 2, contacts=[grip]).compile()
    assert model.inputs == ("u", "u_dot")
    times = np.linspace(0, 3, 31)
    sol = model.integrate(
        (0, 3), {"x": 0, "x_dot": 0}, {}, {"u": (times, 1 - np.cos(times), "cubic")}, **TOLERANCES
    )
    np.testing.assert_allclose(sol["x_dot"], sol["u"], atol=1e-10)
    np.testing.assert_allclose(sol["friction_belt"], 2 * sol["u_dot"], atol=1e-9)


# ---- many runs ----


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_the_same_bits_in_lanes_and_threads(rated: Rated, method: str) -> None:
    given = {"u": (TIMES, rated.samples, "cubic")}
    options = {"method": method, **({"step": 0.01} if method == "rk4" else TOLERANCES)}
    one = rated.model.integrate(SPAN, rated.start, rated.numbers, given, **options).y[:, -1]
    first = next(iter(rated.start))
    many = {**rated.start, first: [rated.start[first], 0.3, 0.2, rated.start[first], 0.7]}
    for lanes, threads in ((1, 1), (2, 1), (4, 2)):
        found = cg.ensemble(
            rated.model, SPAN, many, rated.numbers, inputs=given, lanes=lanes, threads=threads, **options
        )
        assert found.y[:, 0].tobytes() == found.y[:, 3].tobytes() == one.tobytes()


@pytest.mark.parametrize("method", ["dop853", "rk4"])
@pytest.mark.sample(1)
def test_numbers_with_rates_in_an_ensemble(method: str) -> None:
    options = {"method": method, **({"step": 0.01} if method == "rk4" else TOLERANCES)}
    second = np.array([0.5, 1.1, 0.7, -0.3, 0.2])
    given = {"u": 0.1, "u_dot": [0.3, 0.3, -0.2, 0.0, 1.0], "u_ddot": second}
    ends = []
    for lanes, threads in ((1, 1), (2, 1), (4, 2)):
        found = cg.ensemble(
            PIVOT.model, SPAN, PIVOT.start, PIVOT.numbers, inputs=given, lanes=lanes, threads=threads,
            t_eval=[1.0, 4.0], **options,
        )  # fmt: skip
        ends.append(found.y.tobytes())
    assert set(ends) == {ends[0]}
    np.testing.assert_allclose(found["u"][1], 0.1 + 4 * np.array(given["u_dot"]) + 8 * second, rtol=1e-13)
    np.testing.assert_allclose(found["u_dot"][0], given["u_dot"] + second, rtol=1e-13)
    one = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, parabola(0), **options)
    assert found.rerun(1).y[:, -1].tobytes() == one.y[:, -1].tobytes()
    np.testing.assert_allclose(found.y[:, 1, 1], one.y[:, -1], rtol=1e-14)
    study = cg.study(
        PIVOT.model, SPAN, n=6, seed=2, initial=PIVOT.start, parameters=PIVOT.numbers,
        inputs={"u": 0.1, "u_dot": 0.3, "u_ddot": scipy.stats.uniform(0, 2)},
        collect={"end": cg.final("q", "u")}, **options,
    )  # fmt: skip
    drawn = {"u": 0.1, "u_dot": 0.3, "u_ddot": study.draws["u_ddot"][4]}
    one = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, drawn, **options)
    assert study.results["end"]["q"][4] == one["q"][-1]
    assert study.results["end"]["u"][4] == pytest.approx(0.1 + 1.2 + 8 * drawn["u_ddot"], rel=1e-13)


def test_lists_of_numbers_with_rates_are_those_of_trajectories() -> None:
    model, start, numbers = PIVOT.model, PIVOT.start, PIVOT.numbers
    ens = cg.ensemble(model, (0, 0.5), start, numbers, {"u": [0.1, 0.2], "u_dot": 0.3})
    for i, u in enumerate((0.1, 0.2)):
        alone = model.integrate((0, 0.5), start, numbers, {"u": u, "u_dot": 0.3})
        assert np.array_equal(ens.y[:, i], alone.y[:, -1])


def test_functions_in_an_ensemble() -> None:
    found = cg.ensemble(
        PIVOT.model, SPAN, {**PIVOT.start, "q": [0.5, 0.4]}, PIVOT.numbers, inputs={"u": told}, **TOLERANCES
    )
    one = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, {"u": told}, **TOLERANCES)
    assert found.y[:, 0].tobytes() == one.y[:, -1].tobytes()
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.rerun(0).y[:, -1], one.y[:, -1])


@pytest.mark.sample(1)
def test_studies(rated: Rated) -> None:
    given = {"u": (TIMES, rated.samples, "cubic")}
    first = next(iter(rated.start))
    study = cg.study(
        rated.model, SPAN, n=20, seed=3, initial={**rated.start, first: scipy.stats.norm(rated.start[first], 1e-3)},
        parameters=rated.numbers, inputs=given,
        collect={"end": cg.final(*rated.start), "speed": cg.peak(cg.rate(U))}, **TOLERANCES,
    )  # fmt: skip
    drawn = study.draws[first]
    one = rated.model.integrate(SPAN, {**rated.start, first: drawn[7]}, rated.numbers, given, **TOLERANCES)
    for i, name in enumerate(rated.start):
        assert study.results["end"][name][7] == one.y[i, -1]
    fine = np.linspace(*SPAN, 40001)
    np.testing.assert_allclose(study.results["speed"].value, rated.spline(fine, 1).max(), atol=1e-6)


# ---- runs that are advanced ----


def parabola(t: float) -> dict[str, float]:
    return {"u": 0.1 + 0.3 * t + 0.55 * t**2, "u_dot": 0.3 + 1.1 * t, "u_ddot": 1.1}


def lifted() -> Any:
    """A pivot that is lifted with the acceleration 1.1 is one in a stronger field."""
    heavier = {**PIVOT.numbers, "g": PIVOT.numbers["g"] + 1.1}
    return PIVOT.model.integrate(SPAN, PIVOT.start, heavier, **TOLERANCES).y[:, -1]


def test_numbers_move_with_their_rates() -> None:
    sol = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, parabola(0), **TOLERANCES)
    np.testing.assert_allclose(sol.y[:, -1], lifted(), atol=1e-10)
    np.testing.assert_allclose(sol["u"], 0.1 + 0.3 * sol.t + 0.55 * sol.t**2, rtol=1e-14)
    assert sol.audit()


def test_a_stepper_takes_value_rate_and_second_rate() -> None:
    run = PIVOT.model.stepper(PIVOT.start, PIVOT.numbers, parabola(0), **TOLERANCES)
    other = PIVOT.model.stepper(PIVOT.start, PIVOT.numbers, **TOLERANCES)
    for i in range(8):
        run.advance(0.5 * (i + 1))
        other.set_inputs(**parabola(other.t))
        saved = other.save()
        other.advance_by(0.2)
        other.restore(saved)
        other.advance(0.5 * (i + 1))
        for name, value in parabola(run.t).items():
            assert run[name] == pytest.approx(value, rel=1e-14) == other[name]
    np.testing.assert_allclose(run.y, lifted(), atol=1e-10)
    np.testing.assert_allclose(other.y, lifted(), atol=1e-10)
    again = pickle.loads(pickle.dumps(run))
    assert again.advance_by(1.0).tobytes() == run.advance_by(1.0).tobytes()
    run.set_inputs(u=0.2)  # a number alone has the rates 0
    assert (run["u"], run["u_dot"], run["u_ddot"]) == (0.2, 0.0, 0.0)
    run.set_inputs({"u": (TIMES + run.t, PIVOT.samples, "cubic")})
    run.advance_by(1.0)
    assert run["u_dot"] == pytest.approx(PIVOT.spline(1.0, 1), abs=1e-12)


def test_a_stepper_follows_a_spline(rated: Rated) -> None:
    given = {"u": (TIMES, rated.samples, "cubic")}
    run = rated.model.stepper(rated.start, rated.numbers, given, **TOLERANCES)
    for t in (0.37, 1.0, 2.51, 4.0):
        run.advance(t)
        assert run["u"] == pytest.approx(rated.spline(t), abs=1e-14)
        assert run["u_dot"] == pytest.approx(rated.spline(t, 1), abs=1e-12)
    np.testing.assert_allclose(run.y, rated.end, atol=1e-8)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_batches(method: str) -> None:
    """Each run has its own parabola; lanes and threads change no bit, and an input goes on where it is."""
    options = {"method": method, **({"step": 0.01} if method == "rk4" else TOLERANCES)}
    n, model = 9, PIVOT.model
    second = np.linspace(0.5, 1.3, n)
    found = []
    for lanes, threads in ((1, 1), (2, 1), (4, 2)):
        batch = model.batch(
            PIVOT.start, PIVOT.numbers, {"u": 0.1}, n=n, lanes=lanes, threads=threads, **options
        )
        batch.set_inputs(u=0.1, u_dot=0.3, u_ddot=second)
        batch.advance(0.7)
        saved = batch.save()
        batch.advance_by(0.4)
        batch.restore(saved)
        batch.advance(2.0)
        found.append(np.concatenate([batch.y, batch["u"][None], batch["u_dot"][None]]))
        assert found[-1].tobytes() == found[0].tobytes()
    np.testing.assert_allclose(found[0][2], 0.1 + 0.6 + 2 * second, rtol=1e-14)
    np.testing.assert_allclose(found[0][3], 0.3 + 2 * second, rtol=1e-14)
    for i in (0, 4, 8):
        heavier = {**PIVOT.numbers, "g": PIVOT.numbers["g"] + second[i]}
        expected = model.integrate((0, 2), PIVOT.start, heavier, **TOLERANCES).y[:, -1]
        np.testing.assert_allclose(found[0][:2, i], expected, atol=1e-7 if method == "rk4" else 1e-10)
    batch.advance_by(0.1, inputs={"u": np.arange(n)})  # numbers alone: the rates become 0
    np.testing.assert_array_equal(batch["u_dot"], 0)
    np.testing.assert_array_equal(batch["u"], np.arange(n))
    for given in ([0.4], np.full((1, n), 0.4)):  # the same without names
        batch.set_inputs(u=0.1, u_dot=0.3, u_ddot=1.0)
        batch.set_inputs(given)
        assert {float(v) for name in model.inputs for v in np.unique(batch[name])} == {0.4, 0.0}
    refused(r"shape \(2,\); .* in the order \(u, u_dot, u_ddot\)", batch.set_inputs, [0.4, 0.0])


@pytest.mark.sample(1)
def test_a_batch_and_a_stepper_are_told_the_derivatives_at_samples(rated: Rated) -> None:
    """Between them u is the parabola, or for a model without u'' the line, that they tell."""
    order = len(rated.model.inputs) - 1
    second = np.diff(rated.spline(TIMES, 1)) / np.diff(TIMES) if order > 1 else np.zeros(len(TIMES) - 1)
    value, rate, y = float(rated.samples[0]), float(rated.spline(0, 1)), np.array(list(rated.start.values()))
    batch = rated.model.batch(rated.start, rated.numbers, n=3, **TOLERANCES)
    run = rated.model.stepper(rated.start, rated.numbers, **TOLERANCES)
    for (first, last), curve in zip(pairwise(TIMES), second):
        if order == 1:
            rate = float(rated.spline(first, 1))
        given = dict(zip(rated.model.inputs, (value, rate, curve)))
        run.set_inputs(given)
        run.advance(last)
        batch.set_inputs(given)
        batch.advance(last)
        own = value, rate, curve
        found = solve_ivp(
            lambda t, y, own=own, first=first: rated.by_hand(
                y, own[0] + own[1] * (t - first) + own[2] * (t - first) ** 2 / 2, own[1] + own[2] * (t - first), own[2]
            ),
            (first, last), y, method="DOP853", rtol=1e-12, atol=1e-13,
        )  # fmt: skip
        h, y = last - first, found.y[:, -1]
        value, rate = value + rate * h + curve * h**2 / 2, rate + curve * h
    np.testing.assert_allclose(run.y, y, atol=1e-8)
    np.testing.assert_allclose(batch.y[:, 1], y, atol=1e-8)


# ---- derivatives ----


@pytest.mark.sample(1)
@pytest.mark.parametrize("source", [CUBIC, sine, told], ids=["spline", "differences", "told"])
def test_sensitivities_and_gradients(source: Any) -> None:
    source = {"u": source}
    given = PIVOT.start, PIVOT.numbers, source
    sol = PIVOT.model.integrate(SPAN, *given, sensitivities=["l", "g", "q"], **TOLERANCES)
    gradient = PIVOT.model.gradient(cg.final("q"), SPAN, *given, method="dop853", **TOLERANCES)
    for name in ("l", "g"):
        h = 1e-4
        ends = [
            PIVOT.model.integrate(SPAN, given[0], {**given[1], name: given[1][name] + s * h}, source, **TOLERANCES)
            for s in (-2, -1, 1, 2)
        ]  # fmt: skip
        a, b, c, d = (end["q"][-1] for end in ends)
        slope = (a - 8 * b + 8 * c - d) / (12 * h)
        assert sol.sensitivity["q", name][-1] == pytest.approx(slope, rel=1e-7)
        assert gradient[name] == pytest.approx(slope, rel=1e-7)
    assert gradient["q"] == pytest.approx(sol.sensitivity["q", "q"][-1], rel=1e-8)
    for what in ({"sensitivities": ["u_dot"]},):
        refused("sensitivities: u_dot is the rate of an input", PIVOT.model.integrate, SPAN, *given, **what)
    with pytest.raises(cg.ArgumentError, match="u_dot is the rate of an input"):
        PIVOT.model.gradient(cg.final("q"), SPAN, PIVOT.start, PIVOT.numbers, {"u": 0.1}, by=["u_dot"])


def test_linearization_has_a_column_for_each_rate() -> None:
    """q'' = -(g + u'') sin q / l at q = 0 and at q = pi/6 (held by nothing): d q''/d u'' = -sin q / l."""
    found = PIVOT.model.linearize({"q": 0, "q_dot": 0}, PIVOT.numbers, {"u": 0.3})
    assert found.inputs == ("u", "u_dot", "u_ddot")
    np.testing.assert_allclose(found.A, [[0, 1], [-9.81 / 0.7, 0]], atol=1e-12)


# ---- hosts ----


def test_actions_of_an_environment_would_jump() -> None:
    gym = pytest.importorskip("chaplygin.gym")
    given = {
        "dt": 0.1,
        "observations": ["q"],
        "reward": "q",
        "initial": PIVOT.start,
        "parameters": PIVOT.numbers,
    }
    for action in ("u", "u_ddot"):
        with pytest.raises(cg.ArgumentError, match=f"actions: {action} would jump at every step"):
            gym.Env(PIVOT.model, actions=[action], **given)
        with pytest.raises(cg.ArgumentError, match=f"actions: {action} would jump at every step"):
            gym.VectorEnv(PIVOT.model, 2, actions=[action], **given)


@pytest.mark.parametrize("given", [{"u": 0.1, "u_dot": 0.2}, {"u": CUBIC}])
def test_environments_take_what_moves(given: Any) -> None:
    """Those that are advanced together take samples alone: their episodes begin at different times."""
    gym = pytest.importorskip("chaplygin.gym")
    x, u, force = cg.coordinates("x"), *cg.inputs("u force")
    kinetic = (cg.rate(x) + cg.rate(u)) ** 2 / 2
    model = cg.System("pushed_wall", coordinates=[x], kinetic=kinetic, forces={cg.rate(x): force}).compile()
    task = {"dt": 0.1, "actions": ["force"], "observations": ["u"], "reward": "x", "inputs": given}
    start = {"x": 0, "x_dot": 0}
    if "u_dot" in given:
        words = r"u varies with the time, .*; chaplygin\.gym\.Env runs it"
        refused(words, gym.VectorEnv, model, 2, initial=start, **task)
    else:
        together = gym.VectorEnv(model, 2, **task, initial=start)
        for _ in range(2):
            together.reset(seed=1)
            np.testing.assert_allclose(together.step(np.zeros((2, 1)))[0], PIVOT.spline(0.1), rtol=1e-6)
    environment = gym.Env(model, **task, initial=start)
    for _ in range(2):
        environment.reset(seed=1)
        seen = environment.step([0.0])[0]
        assert seen[0] == pytest.approx(0.12 if "u_dot" in given else PIVOT.spline(0.1), rel=1e-6)


def test_the_model_in_pure_python() -> None:
    equations = PIVOT.system().equations()
    pure = PythonModel(python_kernels(equations.program), quiet=True)
    for source in (CUBIC, told):
        sol = pure.integrate(
            SPAN, PIVOT.start, PIVOT.numbers, {"u": source}, method="dop853", rtol=1e-9, atol=1e-10
        )
        expected = PIVOT.end if source is CUBIC else of_sine()
        np.testing.assert_allclose(sol.y[:, -1], expected, atol=1e-7)
    first = pure.integrate((0, 2), PIVOT.start, PIVOT.numbers, parabola(0), rtol=1e-9, atol=1e-10)
    sol = pure.integrate((2, 4), first, inputs=parabola(2.0), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(sol.y[:, -1], lifted(), atol=1e-7)
    np.testing.assert_allclose(sol["u"][-1], parabola(4.0)["u"], rtol=1e-12)

"""FMUs of catalogue systems through FMPy: they validate, and simulate to the same states as the models themselves."""

from __future__ import annotations

import math
from ctypes import c_double
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy.validation import validate_fmu
from fmus import SYSTEMS, USUAL, Fmu, begin, exported, states

import chaplygin as cg

VERSIONS = ("2.0", "3.0")
CASES = [
    pytest.param((name, version), marks=[] if name in USUAL else [pytest.mark.slow], id=f"{name}-{version}")
    for name in SYSTEMS
    for version in VERSIONS
]
BALL = [pytest.param(("bouncing_ball", version), id=version) for version in VERSIONS]
TOP = [pytest.param(("heavy_top", version), id=version) for version in VERSIONS]
T_END = 2.0


@pytest.fixture(scope="module")
def fmu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fmu:
    name, version = request.param
    return exported(name, version, tmp_path_factory.mktemp(name))


def reference(fmu: Fmu) -> Any:
    example = fmu.example
    return fmu.model.integrate(
        (0, T_END), example.initial, example.parameters, fmu.inputs, rtol=1e-12, atol=1e-12
    )


def call(instance: Any, what: str, n: int) -> list[float]:
    """The n numbers of a function of Model Exchange that fills an array."""
    room = (c_double * n)()
    getattr(instance, f"get{what}")(room, n)
    return list(room)


@pytest.mark.parametrize("fmu", CASES, indirect=True)
@pytest.mark.sample(2)
def test_it_validates_without_a_message(fmu: Fmu) -> None:
    assert validate_fmu(fmu.path) == []


@pytest.mark.parametrize("fmu", CASES, indirect=True)
@pytest.mark.sample(2)
def test_co_simulation_reaches_the_states_of_integrate(fmu: Fmu) -> None:
    result, ours = fmu.simulated("CoSimulation", T_END, 1e-12), reference(fmu)
    for name in fmu.model.states:
        assert abs(result[name][-1] - ours[name][-1]) <= 1e-8 * max(1.0, abs(ours[name][-1])), name


@pytest.mark.parametrize("fmu", CASES, indirect=True)
@pytest.mark.sample(2)
def test_model_exchange_reaches_them_with_the_importers_integrator(fmu: Fmu) -> None:
    result, ours = fmu.simulated("ModelExchange", T_END, 1e-10), reference(fmu)
    for name in fmu.model.states:
        assert abs(result[name][-1] - ours[name][-1]) <= 1e-6 * max(1.0, abs(ours[name][-1])), name


@pytest.mark.parametrize("fmu", CASES, indirect=True)
def test_co_simulation_is_bit_for_bit_a_stepper_advanced_to_the_same_points(fmu: Fmu) -> None:
    example = fmu.example
    run = fmu.model.stepper(example.initial, example.parameters, fmu.inputs, rtol=1e-10, atol=1e-10)
    points = np.linspace(0.0, T_END, 14).tolist()
    with fmu.instance("CoSimulation", tolerance=1e-10) as instance:
        for t, after in pairwise(points):
            instance.doStep(t, after - t)
            run.advance(t + (after - t))
            assert states(instance, fmu).tobytes() == run.y.tobytes()


@pytest.mark.parametrize("fmu", CASES, indirect=True)
@pytest.mark.sample(4)
def test_model_exchange_gives_the_models_derivatives_outputs_and_indicators(fmu: Fmu) -> None:
    model, example, random = fmu.model, fmu.example, np.random.default_rng(5)
    p = [example.parameters[name] for name in model.parameters]
    u = list(fmu.inputs.values())
    n_indicators = fmu.description.numberOfEventIndicators
    with fmu.instance("ModelExchange") as instance:
        instance.enterContinuousTimeMode()
        modes = fmu.references(f"mode({name})" for name in model.modes)
        slip = instance.getInt32(modes) if modes else []
        start = np.array(call(instance, "ContinuousStates", len(model.states)))
        kinks = slice(len(model.events), len(model.events) + len(model.kinks))
        sides = np.sign(model.call("guards", 0, start, p, [*u, *slip])[kinks]) if model.kinks else []
        for t in random.uniform(0, 3, 100).tolist():
            y = start + random.uniform(-0.1, 0.1, len(start))
            # relations are frozen: see test_fmu_kinks.py
            while model.kinks and (np.sign(model.call("guards", t, y, p, [*u, *slip])[kinks]) != sides).any():
                y = start + random.uniform(-0.1, 0.1, len(start))
            instance.setTime(t)
            instance.setContinuousStates((c_double * len(y))(*y), len(y))
            np.testing.assert_allclose(
                call(instance, "ContinuousStateDerivatives", len(y)),
                model.rhs(t, y, p, [*u, *slip]),
                rtol=1e-14,
            )
            values = model.evaluate(t, y, p, [*u, *slip])
            np.testing.assert_allclose(
                instance.getFloat64(fmu.references(model.outputs)),
                [values[name] for name in model.outputs],
                rtol=1e-14,
            )
            guards = len(model.events) + len(model.kinks)
            if guards:
                ours = model.call("guards", t, y, p, [*u, *slip])
                seen = call(instance, "EventIndicators", n_indicators)[:guards]
                np.testing.assert_allclose(seen, ours, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("fmu", CASES, indirect=True)
def test_directional_derivatives_are_jvp(fmu: Fmu) -> None:
    model, example, random = fmu.model, fmu.example, np.random.default_rng(6)
    p = [example.parameters[name] for name in model.parameters]
    known = fmu.references(model.states)
    unknown = fmu.references(f"der({name})" for name in model.states)
    with fmu.instance("ModelExchange") as instance:
        instance.enterContinuousTimeMode()
        y = np.array(call(instance, "ContinuousStates", len(known)))
        modes = fmu.references(f"mode({name})" for name in model.modes)
        slip = instance.getInt32(modes) if modes else []
        u = [*fmu.inputs.values(), *slip]
        v = random.normal(size=len(y))
        ours = model.jvp(0, y, p, v, u)
        scale = max(1.0, np.abs(ours).max())
        found = instance.getDirectionalDerivative(unknown, known, v.tolist())
        np.testing.assert_allclose(found, ours, rtol=1e-13, atol=1e-13 * scale)
        if fmu.version == "3.0":
            transposed = model.jacobian(0, y, p, u).T @ v
            scale = max(1.0, np.abs(transposed).max())
            found = instance.getAdjointDerivative(unknown, known, v.tolist())
            np.testing.assert_allclose(found, transposed, rtol=1e-13, atol=1e-13 * scale)


@pytest.mark.parametrize("fmu", [c for c in CASES if c.values[0][1] == "3.0"], indirect=True)
def test_adjoint_derivatives_are_the_transpose_of_directional_ones(fmu: Fmu) -> None:
    """For all quantities by all: w . (J v) = (J^T w) . v."""
    listed = [
        v for v in fmu.description.modelVariables if v.type == "Float64" and v.variability == "continuous"
    ]
    unknowns = [v.valueReference for v in listed if v.causality in ("local", "output")]
    names = [
        fmu.description.modelVariables[0].name,
        *fmu.model.states,
        *fmu.model.parameters,
        *fmu.model.inputs,
    ]
    knowns, random = fmu.references(names), np.random.default_rng(7)
    with fmu.instance("ModelExchange") as instance:
        instance.enterContinuousTimeMode()
        for _ in range(5):
            v, w = random.normal(size=len(knowns)), random.normal(size=len(unknowns))
            along = np.array(instance.getDirectionalDerivative(unknowns, knowns, v.tolist()))
            back = instance.getAdjointDerivative(unknowns, knowns, w.tolist(), nSensitivity=len(knowns))
            size = np.abs(w) @ np.abs(along) + np.abs(back) @ np.abs(v)
            assert abs(w @ along - np.array(back) @ v) <= 1e-13 * size


@pytest.mark.parametrize("fmu", [("heavy_top", "3.0")], indirect=True)
def test_derivatives_by_parameters_and_of_states_agree_with_the_closed_form(fmu: Fmu) -> None:
    """q0' = -(q1 w1 + q2 w2 + q3 w3)/2, and a state does not depend on another one."""
    q, w = [f"q{i}" for i in range(4)], [f"w{i}" for i in (1, 2, 3)]
    with fmu.instance("ModelExchange") as instance:
        instance.enterContinuousTimeMode()
        y = dict(zip(fmu.model.states, call(instance, "ContinuousStates", len(fmu.model.states))))
        (rate,) = fmu.references(["der(q0)"])
        slopes = instance.getAdjointDerivative([rate], fmu.references(w), [1.0], nSensitivity=3)
        np.testing.assert_allclose(slopes, [-y[name] / 2 for name in q[1:]], rtol=1e-13, atol=1e-15)
        mixed = instance.getDirectionalDerivative(
            [*fmu.references(["q1"]), rate], fmu.references(["q1", "w1"]), [2, 3]
        )
        np.testing.assert_allclose(mixed, [2.0, -(2 * y["w1"] + 3 * y["q1"]) / 2], rtol=1e-13, atol=1e-15)
        assert instance.getDirectionalDerivative([rate], fmu.references(["m"]), [1.0]) == [0.0]


def bounces(fmu: Fmu, count: int) -> list[float]:
    """The times at which the ball meets the floor: a fall from the height h, then flights of 2 v / g."""
    h, g, e = fmu.example.initial["x"], fmu.example.parameters["g"], fmu.example.parameters["e"]
    assert fmu.example.initial["x_dot"] == 0
    v = math.sqrt(2 * g * h)
    times = [v / g]
    for k in range(1, count):
        times.append(times[-1] + 2 * v * e**k / g)
    return times


@pytest.mark.parametrize("fmu", BALL, indirect=True)
def test_an_importer_finds_the_bounces_in_model_exchange(fmu: Fmu) -> None:
    result = fmu.simulated("ModelExchange", T_END, 1e-12, record_events=True)
    t, v = result["time"], result["x_dot"]
    found = [after for before, after, a, b in zip(t, t[1:], v, v[1:]) if before == after and a < 0 < b]
    np.testing.assert_allclose(found, bounces(fmu, len(found)), rtol=0, atol=1e-9)
    assert len(found) == 3


@pytest.mark.parametrize("fmu", [("bouncing_ball", "3.0")], indirect=True)
def test_steps_of_co_simulation_return_at_the_bounces(fmu: Fmu) -> None:
    found, t = [], 0.0
    with fmu.instance(
        "CoSimulation", tolerance=1e-12, eventModeUsed=True, earlyReturnAllowed=True
    ) as instance:
        instance.enterStepMode()
        while t < T_END:
            event, terminate, early, reached = instance.doStep(t, T_END - t)
            assert not terminate
            assert early == (reached < T_END)
            if event:
                found.append(reached)
                before = states(instance, fmu)[1]
                instance.enterEventMode()
                assert instance.updateDiscreteStates()[:4] == (False, False, False, True)
                assert states(instance, fmu)[1] == -fmu.example.parameters["e"] * before
                instance.enterStepMode()
            t = reached
    np.testing.assert_allclose(found, bounces(fmu, len(found)), rtol=0, atol=1e-10)
    assert len(found) == 3


@pytest.mark.parametrize("start", [(1.0, 0.0), (0.0, 0.0)], ids=["falls", "rests"])
@pytest.mark.parametrize("fmu", BALL, indirect=True)
def test_model_exchange_ends_where_the_ball_would_go_straight_back(
    fmu: Fmu, start: tuple[float, float]
) -> None:
    with fmu.instance("ModelExchange", start=False) as instance:
        instance.setFloat64(
            fmu.references(["e", "x", "x_dot"]), [1e-30, *start]
        )  # e is declared to be positive
        begin(instance, fmu.version)
        assert instance.updateDiscreteStates()[:2] == (False, start[0] == 0.0)
        if start[0] > 0.0:
            instance.enterContinuousTimeMode()
            call(instance, "EventIndicators", 1)
            instance.setContinuousStates((c_double * 2)(-1e-15, -3.0), 2)
            instance.enterEventMode()
            assert instance.updateDiscreteStates()[:2] == (False, True)
        assert abs(states(instance, fmu)[1]) < 1e-29


@pytest.mark.parametrize("fmu", BALL, indirect=True)
def test_a_hysteresis_keeps_an_indicator_that_has_crossed_on_its_new_side(fmu: Fmu) -> None:
    """An importer may stop just before the zero: the indicator then is on the far side after Event Mode, by less than
    1e-12 of the height."""
    with fmu.instance("ModelExchange") as instance:
        instance.enterContinuousTimeMode()
        call(instance, "EventIndicators", 1)
        instance.setContinuousStates((c_double * 2)(-1e-15, -3.0), 2)
        instance.enterEventMode()
        changed = instance.updateDiscreteStates()
        instance.enterContinuousTimeMode()
        assert changed[3]
        (z,) = call(instance, "EventIndicators", 1)
        assert 0 < z <= 1e-12 * fmu.example.initial["x"]


@pytest.mark.parametrize("fmu", TOP, indirect=True)
def test_two_instances_do_not_disturb_each_other(fmu: Fmu) -> None:
    """Of the top, whose steps show in its states: those of a ball are exact whatever the tolerance."""

    def alone(tolerance: float) -> bytes:
        with fmu.instance("CoSimulation", tolerance=tolerance) as instance:
            for i in range(10):
                instance.doStep(0.1 * i, 0.1)
            return states(instance, fmu).tobytes()

    with (
        fmu.instance("CoSimulation", tolerance=1e-6) as one,
        fmu.instance("CoSimulation", tolerance=1e-12) as other,
    ):
        for i in range(10):
            one.doStep(0.1 * i, 0.1)
            other.doStep(0.1 * i, 0.1)
        assert states(one, fmu).tobytes() == alone(1e-6) != alone(1e-12) == states(other, fmu).tobytes()


@pytest.mark.parametrize("fmu", CASES, indirect=True)
def test_a_saved_state_continues_bit_for_bit_also_in_another_instance(fmu: Fmu) -> None:
    def rest(instance: Any) -> bytes:
        for i in range(5, 10):
            instance.doStep(0.1 * i, 0.1)
        return states(instance, fmu).tobytes()

    with fmu.instance("CoSimulation") as instance:
        for i in range(5):
            instance.doStep(0.1 * i, 0.1)
        saved = instance.getFMUState()
        text = instance.serializeFMUState(saved)
        first = rest(instance)
        instance.setFMUState(saved)
        assert rest(instance) == first
        instance.freeFMUState(saved)
    with fmu.instance("CoSimulation") as other:
        other.setFMUState(other.deserializeFMUState(text))
        assert rest(other) == first


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
@pytest.mark.parametrize("fmu", BALL, indirect=True)
def test_a_state_is_saved_and_restored_at_any_time(fmu: Fmu, kind: str) -> None:
    """Before and during an initialization that starts later than 0, and where the importer set the time."""
    two, seen = fmu.version == "2.0", fmu.references(["time", "x"])
    with fmu.instance(kind, start=False) as instance:
        get, save = instance.getFloat64, instance.getFMUState
        saved = [(save(), get(seen))]
        if two:
            instance.setupExperiment(startTime=1.0)
            saved.append((save(), get(seen)))
        instance.enterInitializationMode(**{} if two else {"startTime": 1.0})
        saved.append((save(), get(seen)))
        instance.exitInitializationMode()
        for i in range(2):
            saved.append((save(), get(seen)))
            if kind == "CoSimulation":
                instance.doStep(1.0 + 0.1 * i, 0.1)
            else:
                instance.updateDiscreteStates()
                instance.enterContinuousTimeMode()
                instance.setTime(1.5)
                saved.append((save(), get(seen)))
                instance.enterEventMode()
        for state, values in (*saved, *saved[::-1]):
            instance.setFMUState(state)
            assert get(seen) == values


@pytest.mark.parametrize("fmu", BALL, indirect=True)
def test_the_method_and_its_tolerances_can_be_set(fmu: Fmu) -> None:
    example = fmu.example
    run = fmu.model.stepper(example.initial, example.parameters, method="tsit5", rtol=1e-5, atol=1e-7)
    with fmu.instance("CoSimulation", start=False) as instance:
        instance.setString(fmu.references(["solver.method"]), ["tsit5"])
        instance.setFloat64(fmu.references(["solver.rtol", "solver.atol"]), [1e-5, 1e-7])
        begin(instance, fmu.version, 1e-12)
        instance.doStep(0.0, 0.7)
        assert states(instance, fmu).tobytes() == run.advance(0.7).tobytes()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.sample(1)
def test_inputs_act_at_once_in_both_kinds(version: str, tmp_path: Path) -> None:
    """A mass m pushed by the force F: x'' = F / m, in steps and by the importer."""
    x, m, force = cg.coordinates("x"), cg.parameters("m", positive=True), cg.inputs("F")
    v = cg.rate(x)
    cart = cg.System(
        "pushed", coordinates=[x], kinetic=m * v**2 / 2, forces={v: force}, units={x: "m", v: "m/s"}
    )
    model = cart.compile("lagrange")
    fmu = Fmu.of(model, tmp_path, version, initial={"x": 0, "x_dot": 0}, parameters={"m": 2})
    signal = np.array(
        [(0.0, 3.0), (1.0, 3.0), (1.0, -1.0), (2.0, -1.0)], dtype=[("time", float), ("F", float)]
    )
    for kind in ("CoSimulation", "ModelExchange"):
        result = fmu.simulated(kind, 2, 1e-9, input=signal)
        assert result["x_dot"][-1] == pytest.approx((3 * 1 - 1) / 2, abs=1e-7), kind
        assert result["x"][-1] == pytest.approx((1.5 + 3 - 0.5) / 2, abs=1e-7), kind


def test_only_events_that_occur_are_told(tmp_path: Path) -> None:
    """Not one whose condition is false where its guard crosses zero."""
    x, v = cg.coordinates("x v")
    marks = [cg.Event(x - 1, name=name, when=c) for name, c in {"passed": v > 0, "never": v < 0}.items()]
    model = cg.System("marked", kinematics={x: v, v: 0}, events=marks).compile()
    fmu = Fmu.of(model, tmp_path, "3.0", initial={"x": 0, "v": 1})
    told: list[bytes] = []
    log = {"loggingOn": True, "logMessage": lambda *said: told.append(said[-1])}
    with fmu.instance("ModelExchange", **log) as instance:
        instance.enterContinuousTimeMode()
        instance.setTime(1.5)
        instance.setContinuousStates((c_double * 2)(1.5, 1.0), 2)
        instance.enterEventMode()
        instance.updateDiscreteStates()
    assert told == [b"passed at t = 1.5"]

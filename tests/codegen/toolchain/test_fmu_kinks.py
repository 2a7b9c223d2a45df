"""A mass in a valley of two slopes, m x'' = -k sign(x) + F cos(t), as an FMU: kinks, derivatives, tuning, methods."""

from __future__ import annotations

import dataclasses
import os
from ctypes import c_double
from itertools import pairwise
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
import sympy as sp
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu
from fmus import Fmu, begin, enter, states
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.codegen.methods.pairs.dop853 import PAIR

START = {"x": 1.0, "x_dot": 0.0}
PARAMETERS = {"m": 2.0, "k": 3.0}


@pytest.fixture(scope="module", params=("2.0", "3.0"))
def valley(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fmu:
    x, (m, k), force = cg.coordinates("x"), cg.parameters("m k", positive=True), cg.inputs("F")
    v = cg.rate(x)
    system = cg.System(
        "valley",
        coordinates=[x],
        kinetic=m * v**2 / 2,
        potential=k * sp.Abs(x),
        forces={v: force * sp.cos(cg.time)},
        outputs={"work": force * v * sp.sin(cg.time) / m},
    )
    own = dataclasses.replace(PAIR, name="mine", summary="a method of this model")
    model = system.compile("lagrange", methods=[own])
    given = {"initial": START, "parameters": PARAMETERS, "inputs": {"F": 0}}
    return Fmu.of(model, tmp_path_factory.mktemp("valley"), request.param, **given)


def put(instance: Any, valley: Fmu, **values: float) -> None:
    instance.setFloat64(valley.references(values), list(values.values()))


def get(instance: Any, valley: Fmu, *names: str) -> list[float]:
    found: list[float] = instance.getFloat64(valley.references(names))
    return found


def at(instance: Any, x: float, v: float) -> None:
    instance.setContinuousStates((c_double * 2)(x, v), 2)


def indicator(instance: Any) -> float:
    room = (c_double * 1)()
    instance.getEventIndicators(room, 1)
    return room[0]


def update(instance: Any) -> tuple[bool, ...]:
    """One update of the discrete states: whether another is needed, the run ends, ..., the states have jumped."""
    return tuple(instance.updateDiscreteStates()[:4])


@pytest.mark.slow
def test_it_validates(valley: Fmu) -> None:
    assert validate_fmu(valley.path) == []
    variability = {v.name: v.variability for v in valley.description.modelVariables}
    assert variability["m"] == variability["k"] == "tunable"
    assert variability["solver.method"] == "fixed"


@pytest.mark.sample(1)
def test_relations_are_frozen_between_events(valley: Fmu) -> None:
    slope = PARAMETERS["k"] / PARAMETERS["m"]
    with valley.instance("ModelExchange") as instance:
        instance.enterContinuousTimeMode()
        sign = indicator(instance)  # at x = 1: the guard is x or -x
        assert abs(sign) == 1.0
        for x in (0.5, 1e-300, -1e-9, -0.5, 0.25):
            at(instance, x, -1.0)
            assert get(instance, valley, "der(x_dot)") == [-slope]
            assert indicator(instance) == sign * x
        at(instance, -1e-14, -1.0)
        assert get(instance, valley, "der(x_dot)") == [-slope]
        instance.enterEventMode()
        assert update(instance) == (True, False, False, False)
        assert update(instance) == (False, False, False, False)
        instance.enterContinuousTimeMode()
        assert get(instance, valley, "der(x_dot)") == [slope]
        at(instance, 0.3, -1.0)
        assert get(instance, valley, "der(x_dot)") == [slope]


def test_the_sides_are_saved(valley: Fmu) -> None:
    slope = PARAMETERS["k"] / PARAMETERS["m"]
    with valley.instance("ModelExchange") as instance:
        instance.enterContinuousTimeMode()
        saved = instance.getFMUState()
        at(instance, -0.1, -1.0)
        instance.enterEventMode()
        update(instance)
        assert get(instance, valley, "der(x_dot)") == [slope]
        instance.setFMUState(saved)
        assert get(instance, valley, "der(x_dot)") == [-slope]


def test_a_mass_at_rest_on_the_kink_stays_until_it_is_pushed(valley: Fmu) -> None:
    with valley.instance("ModelExchange", start=False) as instance:
        put(instance, valley, x=0.0)
        begin(instance, valley.version)
        instance.enterContinuousTimeMode()
        assert get(instance, valley, "der(x_dot)") == [0.0]
        at(instance, 1e-3, 0.1)
        entered, _ = instance.completedIntegratorStep()
        assert entered
        instance.enterEventMode()
        update(instance)
        assert get(instance, valley, "der(x_dot)") == [-PARAMETERS["k"] / PARAMETERS["m"]]


def test_an_importer_finds_the_kinks(valley: Fmu) -> None:
    """x falls from 1 with a = k/m: it meets the kink after T = sqrt(2/a), and comes back after 4 T."""
    a = PARAMETERS["k"] / PARAMETERS["m"]
    quarter = (2 / a) ** 0.5
    result = valley.simulated("ModelExchange", 5 * quarter, 1e-12, record_events=True)
    t = result["time"]
    found = [after for before, after in pairwise(t) if before == after]
    np.testing.assert_allclose(found, [quarter, 3 * quarter, 5 * quarter][: len(found)], rtol=0, atol=1e-9)
    assert len(found) >= 2
    # at 4 T it is where it was
    whole = valley.simulated("ModelExchange", 4 * quarter, 1e-10)
    assert whole["x"][-1] == pytest.approx(1.0, abs=1e-7)
    assert whole["x_dot"][-1] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_derivatives_by_everything_are_those_of_the_formulas(valley: Fmu, kind: str) -> None:
    t, x, v, m, k, force = sp.symbols("t x v m k F")
    unknowns = {
        "x": x,
        "der(x)": v,
        "der(x_dot)": (-k * sp.Symbol("side") + force * sp.cos(t)) / m,
        "work": force * v * sp.sin(t) / m,
        "x_dot": v,
    }
    if valley.version == "3.0":
        unknowns["indicator(kink_1)"] = -x  # the condition is 0 < x
    knowns = {"time": t, "x": x, "x_dot": v, "m": m, "k": k, "F": force}
    point = {t: 0.75, x: 1.0, v: 0.0, m: 2.0, k: 3.0, force: 4.0, sp.Symbol("side"): 1.0}
    matrix = sp.Matrix(list(unknowns.values())).jacobian(list(knowns.values()))
    matrix = np.array(matrix.subs(point).evalf(20), dtype=float)
    random = np.random.default_rng(8)
    with valley.instance(kind, start=False) as instance:
        enter(instance, valley.version, startTime=0.75)
        put(instance, valley, F=4.0)
        instance.exitInitializationMode()
        rows, columns = valley.references(unknowns), valley.references(knowns)
        for _ in range(5):
            seed = random.normal(size=len(knowns))
            found = instance.getDirectionalDerivative(rows, columns, seed.tolist())
            np.testing.assert_allclose(found, matrix @ seed, rtol=1e-13, atol=1e-13)
            if valley.version == "3.0":
                weights = random.normal(size=len(unknowns))
                back = instance.getAdjointDerivative(
                    rows, columns, weights.tolist(), nSensitivity=len(columns)
                )
                np.testing.assert_allclose(back, weights @ matrix, rtol=1e-13, atol=1e-13)


def test_parameters_can_be_tuned_in_event_mode(valley: Fmu) -> None:
    with valley.instance("ModelExchange") as instance:
        put(instance, valley, k=5.0)
        update(instance)
        assert get(instance, valley, "k", "der(x_dot)") == [5.0, -2.5]
        instance.enterContinuousTimeMode()
        with pytest.raises(FMICallException):
            put(instance, valley, k=6.0)
        assert get(instance, valley, "k") == [5.0]


def test_tuning_in_co_simulation_is_that_of_a_stepper(valley: Fmu) -> None:
    run = valley.model.stepper(START, PARAMETERS, {"F": 0.0}, rtol=1e-9, atol=1e-9)
    with valley.instance("CoSimulation", tolerance=1e-9) as instance:
        instance.doStep(0.0, 0.5)
        run.advance(0.5)
        put(instance, valley, m=3.0, k=4.0)
        run.set_parameters(m=3.0, k=4.0)
        instance.doStep(0.5, 0.25)
        assert states(instance, valley).tobytes() == run.advance(0.75).tobytes()


def test_the_models_own_method_can_be_chosen(valley: Fmu) -> None:
    run = valley.model.stepper(START, PARAMETERS, {"F": 0.0}, method="mine", rtol=1e-7, atol=1e-7)
    with valley.instance("CoSimulation", start=False) as instance:
        instance.setString(valley.references(["solver.method"]), ["mine"])
        begin(instance, valley.version, 1e-7)
        instance.doStep(0.0, 2.0)
        assert instance.getString(valley.references(["solver.method"])) in (["mine"], [b"mine"])
        assert states(instance, valley).tobytes() == run.advance(2.0).tobytes()
    (described,) = [v for v in valley.description.modelVariables if v.name == "solver.method"]
    assert described.description.endswith("mine")


def test_tuning_must_keep_the_constraints(tmp_path: Path) -> None:
    x, y = cg.coordinates("x y")
    length = cg.parameters("l", positive=True)
    system = unit_masses(
        "on_circle", [x, y], potential=y, holonomic=[x**2 + y**2 - length**2], example={x: 1, y: 0, length: 1}
    )
    model = system.compile("multipliers")
    start = {"x": 0.6, "y": -0.8, "x_dot": 0.0, "y_dot": 0.0}
    circle = Fmu.of(model, tmp_path, "2.0", initial=start, parameters={"l": 1})
    with circle.instance("CoSimulation") as instance:
        put(instance, circle, l=1.5)
        with pytest.raises(FMICallException):
            instance.doStep(0.0, 0.1)
        put(instance, circle, l=1.0)
        instance.doStep(0.0, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("part", [1, -7])
@pytest.mark.parametrize("belt", [sp.Integer(0), sp.Rational(3, 10)])
def test_events_on_the_slip_of_a_block_that_sticks(
    belt: Any, part: int, version: str, tmp_path: Path
) -> None:
    """y counts them: one where each slip ends, wherever an importer finds the slip and the guard to be zero."""
    x, y = cg.coordinates("x y")
    v = cg.rate(x)
    slip, t = v - belt, cg.time
    force = sp.Rational(13, 10) * sp.cos(7 * t / 3) + sp.Rational(3, 10) * sp.cos(13 * t / 10)
    system = unit_masses(
        "slips",
        [x, y],
        potential=x**2,
        forces={v: force},
        contacts=[cg.Coulomb("floor", slip=slip, normal=1, mu=0.6 + 0.5 * sp.exp(-20 * slip**2))],
        events=[cg.Event(slip / part, reset={y: y + 1})],
    )
    model, start = system.compile(), {"x": 0.3, "x_dot": 0.7, "y": 0.0, "y_dot": 0.0}
    sol = model.integrate((0, 12), start, rtol=1e-9, atol=1e-9)
    slips = [mode.contacts["floor"] != "stick" for mode in sol.modes[:-1]]
    assert sol["y"][-1] == sum(slips) > 5
    path = os.fspath(model.export_fmu(tmp_path / "slips.fmu", version, initial=start))
    for kind in ("CoSimulation", "ModelExchange"):
        options = {"stop_time": 12, "relative_tolerance": 1e-9, "output": ["x", "y"]}
        result = fmpy.simulate_fmu(path, fmi_type=kind, output_interval=0.1, **options)
        assert result["y"][-1] == sum(slips)
        assert result["x"][-1] == pytest.approx(sol["x"][-1], abs=1e-6)


def test_a_guard_that_jumps_where_a_slip_ends_occurs_with_it(tmp_path: Path) -> None:
    """It turns the slip back, so that this never ended if the importer saw its end later than that of the guard."""
    x, n = cg.coordinates("x n")
    v = cg.rate(x)
    turns = cg.Event(v + sp.sign(v), reset={v: -v, n: n + 1})
    system = unit_masses(
        "turns",
        [x, n],
        potential=x**2 / 2,
        contacts=[cg.Coulomb("floor", slip=v, normal=1, mu=0.6)],
        events=[turns],
    )
    model, start = system.compile(), {"x": 1.0, "x_dot": 0.3, "n": 0.0, "n_dot": 0.0}
    path = os.fspath(model.export_fmu(tmp_path / "turns.fmu", initial=start))
    options = {"stop_time": 5, "relative_tolerance": 1e-9, "output": ["x", "n"], "timeout": 20}
    result = fmpy.simulate_fmu(path, fmi_type="ModelExchange", output_interval=0.1, **options)
    rest = 2 * 0.6 - (np.sqrt(1.6**2 + 0.3**2) - 0.6)  # turned about -0.6, then about 0.6
    assert result["time"][-1] == 5
    assert result["n"][-1] == 2
    assert result["x"][-1] == pytest.approx(rest, abs=1e-6)

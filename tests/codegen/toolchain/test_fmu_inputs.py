"""Inputs that change during a step: FMI 2.0's input derivatives, and C programs that set an input with its rates."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_bundles import STRICT, Exported
from fmpy.validation import validate_fmu
from fmus import Fmu
from rated_systems import SYSTEMS, TIMES, Rated
from runtime_models import needs_core
from springs import C, U, X, sprung

import chaplygin as cg

pytestmark = needs_core
OWN, COUPLING = 4.0, 3.0


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Fmu:
    """A mass on a spring that is tied by another spring to the place u: x'' = -k x - c (x - u)."""
    model = sprung("half", -C * (X - U)).compile()
    given = {"initial": {"x": 0, "x_dot": 0}, "parameters": {"k": OWN, "c": COUPLING}}
    return Fmu.of(model, tmp_path_factory.mktemp("half"), "2.0", stop_time=10, step_size=0.01, **given)


def coupled(half: Fmu, h: float, slopes: bool, t_end: float = 5.0) -> float:
    """The error of x_1 after t_end, from x = (1, 0) at rest: (cos(w t) + cos(W t))/2, W^2 = w^2 + 2c."""
    place, rate, tie = half.references(["x"]), half.references(["x_dot"]), half.references(["u"])
    with half.instance("CoSimulation", False) as one, half.instance("CoSimulation", False) as two:
        for fmu, start in ((one, 1.0), (two, 0.0)):
            fmu.setupExperiment(tolerance=1e-10)
            fmu.enterInitializationMode()
            fmu.setReal(place, [start])
            fmu.setReal(tie, [1.0 - start])
            fmu.exitInitializationMode()
        for i in range(round(t_end / h)):
            seen = [(fmu.getReal(place), fmu.getReal(rate)) for fmu in (two, one)]
            for fmu, (x, v) in zip((one, two), seen):
                fmu.setReal(tie, x)
                if slopes:
                    fmu.setRealInputDerivatives(tie, [1], v)
                fmu.doStep(i * h, h)
        (found,) = one.getReal(place)
    slow, fast = math.sqrt(OWN), math.sqrt(OWN + 2 * COUPLING)
    return abs(found - (math.cos(slow * t_end) + math.cos(fast * t_end)) / 2)


def test_derivatives_of_inputs_raise_the_order_of_a_coupling(half: Fmu) -> None:
    held = [coupled(half, h, slopes=False) for h in (0.01, 0.005)]
    ramps = [coupled(half, h, slopes=True) for h in (0.01, 0.005)]
    assert 1.7 < held[0] / held[1] < 2.3
    assert 3.5 < ramps[0] / ramps[1] < 4.5
    assert ramps[0] < held[0] / 50


def test_an_input_with_a_derivative_is_a_ramp_over_one_step(half: Fmu) -> None:
    """Against the closed form of x'' = -w^2 x + c u, u = a + b t; then u stays where it is."""
    place, tie, w2 = half.references(["x"]), half.references(["u"]), OWN + COUPLING
    w = math.sqrt(w2)
    with half.instance("CoSimulation", tolerance=1e-12) as fmu:
        fmu.setReal(tie, [0.5])
        fmu.setRealInputDerivatives(tie, [1], [2.0])
        fmu.doStep(0.0, 0.3)
        ramp = COUPLING / w2 * (0.5 * (1 - math.cos(0.3 * w)) + 2.0 * (0.3 - math.sin(0.3 * w) / w))
        assert fmu.getReal(place)[0] == pytest.approx(ramp, abs=1e-10)
        assert fmu.getReal(tie)[0] == pytest.approx(1.1, abs=1e-15)
        saved, speed = fmu.getFMUstate(), fmu.getReal(half.references(["x_dot"]))[0]
        fmu.doStep(0.3, 0.2)
        rest = COUPLING / w2 * 1.1
        after = rest + (ramp - rest) * math.cos(0.2 * w) + speed * math.sin(0.2 * w) / w
        assert fmu.getReal(place)[0] == pytest.approx(after, abs=1e-10)
        fmu.setFMUstate(saved)
        fmu.setRealInputDerivatives(tie, [1], [9.0])
        fmu.setFMUstate(saved)  # a derivative that was set goes with the state that it was set in
        fmu.doStep(0.3, 0.2)
        assert fmu.getReal(place)[0] == pytest.approx(after, abs=1e-10)
        fmu.freeFMUstate(saved)


@pytest.mark.parametrize(
    ("name", "order", "value", "message"),
    [
        ("u", 3, 1.0, "a derivative of order 3: inputs have the first and the second one"),
        ("x", 1, 1.0, "is not that of an input"),
        ("u", 1, math.nan, "the derivative of an input is not finite"),
    ],
)
def test_wrong_derivatives_are_refused(
    half: Fmu, capfd: Any, name: str, order: int, value: float, message: str
) -> None:
    with half.instance("CoSimulation") as fmu:
        with pytest.raises(Exception, match="fmi2SetRealInputDerivatives"):
            fmu.setRealInputDerivatives(half.references([name]), [order], [value])
        assert message in "".join(capfd.readouterr())


def test_the_archive_says_how_it_wants_to_be_run_and_what_must_go_with_it(half: Fmu) -> None:
    assert validate_fmu(half.path) == []
    description = half.description
    assert description.coSimulation.canInterpolateInputs
    experiment = description.defaultExperiment
    found = [
        float(text)
        for text in (experiment.startTime, experiment.stopTime, experiment.stepSize, experiment.tolerance)
    ]
    assert np.array_equal(found, [0.0, 10.0, 0.01, 1e-9])
    with zipfile.ZipFile(half.path) as archive:
        text = archive.read("documentation/licenses/license.txt").decode()
    licence = (Path(__file__).resolve().parents[3] / "LICENSE").read_text()
    assert licence in text
    assert "Modelica Association" in text
    assert text.count("Redistributions in binary form must reproduce") == 2


def test_a_default_experiment_that_cannot_be(half: Fmu, tmp_path: Path) -> None:
    with pytest.raises(cg.ArgumentError, match=r"export_fmu: step_size = -1 is not positive"):
        half.model.export_fmu(
            tmp_path / "h.fmu", initial={"x": 0, "x_dot": 0}, parameters={"k": 1, "c": 1}, step_size=-1
        )


def test_an_input_with_two_derivatives_is_a_parabola_over_one_step(half: Fmu) -> None:
    """Against the closed form of x'' = -w^2 x + c u from rest, u = a t^2/2: x = c a (t^2/2 - (1 - cos wt)/w^2)/w^2."""
    place, tie, w2 = half.references(["x"]), half.references(["u"]), OWN + COUPLING
    with half.instance("CoSimulation", tolerance=1e-12) as fmu:
        fmu.setRealInputDerivatives(tie, [2], [3.0])
        fmu.doStep(0.0, 0.4)
        expected = COUPLING * 3.0 * (0.08 - (1 - math.cos(0.4 * math.sqrt(w2))) / w2) / w2
        assert fmu.getReal(place)[0] == pytest.approx(expected, abs=1e-11)
        assert fmu.getReal(tie)[0] == pytest.approx(0.24, abs=1e-15)


# ---- inputs whose rates enter the equations ----


@pytest.fixture(scope="module", params=SYSTEMS)
def driven(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rated, Fmu]:
    rated = SYSTEMS[request.param]
    folder, model = tmp_path_factory.mktemp(request.param), rated.system().compile(reproducible=True)
    given = {"initial": rated.start, "parameters": rated.numbers, "inputs": {"u": rated.samples[0]}}
    return rated, Fmu.of(model, folder, "2.0", "co-simulation", **given)


@pytest.mark.sample(1)
def test_rates_are_told_as_derivatives_of_the_input(driven: tuple[Rated, Fmu]) -> None:
    """The bits of a stepper that is told the same."""
    rated, made = driven
    assert not validate_fmu(made.path)
    causality = {v.name: v.causality for v in made.description.modelVariables}
    rates = rated.model.inputs[1:]
    assert causality["u"] == "input"
    assert {causality[name] for name in rates} == {"local"}
    first = {name: float(rated.spline(0, k)) for k, name in enumerate(rated.model.inputs)}
    run = made.model.stepper(rated.start, rated.numbers, first, rtol=1e-10, atol=1e-10)
    tie, seen = made.references(["u"]), made.references([*rated.model.states, *rated.model.inputs])
    h = TIMES[1]
    with made.instance("CoSimulation", False) as fmu:
        fmu.setupExperiment(tolerance=1e-10)
        fmu.enterInitializationMode()
        for i in range(20):
            t = i * h
            told = [float(rated.spline(t, k)) for k in range(len(rates) + 1)]
            run.set_inputs(dict(zip(rated.model.inputs, told)))
            fmu.setReal(tie, told[:1])
            fmu.setRealInputDerivatives(tie * len(rates), [1, 2][: len(rates)], told[1:])
            if i == 0:
                fmu.exitInitializationMode()
            assert fmu.getReal(made.references(rates)) == told[1:]
            if i == 12:
                saved, at = fmu.getFMUstate(), run.save()
                fmu.doStep(t, h)
                fmu.setFMUstate(saved)
                fmu.setRealInputDerivatives(tie * len(rates), [1, 2][: len(rates)], told[1:])
                run.restore(at)
            fmu.doStep(t, h)
            run.advance(t + h)
            assert fmu.getReal(seen) == [*run.y, *(run[name] for name in rated.model.inputs)]
        fmu.doStep(20 * h, h)  # without derivatives, u stays where it is
        run.set_inputs(u=run["u"])
        run.advance(20 * h + h)
        assert fmu.getReal(seen) == [*run.y, *(run[name] for name in rated.model.inputs)]


@pytest.mark.sample(1)
def test_the_first_step_is_taken_back(driven: tuple[Rated, Fmu]) -> None:
    """With the derivative of the input that was set before it: the step again is the same step."""
    _, made = driven
    tie, seen = made.references(["u"]), made.references([*made.model.states, *made.model.inputs])
    with made.instance("CoSimulation") as fmu:
        fmu.setRealInputDerivatives(tie, [1], [0.25])
        saved, start, found = fmu.getFMUstate(), fmu.getReal(seen), []
        for _ in range(2):
            fmu.doStep(0.0, 0.1)
            found.append(fmu.getReal(seen))
            fmu.setFMUstate(saved)
            assert fmu.getReal(seen) == start
        assert found[0] == found[1] != start
        fmu.freeFMUstate(saved)


def test_rates_need_a_co_simulation_of_fmi_2(tmp_path: Path) -> None:
    rated = SYSTEMS["pivot"]
    for version, kind in (("3.0", "co-simulation"), ("2.0", "both"), ("2.0", "model-exchange")):
        with pytest.raises(
            cg.ArgumentError, match=r"driven_pivot needs the derivatives of inputs \(u_dot, u_ddot\)"
        ):
            rated.model.export_fmu(
                tmp_path / "no.fmu", version, kind, initial=rated.start, parameters=rated.numbers
            )


MAIN = """
#include "driven_pivot.h"
#include <stdio.h>

static CG_BLOCK(memory, DRIVEN_PIVOT_RUN_SIZE);

int main(void)
{
    static const double x0[] = {0.5, 0.2}, p[] = {%s};
    cg_run_t *const run = (cg_run_t *)(void *)memory;
    int status = cg_run_init(run, sizeof memory, &driven_pivot_model, "dop853", 0);
    for (int i = 0; i < run->model->n_parameters; i++) run->p[i] = p[i];
    run->rtol = 1e-9;
    run->u[DRIVEN_PIVOT_U_u] = 0.1;
    run->u[DRIVEN_PIVOT_U_u_dot] = 0.3;
    run->u[DRIVEN_PIVOT_U_u_ddot] = 1.1;
    status |= cg_run_start(run, 0, x0, 0);
    for (int i = 0; i < 20; i++) {
        if (i == 10) { /* from here on with another acceleration: u and u' go on */
            run->u[DRIVEN_PIVOT_U_u_ddot] = -0.4;
            cg_run_inputs_changed(run);
        }
        status |= cg_run_advance(run, CG_TIME(i + 1, 10));
    }
    printf("status = %%d\\n", status);
    for (int i = 0; i < run->n; i++) printf("%%s = %%.17g\\n", run->model->states[i].name, (double)run->x[i]);
    for (int i = 0; i < 3; i++) printf("%%s = %%.17g\\n", run->model->inputs[i].name, (double)run->u[i]);
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("scalar", ["double", "float"])
def test_inputs_move_with_their_rates(scalar: str, tmp_path: Path) -> None:
    rated = SYSTEMS["pivot"]
    model = rated.system().compile(reproducible=True)
    folder = model.export_c(
        tmp_path / "bundle", ("dop853",), scalar, initial=rated.start, parameters=rated.numbers
    )
    main = MAIN % ", ".join(repr(rated.numbers[name]) for name in model.parameters)
    if scalar == "float":
        main = main.replace("double x0", "float x0").replace("1e-9", "1e-5f")
    (folder / "main.c").write_text(main)
    bundle = Exported(None, model, folder, "dop853")
    flags = STRICT if scalar == "double" else ()
    program = bundle.built("gcc", "-O1", *flags, sources=["main.c", *bundle.sources[1:]])
    printed = dict(line.split(" = ") for line in bundle.printed(program).splitlines())
    run = model.stepper(
        rated.start,
        rated.numbers,
        {"u": 0.1, "u_dot": 0.3, "u_ddot": 1.1},
        rtol=1e-9,
        atol=1e-9,
        method="dop853",
    )
    for i in range(20):
        if i == 10:
            run.set_inputs(u=run["u"], u_dot=run["u_dot"], u_ddot=-0.4)
        run.advance((i + 1) / 10)
    assert printed.pop("status") == "0"
    found = np.array([float(printed[name]) for name in (*model.states, *model.inputs)])
    expected = np.array([run[name] for name in (*model.states, *model.inputs)])
    if scalar == "double":
        assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(found, expected, atol=2e-4)

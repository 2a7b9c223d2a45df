"""Relays: guards on an input that jumps between two advances. Whoever advances the run, the same crossings count."""

from __future__ import annotations

import copy
import os
import pickle
import random
from collections.abc import Sequence
from ctypes import c_double
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from c_bundles import STRICT, called
from fmus import Fmu, begin, enter
from integrations import need

import chaplygin as cg

START = {"x": 0.3, "x_dot": 0, "up": 0, "up_dot": 0, "down": 0, "down_dot": 0}
PERIOD = 0.25
SIX = (1, -1, 1, 1, -1, 1)
"""The value of u in each period of the run, which starts with -1."""
RELAYS = [SIX, (-1, 2, 3, -1, -2, 1), (-1, 0, 1, 0, -1, 0), (0, -1, 0, 0, 1, -1)]
NAMES = ["six", "sizes", "by way of zero", "to zero and back"]

Counts = list[tuple[float, float]]


def counted(values: Sequence[float], before: float = -1) -> Counts:
    """How often u has risen and fallen through zero after each period. At zero it is where it came from."""
    up = down = 0
    found: Counts = []
    for value in values:
        up, down = up + (value > 0 > before), down + (value < 0 < before)
        before = value or before
        found.append((up, down))
    return found


def declared() -> Any:
    """x'' = sign(u), and counters of the events."""
    x, up, down = cg.coordinates("x up down")
    u = cg.inputs("u")
    return cg.System(
        "relay",
        coordinates=[x, up, down],
        kinetic=(cg.rate(x) ** 2 + cg.rate(up) ** 2 + cg.rate(down) ** 2) / 2,
        forces={cg.rate(x): sp.sign(u)},
        events=[
            cg.Event(u, direction=1, reset={up: up + 1}, name="rises"),
            cg.Event(u, direction=-1, reset={down: down + 1}, name="falls"),
        ],
    )


@pytest.fixture(scope="module")
def relay() -> Any:
    return declared().compile()


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def fmu(request: pytest.FixtureRequest, relay: Any, tmp_path_factory: pytest.TempPathFactory) -> Fmu:
    return Fmu.of(relay, tmp_path_factory.mktemp("relay"), request.param, initial=START, inputs={"u": -1})


PROGRAM = """#include "relay.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CG_BLOCK(memory, RELAY_RUN_SIZE);
static CG_BLOCK(other, RELAY_RUN_SIZE);
static CG_BLOCK(detector, RELAY_DETECTOR_SIZE);
static CG_BLOCK(another, RELAY_DETECTOR_SIZE);
static unsigned char saved[RELAY_RUN_SIZE], sides[RELAY_DETECTOR_SIZE];

static cg_run_t *begin(void *block, size_t size, void *watch, size_t room)
{
    static const double x0[] = {0.25, 0.0, 0.0, 0.0, 0.0, 0.0};
    cg_run_t *const run = (cg_run_t *)block;
    if (cg_run_init(run, size, &relay_model, "dop853", 0) != CG_OK) exit(1);
    run->detector = (cg_detector_t *)watch;
    if (cg_detector_init(run->detector, room, &relay_model, 0, 0) != CG_OK) exit(1);
    run->u[RELAY_U_u] = -1.0;
    if (cg_run_start(run, 0, x0, 0) != CG_OK) exit(1);
    return run;
}

int main(int n, char **values)
{
    cg_run_t *run = begin(memory, sizeof memory, detector, sizeof detector);
    cg_run_t *next = begin(other, sizeof other, another, sizeof another);
    for (int i = 1; i < n; i++) {
        run->u[RELAY_U_u] = (double)atoi(values[i]);
        cg_run_inputs_changed(run);
        if (i % 2 == 0) { /* another run goes on from here */
            cg_run_t *const before = run;
            memcpy(saved, run, run->size);
            cg_detector_save(run->detector, sides);
            run = next;
            next = before;
            if (cg_run_restore(run, saved, run->size) != CG_OK) return 1;
            if (cg_detector_restore(run->detector, sides, cg_detector_saved_size(run->detector)) != CG_OK) return 1;
        }
        if (cg_run_advance(run, CG_TIME(i, 4)) != CG_OK) return 1;
        printf("%d %d\\n", (int)run->x[RELAY_X_up], (int)run->x[RELAY_X_down]);
    }
    return 0;
}
"""


@pytest.fixture(scope="module", params=["double", "float"])
def program(request: pytest.FixtureRequest, relay: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("relay")
    relay.export_c(folder, ["dop853"], initial=START, scalar=request.param)
    text = PROGRAM if request.param == "double" else PROGRAM.replace("double", "float").replace(".0", ".0f")
    (folder / "program.c").write_text(text.replace("0.25,", "0.25f,") if request.param == "float" else text)
    sources = ["program.c", "relay.c", "cg_runtime.c"]
    command = [need("gcc"), "-std=c99", *STRICT, *(s for s in sources if (folder / s).exists())]
    called([*command, "-o", os.fspath(folder / "program"), "-lm"], folder)
    return folder / "program"


each = pytest.mark.parametrize("values", RELAYS, ids=NAMES)


def counts(y: Any) -> tuple[float, float]:
    return float(y[1]), float(y[2])


@each
def test_held_samples(relay: Any, values: Sequence[float]) -> None:
    times = PERIOD * np.arange(len(values) + 1)
    # the run starts with the value before the first jump
    sol = relay.integrate(
        (-PERIOD, times[-1]), START, inputs={"u": ([-PERIOD, *times[:-1]], [-1, *values])}, t_eval=times[1:]
    )
    expected = counted(values)
    # at a common time the sample of the period that ends is recorded, before the next jump
    assert [counts(sol.y[:, i]) for i in range(len(values))] == expected
    rises = [t for t, (a, _), (b, _) in zip(times, [(0, 0), *expected], expected) if b > a]
    assert sol.t_events[0] == pytest.approx(rises, abs=1e-14)


@each
def test_a_stepper(relay: Any, values: Sequence[float]) -> None:
    run = relay.stepper(START, inputs={"u": -1}, t0=-PERIOD)
    run.advance(0.0)
    seen: Counts = []
    for i, value in enumerate(values):
        run.set_inputs(u=value)
        before = (run["up"], run["down"])
        seen.append(counts(run.advance(PERIOD * (i + 1))))
        assert run["x_dot"] == pytest.approx(PERIOD * (np.sign(values[: i + 1]).sum() - 1), abs=1e-12)
        crossed = [name for name, a, b in zip(("rises", "falls"), before, seen[-1]) if b > a]
        assert run.events == [(PERIOD * i, name) for name in crossed]
    assert seen == counted(values)


@each
@pytest.mark.parametrize("kind", ["one advance", "restored", "copied", "pickled", "another stepper"])
def test_snapshots_keep_the_sides(relay: Any, values: Sequence[float], kind: str) -> None:
    run = relay.stepper(START, inputs={"u": -1}, t0=-PERIOD)
    run.advance(0.0)
    seen: Counts = []
    for i, value in enumerate(values):
        run.set_inputs(u=value)
        saved = run.save()
        if kind == "restored":
            run.set_inputs(u=-value)
            run.advance_by(0.1)
            run.restore(saved)
        elif kind == "copied":
            run = copy.copy(run)
        elif kind == "pickled":
            run = pickle.loads(pickle.dumps(run))
        elif kind == "another stepper":
            run = relay.stepper(START, inputs={"u": 5})
            run.restore(saved)
        seen.append(counts(run.advance(PERIOD * (i + 1))))
    assert seen == counted(values)


@each
@pytest.mark.sample(4)
def test_co_simulation(fmu: Fmu, values: Sequence[float]) -> None:
    with fmu.instance("CoSimulation") as instance:
        assert stepped(instance, fmu, values) == counted(values)


@each
def test_states_of_an_fmu_keep_the_sides(fmu: Fmu, values: Sequence[float]) -> None:
    with fmu.instance("CoSimulation") as instance, fmu.instance("CoSimulation") as other:
        assert stepped(instance, fmu, values, other) == counted(values)


def stepped(instance: Any, fmu: Fmu, values: Sequence[float], other: Any = None) -> Counts:
    """The counts after each step of Co-Simulation; with another instance, the two of them take turns."""
    seen: Counts = []
    put, get = access(instance, fmu)
    for i, value in enumerate(values):
        put(["u"], [value])
        if other is not None:
            saved = instance.getFMUState()
            put(["u"], [-value])
            instance.doStep(PERIOD * i, 0.1)
            instance.setFMUState(saved)
            assert counts([0, *get(["up", "down"])]) == (seen or [(0, 0)])[-1]
            numbers = instance.serializeFMUState(saved)
            instance.freeFMUState(saved)
            instance, other = other, instance
            put, get = access(instance, fmu)
            again = instance.deserializeFMUState(numbers)
            instance.setFMUState(again)
            instance.freeFMUState(again)
        instance.doStep(PERIOD * i, PERIOD)
        seen.append(counts([0, *get(["up", "down"])]))
    return seen


def access(instance: Any, fmu: Fmu) -> tuple[Any, Any]:
    """Functions that set and get numbers by name."""
    put, get = instance.setFloat64, instance.getFloat64
    return lambda names, values: put(fmu.references(names), values), lambda names: get(fmu.references(names))


@each
@pytest.mark.parametrize("event_mode", [False, True], ids=["jumps in Event Mode", "jumps in a step"])
@pytest.mark.sample(6)
def test_model_exchange(fmu: Fmu, values: Sequence[float], event_mode: bool) -> None:
    seen: Counts = []
    with fmu.instance("ModelExchange") as instance:
        put, get = access(instance, fmu)
        updated(instance)
        for i, value in enumerate(values):
            for k in range(5):
                instance.setTime(PERIOD * (i + k / 5))
                if k == 0 and event_mode:
                    instance.enterEventMode()
                if k == 0:
                    put(["u"], [value])
                if k == 0 and event_mode:
                    updated(instance)
                if instance.completedIntegratorStep()[0]:
                    instance.enterEventMode()
                    updated(instance)
                assert get(["der(x_dot)"]) == [np.sign(value)]
                euler(instance, fmu, PERIOD / 5)
            seen.append(counts([0, *get(["up", "down"])]))
    assert seen == counted(values)


def updated(instance: Any) -> None:
    """Updates the discrete states until nothing changes any more, and enters Continuous-Time Mode."""
    while instance.updateDiscreteStates()[0]:
        pass
    instance.enterContinuousTimeMode()


def euler(instance: Any, fmu: Fmu, h: float) -> None:
    """A step of the importer."""
    n = len(fmu.model.states)
    state, slope = (c_double * n)(), (c_double * n)()
    instance.getContinuousStates(state, n)
    instance.getContinuousStateDerivatives(slope, n)
    instance.setContinuousStates((c_double * n)(*(x + h * f for x, f in zip(state, slope))), n)


@each
@pytest.mark.sample(3)
def test_a_c_bundle_whose_runs_are_saved_and_restored(program: Path, values: Sequence[float]) -> None:
    text = called([program, "-1", *map(str, values)], program.parent)
    assert [tuple(map(float, line.split())) for line in text.splitlines()] == [(0, 0), *counted(values)]


def test_a_batch_refuses_events(relay: Any) -> None:
    with pytest.raises(cg.ArgumentError, match="events"):
        relay.batch(START, inputs={"u": -1}, n=3)


def test_random_jumps(relay: Any) -> None:
    rng = random.Random(40)
    for _ in range(100):
        values = [rng.choice((-3.0, -1e-9, 0.0, 1e-300, 1.0, 7.0)) for _ in range(12)]
        run = relay.stepper(START, inputs={"u": -1}, t0=-PERIOD)
        run.advance(0.0)
        seen: Counts = []
        for i, value in enumerate(values):
            run.set_inputs(u=value)
            seen.append(counts(run.advance(PERIOD * (i + 1))))
        assert seen == counted(values)


def test_inputs_set_before_the_first_advance_belong_to_the_start(relay: Any, fmu: Fmu) -> None:
    run = relay.stepper(START, inputs={"u": -1})
    assert run["u"] == -1
    run.set_inputs(u=1)
    assert counts(run.advance(PERIOD)) == (0, 0)
    with fmu.instance("CoSimulation", False) as instance:
        put, get = access(instance, fmu)
        enter(instance, fmu.version)
        put(["u"], [1.0])
        instance.exitInitializationMode()
        instance.doStep(0.0, PERIOD)
        assert get(["up", "down"]) == [0, 0]
        put(["u"], [-1.0])
        instance.doStep(PERIOD, PERIOD)
        assert get(["up", "down"]) == [0, 1]


def test_states_that_are_set_begin_anew(relay: Any) -> None:
    for change in ("x", "vector"):
        run = relay.stepper(START, inputs={"u": -1})
        run.advance(PERIOD)
        run.set_inputs(u=1)
        run.set_state({"x": 0.5} if change == "x" else run.y)
        assert counts(run.advance_by(PERIOD)) == (0, 0)
        run.set_state(x=0.2)
        run.set_inputs(u=-1)  # of the start that follows
        assert counts(run.advance_by(PERIOD)) == (0, 0)
        run.set_inputs(u=1)
        assert counts(run.advance_by(PERIOD)) == (1, 0)


def test_only_the_values_at_the_two_advances_count(relay: Any) -> None:
    run = relay.stepper(START, inputs={"u": -1})
    run.advance(PERIOD)
    run.set_inputs(u=1)
    run.set_inputs(u=-1)
    assert counts(run.advance_by(PERIOD)) == (0, 0)
    run.set_inputs(u=1)
    assert counts(run.advance(run.t)) == (0, 0)  # no advance
    run.set_inputs(u=-1)
    assert counts(run.advance_by(PERIOD)) == (0, 0)


def test_co_simulation_that_returns_early_handles_the_jump_in_event_mode(fmu: Fmu) -> None:
    if fmu.version == "2.0":
        pytest.skip("FMI 2.0 has no Event Mode in Co-Simulation")
    with fmu.instance("CoSimulation", False, eventModeUsed=True, earlyReturnAllowed=True) as instance:
        put, get = access(instance, fmu)
        begin(instance, fmu.version)
        instance.enterStepMode()
        seen: Counts = []
        for i, value in enumerate(SIX):
            put(["u"], [value])
            t, waited = PERIOD * i, False
            while t < PERIOD * (i + 1):
                event, _, _, t = instance.doStep(t, PERIOD * (i + 1) - t)
                if event:
                    assert t == PERIOD * i
                    waited = True
                    instance.enterEventMode()
                    instance.updateDiscreteStates()
                    instance.enterStepMode()
            seen.append(counts([0, *get(["up", "down"])]))
            assert waited == (value != ([-1, *SIX])[i])
    assert seen == counted(SIX)


# ---- with contacts, whose modes are chosen again ----


@pytest.fixture(scope="module")
def brake() -> Any:
    """A block with unit friction under the force 3 u, and a relay of u."""
    x, up = cg.coordinates("x up")
    u = cg.inputs("u")
    v = cg.rate(x)
    return cg.System(
        "brake",
        coordinates=[x, up],
        kinetic=(v**2 + cg.rate(up) ** 2) / 2,
        forces={v: 3 * u},
        contacts=[cg.Coulomb("floor", slip=v, normal=1, mu=1)],
        events=[cg.Event(u, direction=1, reset={up: up + 1}, name="rises")],
        example={x: 0, v: 0, up: 0, cg.rate(up): 0},
    ).compile()


REST = {"x": 0, "x_dot": 0, "up": 0, "up_dot": 0}
PUSHES = [
    # the input, the duration, then in closed form: place, speed, how often u has risen, the mode
    (-1, 1, -1, -2, 0, "slip-"),
    (1, 1, -1.25, 1, 1, "slip+"),  # the friction helps until the block turns
    (0, 2, -0.75, 0, 1, "stick"),
    (0.1, 1, -0.75, 0, 1, "stick"),
    (-0.3, 1, -0.75, 0, 1, "stick"),
    (1, 1, 0.25, 2, 2, "slip+"),
]


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("restored", [False, True])
def test_contacts_choose_their_modes_again_and_guards_keep_their_sides(
    brake: Any, looked: bool, restored: bool
) -> None:
    run = brake.stepper(REST, inputs={"u": 0}, rtol=1e-12, atol=1e-12)
    for value, duration, x, v, up, mode in PUSHES:
        run.set_inputs(u=value)
        if looked:
            assert isinstance(run.modes["floor"], str)  # chosen here
        if restored:
            saved = run.save()
            run.set_inputs(u=-5)
            run.advance_by(0.5)
            run.restore(saved)
        y = run.advance_by(duration)
        assert [*y[:3], run["up"]] == pytest.approx([x, up, v, up], abs=1e-10)
        assert run.modes == {"floor": mode}


def test_to_look_is_not_to_advance(brake: Any) -> None:
    run = brake.stepper(REST, inputs={"u": -1})
    assert run.modes == {"floor": "slip-"}
    run.set_inputs(u=1)  # still of the start
    assert run["up"] == run.advance_by(1.0)[1] == 0
    run.set_inputs(u=-1)
    run.advance_by(1.0)
    run.set_state(x_dot=0)
    assert run.modes == {"floor": "slip-"}
    run.set_inputs(u=1)
    assert run.modes == {"floor": "slip+"}
    assert run.advance_by(1.0)[1] == 0
    run.set_inputs(u=-1)
    run.advance_by(1.0)
    run.set_inputs(u=1)
    assert run.modes == {"floor": "slip-"}  # the friction that stops the block
    assert run.advance_by(1.0)[1] == 1

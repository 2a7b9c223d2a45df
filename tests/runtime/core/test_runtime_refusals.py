"""Arguments refused before a run by any model: errors name the argument and say what is valid."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lane_models import N, case
from runtime_models import EVENTS, model

import chaplygin as cg
from chaplygin.runtime import ArgumentError
from chaplygin.runtime.ensembles.job import EnsembleJob, Results
from chaplygin.runtime.model import lanes as lanes_of
from chaplygin.runtime.problem.given_inputs import parse
from chaplygin.runtime.problem.options import RunOptions

START, PARAMETERS, INPUTS = [1.0, 0.0], [1.0, 4.0], [0.0]
WRONG = [
    ({"paradox": "foo"}, "paradox = 'foo' must be one of 'stop', 'keep', 'stick_first'"),
    ({"paradox": None}, "paradox = None must be one of"),
    ({"paradox": np.zeros(2)}, "paradox = array.* must be one of"),
    ({"kinks": "no"}, "kinks = 'no' must be True or False"),
    ({"kinks": 0}, "kinks = 0 must be True or False"),
]


@pytest.fixture
def oscillator() -> Any:
    """The oscillator of runtime_models.c, which has no kinks, events or contacts."""
    return model("oscillator")


@pytest.mark.parametrize(("options", "says"), WRONG)
def test_options_are_looked_at_where_they_change_nothing(oscillator: Any, options: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        oscillator.integrate((0, 1), START, PARAMETERS, INPUTS, **options)
    with pytest.raises(ArgumentError, match=says):
        oscillator.stepper(START, PARAMETERS, INPUTS, **options)
    with pytest.raises(ArgumentError, match=says):
        cg.ensemble(oscillator, (0, 1), START, PARAMETERS, INPUTS, n=2, **options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"lanes": 3}, "lanes = 3 must be one of 1, 2, 4, 8, or None"),
        ({"chunk": -1}, "chunk = -1 must be a positive integer"),
        ({"threads": True}, "threads = True must be a positive integer"),
        ({"progress": "no"}, "progress = 'no' must be True or False"),
        ({"method": "vern6"}, "unknown method 'vern6'"),
        ({"n": 2**47}, "n = 140737488355328 trajectories of 2 states at 1 times do not fit into memory"),
        ({"n": None}, "n, the number of trajectories, is missing"),
        ({"n": None, "initial": {"q": [[1.0, 2.0], [1.0]], "v": 0.0}}, "initial: q is not an array of real"),
        ({"n": None, "initial": {"q": [], "v": 0.0}}, r"initial: q has shape \(0,\); one number for each"),
        (
            {"n": None, "initial": {"q": np.ones((2, 3)), "v": 0.0}},
            r"initial: q has shape \(2, 3\); one number",
        ),
        ({"n": None, "parameters": np.empty((2, 0))}, r"parameters\[0\] has shape \(0,\)"),
        ({"n": None, "inputs": {"F": "high"}}, "inputs: F = 'high' is not an array of real numbers"),
    ],
)
def test_options_of_ensembles(oscillator: Any, options: dict[str, Any], says: str) -> None:
    given = {"n": 2, "initial": START, "parameters": PARAMETERS, "inputs": INPUTS}
    with pytest.raises(ArgumentError, match=says):
        cg.ensemble(oscillator, (0, 1), **(given | options))


@pytest.mark.parametrize(
    "given",
    [
        {"initial": {"q": (1.0, 2.0, 3.0), "v": 0.0}},
        {"initial": [(1.0, 2.0, 3.0), (0.0, 0.0, 0.0)]},
        {"initial": START, "parameters": ([1.0, 1.0, 1.0], [4.0, 5.0, 6.0])},
        {"initial": START, "inputs": {"F": np.arange(3)}},
        {"initial": START, "inputs": np.zeros((1, 3))},
    ],
)
def test_any_array_gives_the_number_of_trajectories(oscillator: Any, given: dict[str, Any]) -> None:
    given = {"parameters": PARAMETERS, "inputs": INPUTS} | given
    assert len(cg.ensemble(oscillator, (0, 1), **given)) == 3
    assert len(oscillator.batch(**given)) == 3


def test_spans_and_interpolants(oscillator: Any) -> None:
    given = (START, PARAMETERS, INPUTS)
    for span in ((-1e308, 1e308), [1.5e308, -1.5e308]):
        with pytest.raises(ArgumentError, match=r"t_span = .* is too long"):
            oscillator.integrate(span, *given)
    with pytest.raises(ArgumentError, match="dense_output = 'no' must be True or False"):
        oscillator.integrate((0, 1), *given, dense_output="no")
    interpolant = model("oscillator").integrate((0, 1), *given, dense_output=True).sol
    for t in ("a", 1j, [0.5, None]):
        with pytest.raises(ArgumentError, match=r"t .*is not an array of real numbers"):
            interpolant(t)
    assert interpolant(0.5) == pytest.approx([np.cos(1), -2 * np.sin(1)], abs=1e-7)


def test_rerun_takes_the_number_of_a_trajectory(oscillator: Any) -> None:
    ens = cg.ensemble(oscillator, (0, 1), START, PARAMETERS, INPUTS, n=3)
    for i in (True, 1.0, "1", None, slice(2), np.array([1])):
        with pytest.raises(ArgumentError, match=r"rerun: i = .* must be an integer"):
            ens.rerun(i)
    assert ens.rerun(np.int64(-1)).success


def test_steppers_have_the_same_interface(oscillator: Any) -> None:
    run = oscillator.stepper(START, PARAMETERS, INPUTS)
    run.advance(1.0)
    assert (run.status, run.events, run.modes) == (0, [], {})


def test_modes_of_contacts_are_looked_at() -> None:
    block = model("block", EVENTS)
    given = (0.0, [0.0, 0.0], [1.0, 4.0, 0.3, 10.0, 0.5])
    for u, says in (
        (5, r"u has shape \(\); shape \(1,\)"),
        ([0.0, 5], "u: belt = 5; a mode is 0 .stick., 1 or -1 .slip."),
        ({"F": 0.0, "belt": 0.5}, "u: belt = 0.5; a mode is"),
        ({"F": 0.0, "belt": [1, -1, 2]}, "u: belt = 2; a mode is"),
    ):
        with pytest.raises(ArgumentError, match=says):
            block.rhs(*given, u)
        with pytest.raises(ArgumentError, match=says):
            block.evaluate(*given, u)
    assert block.rhs(*given, {"F": 0.0, "belt": [1, -1, 0]}).shape == (2, 3)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("chaplygin_sleigh", {"method": "rodas5p"}, "method 'rodas5p' does not support lanes"),
        ("chaplygin_sleigh", {"method": "auto"}, "method 'auto' does not support lanes"),
        ("sleigh with a function", {}, "there are input functions"),
        ("selects", {"kinks": True}, "kinks=True"),
    ],
)
@pytest.mark.sample(2)
def test_lanes_that_cannot_be_are_refused_and_not_built(
    monkeypatch: pytest.MonkeyPatch, name: str, options: Any, says: str
) -> None:
    given, span = case(name), (0, 0.1)
    with pytest.raises(ArgumentError, match=f"lanes = 2: {says}, so trajectories run one at a time"):
        cg.ensemble(given.model, span, *given, n=N, lanes=2, **options)
    monkeypatch.setattr(lanes_of, "WORTH", 1)
    monkeypatch.setattr(lanes_of, "_library", lambda *_: pytest.fail("a lane library was loaded needlessly"))
    for lanes in (None, 1):
        assert cg.ensemble(given.model, span, *given, n=N, lanes=lanes, **options).success


def test_kinks_of_a_model_without_any_leave_the_lanes() -> None:
    given = case("chaplygin_sleigh")
    assert not given.model.kinks
    assert cg.ensemble(given.model, (0, 0.1), *given, n=N, lanes=2, kinks=True).success


def test_reproducible_is_a_boolean() -> None:
    system = cg.example("harmonic_oscillator").system
    with pytest.raises(ArgumentError, match="reproducible = 'no' must be True or False"):
        system.compile(reproducible="no")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="reproducible = 1 must be True or False"):
        cg.compile(system.equations("lagrange"), reproducible=1)  # type: ignore[arg-type]


# ---- the compiled classes themselves, normally called through Python code ----


def core(p: list[Any], t_eval: Any = None, end: Any = None) -> Any:
    from chaplygin.runtime.core._core import EnsembleCore

    m, inputs = model("oscillator"), parse(INPUTS, ("F",), 3)
    job = EnsembleJob(
        m, (0.0, 1.0), t_eval, 3, None, None, inputs, RunOptions(method="dop853", max_steps=1000)
    )
    part = SimpleNamespace(
        job=job,
        inputs=inputs,
        x0=np.ones((2, 3)),
        start=SimpleNamespace(parameters=p, past=np.zeros((0, 1))),
        results=Results.room(2, 1, 3, 0.0),
        lane_set=0,
        atol=None,
    )
    part.results.end = end
    return EnsembleCore(m, part)


def test_the_ensemble_refuses_arrays_it_cannot_take() -> None:
    packed = np.zeros(3, dtype=[("k", "f8"), ("n", "i4")])
    for wrong in (
        packed["k"],
        np.ones(3, np.float32),
        [1.0, 2.0, 3.0],
        np.ones((3, 1)),
        np.ones(3).astype(">f8"),
    ):
        with pytest.raises(ArgumentError, match="an ensemble needs aligned arrays of float64"):
            core([np.ones(1), wrong])
    with pytest.raises(ArgumentError, match="have inconsistent shapes"):
        core([np.ones(1), np.ones(2)])
    for room in (np.ones((2, 2)), np.ones((3, 3)), np.broadcast_to(1.0, (2, 3)), np.ones(6)):
        with pytest.raises(ArgumentError, match=r"have inconsistent shapes|aligned arrays"):
            core([np.ones(1), np.ones(3)], np.array([0.5]), room)


def test_the_ensemble_hands_on_what_the_driver_refuses() -> None:
    p = [np.ones(1), np.ones(3)]
    whole = core(p, np.array([0.5]))
    whole.run([(0, 3)])
    assert whole.done == 3
    with pytest.raises(
        ArgumentError, match="the integrator refused an argument of the ensemble of oscillator"
    ):
        core(p, np.array([-0.5])).run([(0, 3)])


def test_the_stepper_counts_before_it_copies() -> None:
    from chaplygin.runtime.core._core import StepperCore

    for x0, p in ((np.ones(2), np.ones(1)), (np.ones(1), np.ones(2))):
        with pytest.raises(ArgumentError, match="vectors of all states and parameters"):
            StepperCore(model("oscillator"), 0.0, x0, p, parse(INPUTS, ("F",)), RunOptions(method="dop853"))

"""Batches and steppers with samples and noise among their inputs: each run is the stepper with its row, or its path."""

from __future__ import annotations

import copy
import functools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from lane_models import bits
from refusals import refused
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.errors import ArgumentError

N = 11
GUST = cg.noise.ou(tau=1.0, sigma=2.0, dt=0.1)
SWAY = cg.noise.filter([[0.0, 1.0], [-4.0, -0.4]], [[0.0], [1.0]], np.eye(2), dt=0.07)
NOISE = {"F": GUST, "G": SWAY[1]}
START, NUMBERS = {"x": 1.0, "x_dot": 0.0}, {"k": 3.0}
TIMES = np.array([0.2, 0.26, 0.5, 0.5, 1.1, 2.7, 3.0, 3.9])
STEPS = (0.13, 0.13, 0.0, 0.5, 0.02, 2.0, 0.26, 0.01)
"""Their ends are at samples, between them, before the first and after the last."""
WAYS = ({"lanes": 1, "threads": 1}, {"lanes": 4, "threads": 1}, {"lanes": 8, "threads": 2})
METHODS = (
    {"method": "vern9", "rtol": 1e-7},
    {"method": "rk4", "step": 0.02},
    {"method": "rk4", "step": 0.05, "at_samples": False},
)


@functools.cache
def duffing() -> Any:
    x, k, (F, G) = cg.coordinates("x"), cg.parameters("k"), cg.inputs("F G")
    v = cg.rate(x)
    system = unit_masses("duffing_in_gusts", [x], potential=k * x**4 / 4, forces={v: F + G - v / 10})
    return system.compile(reproducible=True)


def path_of(j: int, episode: int = 0) -> dict[str, Any]:
    place = {"seed": 7, "trajectory": j, "episode": episode}
    return {"F": GUST.path((0, 40), stream=0, **place), "G": SWAY[1].path((0, 40), stream=1, **place)}


def followed(run: Any, steps: Any = STEPS) -> list[Any]:
    """The states of a stepper or a batch after some steps."""
    found = [run.y.copy()]
    for dt in steps:
        run.advance_by(dt)
        found.append(run.y.copy())
    return found


@pytest.mark.parametrize("how", METHODS, ids=str)
@pytest.mark.parametrize("kind", ["zoh", "linear", "cubic"])
@pytest.mark.sample(2)
def test_each_run_is_the_stepper_with_its_row(kind: str, how: dict[str, Any]) -> None:
    times = TIMES if kind != "cubic" else np.unique(TIMES)
    rows, shared = np.random.default_rng(3).normal(size=(2, N, len(times)))
    inputs = [{"F": (times, row, kind), "G": (times, shared[0], kind)} for row in rows]
    alone = np.stack([followed(duffing().stepper(START, NUMBERS, each, **how)) for each in inputs], axis=-1)
    for way in WAYS:
        batch = duffing().batch(START, NUMBERS, {"F": (times, rows, kind), "G": inputs[0]["G"]}, **way, **how)
        assert bits(np.array(followed(batch))) == bits(alone), way
        force = [duffing().stepper(START, NUMBERS, each, t0=batch.t[0])["F"] for each in inputs]
        np.testing.assert_allclose(batch["F"], force, rtol=1e-14)
        batch.reset([2, 3])
        batch.advance(batch.t[0])
        assert bits(batch.y[:, 2]) == bits(
            duffing().stepper(START, NUMBERS, inputs[2], **how).advance(batch.t[0])
        )


@pytest.mark.parametrize("how", METHODS, ids=str)
def test_noise_goes_on_as_long_as_steppers_and_batches_do(how: dict[str, Any]) -> None:
    """As integrate has it up to the first end; each reset is followed by another path."""
    steps = (1.3, *[0.13] * 60)
    first = [followed(duffing().stepper(START, NUMBERS, path_of(j), **how), steps) for j in range(N)]
    again = [followed(duffing().stepper(START, NUMBERS, path_of(j, 1), **how), steps) for j in (4, 6)]
    run = duffing().stepper(START, NUMBERS, NOISE, seed=7, **how)
    assert bits(np.array(followed(run, steps))) == bits(np.array(first[0]))
    assert bits(duffing().integrate((0, 1.3), START, NUMBERS, NOISE, seed=7, **how).y[:, -1]) == bits(
        first[0][1]
    )
    for way in WAYS:
        batch = duffing().batch(START, NUMBERS, NOISE, n=N, seed=7, **way, **how)
        assert bits(np.array(followed(batch, steps))) == bits(np.stack(first, axis=-1)), way
        batch.reset([4, 6])
        assert bits(np.array(followed(batch, steps))[:, :, [4, 6]]) == bits(np.stack(again, axis=-1))


@pytest.mark.slow
def test_rows_whose_rates_the_equations_contain_and_numbers_that_move() -> None:
    x, R, S = cg.coordinates("x"), cg.inputs("R"), cg.inputs("S")
    v = cg.rate(x)
    model = unit_masses(
        "on_a_moving_stand", [x], potential=x**2, forces={v: -cg.rate(cg.rate(R)) + cg.rate(S)}
    ).compile(reproducible=True)
    times = np.linspace(0, 3, 13)
    rows = np.random.default_rng(5).normal(size=(N, 13))
    numbers = {"S": np.linspace(0, 1, N), "S_dot": np.linspace(-1, 1, N)}
    start = {"x": 0.0, "x_dot": 0.0}
    alone = [
        model.stepper(
            start, None, {"R": (times, rows[j], "cubic"), **{n: float(v[j]) for n, v in numbers.items()}}
        )
        for j in range(N)
    ]
    expected = np.stack([followed(run, (0.25, 0.6, 1.1)) for run in alone], axis=-1)
    for way in WAYS:
        batch = model.batch(start, None, {"R": (times, rows, "cubic"), **numbers}, **way)
        assert bits(np.array(followed(batch, (0.25, 0.6, 1.1)))) == bits(expected), way
        np.testing.assert_allclose(batch["S"], numbers["S"] + 1.95 * numbers["S_dot"], rtol=1e-13)
        for name in ("R_dot", "R_ddot"):
            np.testing.assert_allclose(batch[name], [run[name] for run in alone], rtol=1e-12, atol=1e-12)


def test_snapshots_and_copies_have_the_rows_and_paths_of_their_runs() -> None:
    rows = np.random.default_rng(4).normal(size=(N, len(TIMES)))
    for inputs in ({"F": (TIMES, rows), "G": GUST}, NOISE):
        batch = duffing().batch(START, NUMBERS, inputs, n=N, seed=7, lanes=4)
        batch.advance(0.7)
        batch.reset([2, 5])
        batch.advance_by(0.6)
        saved, other = pickle.loads(pickle.dumps(batch.save())), pickle.loads(pickle.dumps(batch))
        third, one = copy.copy(batch), batch.save([2])
        batch.reset([2, 3])
        batch.advance_by(2.0)
        third.reset(np.arange(N))
        other.advance_by(2.0)
        batch.restore(saved)
        batch.restore(one, [8])
        batch.advance_by(2.0)
        assert bits(batch.y[:, :8]) == bits(other.y[:, :8])
        assert bits(batch.y[:, 8]) == bits(other.y[:, 2])
        batch.restore(saved)  # with its own row again
        batch.advance_by(2.0)
        assert bits(batch.y) == bits(other.y)
        with pytest.raises(ArgumentError, match="other samples or noise"):
            duffing().batch(START, NUMBERS, {"F": (TIMES, 2 * rows), "G": GUST}, n=N, seed=7).restore(saved)


def test_a_stepper_with_noise_is_saved_and_copied() -> None:
    run = duffing().stepper(START, NUMBERS, NOISE, seed=7)
    run.advance(2.0)
    saved, other = pickle.loads(pickle.dumps(run.save())), pickle.loads(pickle.dumps(run))
    expected = bits(run.advance(30.0))
    assert bits(other.advance(30.0)) == expected
    run.restore(saved)
    assert bits(copy.deepcopy(run).advance(30.0)) == bits(run.advance(30.0)) == expected
    run.restore(saved)
    run.set_inputs(G=0.5)
    held = duffing().stepper(START, NUMBERS, path_of(0))
    held.advance(2.0)
    held.set_inputs(G=0.5)
    assert bits(run.advance(9.0)) == bits(held.advance(9.0))
    refused("F is noise from t = 0 on, and t = -1 is before", run.advance, -1.0)


def test_sensitivities_go_along_rows_and_paths() -> None:
    asked = {"sensitivities": ["k", "x"]}
    batch = duffing().batch(START, NUMBERS, NOISE, n=3, seed=7, **asked)
    for j in range(3):
        run = duffing().stepper(START, NUMBERS, path_of(j), **asked)
        for t in (1.0, 1.9):
            batch.advance(max(t, batch.t[0]))
            run.advance(t)
        assert batch.sensitivity["x", "k"][j] == run.sensitivity["x", "k"]
    h = 1e-5
    ends = [duffing().stepper(START, {"k": 3 + s}, path_of(2)).advance(1.9)[0] for s in (-h, h)]
    assert batch.sensitivity["x", "k"][2] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-5)


def test_gusts_whose_altitude_is_a_function_ask_for_no_time_beyond_the_next_step() -> None:
    asked: list[float] = []

    def altitude(t: float) -> float:
        asked.append(t)
        return 20.0 + t

    gust = cg.noise.dryden(altitude, 30.0, dt=0.1, wind=8.0)[0]
    batch = duffing().batch(START, NUMBERS, {"F": gust}, n=2, seed=7)
    run = duffing().stepper(START, NUMBERS, {"F": gust}, seed=7)
    for t in (0.5, 3.0, 7.25):
        batch.advance(t)
        assert bits(batch.y[:, 0]) == bits(run.advance(t))
        assert max(asked) < t + 0.1 + 1e-9


def test_a_law_that_fails_leaves_a_batch_as_it_was() -> None:
    """Its paths are those of before, also after a reset."""

    def altitude(t: float) -> float:
        if t > 5:
            raise ValueError("no altitude")
        return 100.0

    inputs = {"F": GUST, "G": cg.noise.dryden(altitude, 30.0, dt=0.1, wind=8.0)[0]}
    batch, other = (duffing().batch(START, NUMBERS, inputs, n=2, seed=7) for _ in range(2))
    batch.advance(2.0)
    other.advance(2.0)
    refused("no altitude", batch.advance, 9.0, error=ValueError)
    for each in (batch, other):
        each.reset([0, 1])
        each.advance_by(1.5)
    assert bits(batch.y) == bits(other.y)


def test_what_is_refused() -> None:
    batch = duffing().batch(START, NUMBERS, {"F": (TIMES, TIMES), "G": GUST}, n=2, seed=7)
    before = batch.y.copy()
    refused("F follows the samples that this batch was made with", batch.set_inputs, F=1.0)
    refused("G follows the samples", batch.advance_by, 0.1, inputs={"G": np.ones(2)})
    refused("x = nan is not finite", batch.reset, [0], {"x": math.nan})
    batch.advance(0.7)
    other = duffing().batch(START, NUMBERS, {"F": (TIMES, TIMES), "G": GUST}, n=2, seed=7)
    other.advance(0.7)
    assert bits(batch.y) == bits(other.y) != bits(before)
    for inputs, message in (
        ({"F": (TIMES, np.ones((3, len(TIMES))))}, r"or \(2, 8\) with a row for each trajectory"),
        ({"F": ([0, 1], [[1, 2], [1, math.nan]])}, "F of trajectory 1 is nan at t = 1"),
        ({"F": ([1, 0], [[1, 2], [1, 2]])}, "must not decrease"),
        ({"F": lambda t: t}, "F is a function of time; a batch takes samples, noise, and numbers"),
        ({"H": GUST}, "H"),
    ):
        refused(message, duffing().batch, START, NUMBERS, inputs, n=2)
    with pytest.raises(ArgumentError, match=r"F is noise.*draws no path"):
        duffing().stepper(START, NUMBERS).set_inputs(F=GUST)
    refused(r"seed = 1\.5 must be", duffing().stepper, START, NUMBERS, NOISE, seed=1.5)

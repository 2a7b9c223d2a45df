"""An ensemble as a job: picklable, run in any ranges, by any executor, with the same bits."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lane_models import assert_same, shipped
from runtime_models import hybrid, model

import chaplygin as cg
from chaplygin.runtime.ensembles import executors
from chaplygin.runtime.ensembles.job import EnsembleJob, EnsemblePart, Results
from chaplygin.runtime.problem.options import RunOptions

N = 13
CUTS = (0, 5, 6, N)


class Pieces:
    """The simplest executor: ranges one after another, in a given order."""

    def __init__(self, order: Sequence[int]) -> None:
        self.order = order

    def run(self, part: EnsemblePart, report: Callable[[int], None]) -> bool:
        for i in self.order:
            part.results.put(CUTS[i], part.job.run(CUTS[i], CUTS[i + 1]))
            report(CUTS[i + 1])
        return False


def run_elsewhere(text: bytes, first: int, last: int) -> tuple[int, Results]:
    job = pickle.loads(text)
    return os.getpid(), job.run(first, last)


class Processes:
    """Two halves in two new processes, which get the job as bytes."""

    def run(self, part: EnsemblePart, report: Callable[[int], None]) -> bool:
        text, half = pickle.dumps(part.job), part.count // 2
        self.ids = []
        for first, last in ((0, half), (half, part.count)):
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, context) as pool:
                process, found = pool.submit(run_elsewhere, text, first, last).result(timeout=120)
            self.ids.append(process)
            part.results.put(first, found)
        return False


def torque(t: float, y: Any) -> float:
    return 0.1 * float(np.cos(t + y[0]))


def job(m: Any, given: Sequence[Any], **options: Any) -> EnsembleJob:
    return EnsembleJob.of(m, (0.0, 2.0), N, *given, None, None, RunOptions(**options))


def sleigh(tau: Any = None) -> list[Any]:
    omega, J = np.linspace(-1, 1, N), np.linspace(0.4, 0.6, N)
    start = {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": omega, "v": 1.0}
    return [start, {"m": 1.0, "a": 0.2, "J": J}, {"tau": np.linspace(0, 1, N) if tau is None else tau}]


def cases() -> dict[str, Any]:
    """Models with everything that depends on the number of a trajectory, or that a start computes."""
    top = cg.example("heavy_top")
    w = np.linspace(1.0, 3.0, N)
    return {
        "inputs by trajectory": (model("sleigh"), sleigh(), {}),
        "input function": (model("sleigh"), sleigh(torque), {"method": "tsit5"}),
        "samples": (
            model("sleigh"),
            sleigh(([0.0, 1.0, 2.0], [0.0, 1.0, 0.5], "linear")),
            {"method": "vern7"},
        ),
        "vectors": (
            model("sleigh"),
            [[0, 0, 0, 1, 1], np.vstack([np.ones(N), np.full(N, 0.2), np.linspace(0.4, 0.6, N)]), [0.1]],
            {"method": "rk4", "step": 0.01},
        ),
        "tolerances by state": (
            shipped("heavy_top"),
            [{**top.initial, "w3": w}, top.parameters, None],
            {"rtol": 1e-6, "atol": dict.fromkeys(shipped("heavy_top").states, 1e-8), "max_step": 0.5},
        ),
        "events": (
            hybrid("spring"),
            [{"x": 1.0, "v": 0.0}, {"w": w, "level": 0.5, "stop": 0.0}, None],
            {},
        ),
    }


@pytest.fixture(params=cases())
def case(request: pytest.FixtureRequest) -> Any:
    return cases()[request.param]


@pytest.mark.parametrize("t_eval", [None, [0.5, 1.0, 2.0]])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_ranges_in_any_order_have_the_bits_of_the_whole(case: Any, t_eval: Any, order: Any) -> None:
    m, given, options = case
    whole = cg.ensemble(m, (0.0, 2.0), *given, n=N, t_eval=t_eval, **options)
    parts = cg.ensemble(m, (0.0, 2.0), *given, n=N, t_eval=t_eval, executor=Pieces(order), **options)
    assert_same(whole, parts)
    assert parts.lanes in (1, whole.lanes)
    for name, times in whole.t_events.items():
        assert np.array_equal(times.t, parts.t_events[name].t)
        assert np.array_equal(times.offsets, parts.t_events[name].offsets)
    assert bool(whole.t_events) == bool(m.events)
    assert np.array_equal(whole.rerun(7).y, parts.rerun(7).y)


@pytest.mark.parametrize(
    ("name", "form", "varied"), [("heavy_top", "chetaev", "w3"), ("gyrostat", "routh", "eta4")]
)
def test_starts_that_are_computed_have_the_same_bits_in_any_range(name: str, form: str, varied: str) -> None:
    """Momenta, and a cyclic momentum that is a parameter, follow from declared velocities."""
    entry = cg.example(name)
    m = entry.system.compile(form, **entry.options.get(form, {}))
    assert m.has_initial
    start = {**entry.initial, varied: entry.initial[varied] + np.linspace(0, 0.1, N)}
    whole = cg.ensemble(m, (0.0, 1.0), start, entry.parameters, n=N)
    parts = cg.ensemble(m, (0.0, 1.0), start, entry.parameters, n=N, executor=Pieces((1, 2, 0)))
    assert_same(whole, parts)
    assert all(np.array_equal(whole.parameters[n], parts.parameters[n]) for n in m.parameters)


def test_two_processes_run_the_halves_of_a_pickled_job() -> None:
    """The model travels as the path of its module, the input function as its name."""
    entry = cg.example("chaplygin_sleigh")
    m = shipped("chaplygin_sleigh")
    given = [
        {n: entry.initial[n] for n in m.states},
        {**entry.parameters, "k": np.linspace(0.4, 0.6, N)},
        None,
    ]
    driven = cg.example("harmonic_oscillator", driven=True).system.compile(wait=True)
    other = [{"x": np.linspace(-1, 1, N), "x_dot": 0.0}, {"m": 1.0, "k": 4.0}, {"F": torque}]
    for found, arguments in ((m, given), (driven, other)):
        processes = Processes()
        whole, parts = (
            cg.ensemble(found, (0.0, 2.0), *arguments, n=N, method="vern9", rtol=1e-11, executor=executor)
            for executor in (None, processes)
        )
        assert_same(whole, parts)
        assert len({os.getpid(), *processes.ids}) == 3


def test_a_job_does_not_carry_the_code_of_its_model() -> None:
    m = shipped("chaplygin_sleigh")
    text = pickle.dumps(job(m, [[0, 0, 0, 1, 1], [1, 0.2, 0.5], None]))
    assert len(text) < 5000
    assert Path(m.owner.__file__).name.encode() in text


def test_one_piece_of_work_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes, and however many threads are allowed: there is nothing that they could do."""
    monkeypatch.setattr(executors.threading, "Thread", lambda **_: pytest.fail("a thread was started"))
    before = threading.active_count()
    start, parameters, inputs = sleigh()
    one = [{**start, "omega": 1.0}, {**parameters, "J": 0.5}, {"tau": 0.1}]
    assert cg.ensemble(model("sleigh"), (0, 3000), *one, n=1, threads=4).success
    assert cg.ensemble(model("sleigh"), (0, 300), start, parameters, inputs, n=N, threads=4, chunk=N).success
    assert threading.active_count() == before


def test_threads_belong_to_the_executor_that_uses_them() -> None:
    for options in ({"threads": 2}, {"chunk": 3}):
        with pytest.raises(
            cg.ArgumentError, match="threads and chunk are not for a run with its own executor"
        ):
            cg.ensemble(model("sleigh"), (0, 1), *sleigh(), n=N, executor=Pieces((0, 1, 2)), **options)


def test_an_error_in_another_place_comes_through() -> None:
    def broken(t: float, y: Any) -> float:
        raise ValueError("no signal")

    with pytest.raises(ValueError, match="no signal"):
        job(model("sleigh"), sleigh(broken)).run(3, 5)
    with pytest.raises(cg.ArgumentError, match="unknown method"):
        job(model("sleigh"), sleigh(), method="dop8")

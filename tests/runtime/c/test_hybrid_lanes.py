"""Random hybrid systems: their ensembles have every bit of single runs, whatever lanes, threads, chunks and order."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hybrid_systems import CALLED, IMPLICIT, METHODS, Hybrid, N, built, hybrid
from lane_models import Case, assert_single, bits
from runtime_models import needs_core
from test_lanes import LANES

import chaplygin as cg
from chaplygin.errors import KernelError

pytestmark = [
    needs_core,
    pytest.mark.skipif(os.name == "nt", reason="lanes need the vector types of GCC or Clang"),
    pytest.mark.skipif(not LANES, reason="this CPU has no lanes"),
]


def picked(case: Case, order: np.ndarray) -> Case:
    """The trajectories of a case in another order."""
    parts = [
        {k: v[order] if isinstance(v, np.ndarray) else v for k, v in part.items()}
        for part in (case.initial, case.parameters, case.inputs)
    ]
    return dataclasses.replace(case, initial=parts[0], parameters=parts[1], inputs=parts[2])


def ways(seed: int, widths: list[int]) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    """Orders of the trajectories, and lanes, threads and chunks in which to run them."""
    rng = np.random.default_rng(seed)
    for lanes, threads in itertools.product((1, *widths), (1, 2)):
        for chunk in (None, int(rng.choice([7, rng.integers(1, 2 * lanes + 1)]))):
            order = np.arange(N) if chunk is None and threads == 1 else rng.permutation(N)
            yield order, {"lanes": lanes, "threads": threads, "chunk": chunk}


def assert_same(one: Any, other: Any, order: np.ndarray, what: str) -> None:
    """Trajectory i of `other` is trajectory order[i] of `one`, in every bit, count and event."""
    for name in ("y", "t", "status", "nfev", "n_steps"):
        a, b = getattr(one, name)[..., order], getattr(other, name)
        if bits(a) != bits(b):
            apart = [int(i) for i in range(N) if bits(a[..., i]) != bits(b[..., i])]
            raise AssertionError(f"{what}: {name} of {apart}, status {one.status[order][apart]}")
    for name in one.t_events:
        for i, j in enumerate(order):
            assert bits(one.t_events[name][int(j)]) == bits(other.t_events[name][i]), (what, name)


def check(seed: int, folder: Path, widths: list[int]) -> tuple[Hybrid, int, set[int]]:
    """Run the system of a seed in every way, in lanes of these widths; the result has the events found and statuses."""
    given = hybrid(seed)
    model = built(given.system, folder, widths, given.form, given.taylor, CALLED)
    case = dataclasses.replace(given.case, model=model)
    found, statuses = 0, set()
    for m, method in enumerate([*METHODS, *(["taylor"] if given.taylor else []), *IMPLICIT]):
        beside = [] if method in IMPLICIT else widths
        options = {**given.options, "method": method}
        if method == "rk4":
            options = {k: v for k, v in options.items() if k not in ("rtol", "atol", "max_step")}
            options["step"] = given.step
        times = given.times if (seed + m) % 3 else None
        alone = cg.ensemble(model, given.span, *case, n=N, t_eval=times, lanes=1, threads=1, **options)
        for order, way in ways(seed + m, beside):
            mine = picked(case, order)
            other = cg.ensemble(model, given.span, *mine, n=N, t_eval=times, **way, **options)
            assert other.lanes == way["lanes"]
            assert_same(alone, other, order, f"{method}, {way}, {options}")
        for i in (0, 7 + m, N - 1):
            assert_single(alone, case, i, given.span, **options)
        if given.kind == "rough" and beside:
            check_batch(given, case, beside, options, seed)
        found += sum(len(times.t) for times in alone.t_events.values())
        statuses |= set(alone.status.tolist())
    return given, found, statuses


def check_batch(given: Hybrid, case: Case, widths: list[int], options: dict[str, Any], seed: int) -> None:
    """The runs of batches are those of steppers, through changes of their inputs."""
    rng = np.random.default_rng(seed)
    if given.kind == "loop" and options.get("project") == "all":
        return  # refused
    pushes = rng.uniform(-0.5, 0.5, (4, N))
    start = case.initial, case.parameters, {"push": pushes[0]}
    columns = [picked(case, np.array([i])) for i in range(N)]
    runs = [
        case.model.stepper(
            {k: float(np.ravel(v)[0]) for k, v in c.initial.items()},
            {k: float(np.ravel(v)[0]) for k, v in c.parameters.items()},
            {"push": pushes[0, i]},
            **options,
        )
        for i, c in enumerate(columns)
    ]
    batches = [case.model.batch(*start, n=N, lanes=k, threads=1 + k % 3 % 2, **options) for k in (1, *widths)]
    for turn, dt in enumerate((0.4, 0.01, 1.1, 0.3)):
        for i, run in enumerate(runs):
            run.set_inputs(push=pushes[turn, i])
            if run.status == 0:
                with suppress(KernelError):
                    run.advance_by(dt)
        for batch in batches:
            batch.advance_by(dt, inputs={"push": pushes[turn]})
            for name, alone in (("status", [r.status for r in runs]), ("t", [r.t for r in runs])):
                assert getattr(batch, name).tolist() == alone, (name, batch.lanes, turn)
            assert bits(batch.y) == bits(np.array([run.y for run in runs]).T), (batch.lanes, turn)


@pytest.mark.parametrize("seed", [2, 5, 13])
def test_an_ensemble_of_a_random_hybrid_system_has_the_bits_of_single_runs(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path, [LANES[seed % len(LANES)]])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_lanes_of_all_widths_have_the_bits_of_single_runs(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path, LANES)


def test_a_repeated_step_that_is_shortened_again_is_searched_on_its_own_stages(tmp_path: Path) -> None:
    """Steps across a jump are rejected again when they are repeated up to an event."""
    x, v, k = cg.coordinates("x"), cg.velocities("v"), cg.parameters("k", positive=True)
    system = cg.System(
        "shortened",
        kinematics={x: v},
        kinetic=v**2 / 2,
        potential=k * x**2 / 2,
        forces={v: sp.sign(v) - v},
        events=[cg.Event(x + v, reset={v: -v})],
    )
    model = built(system, tmp_path, LANES[:1])
    x0, v0 = np.random.default_rng(0).uniform(-1.5, 1.5, (2, 64))
    given = model, (0, 20), {"x": x0, "v": v0}, {"k": 2.0}
    options = {"method": "tsit5", "rtol": 1e-3, "atol": 1e-3, "t_eval": np.linspace(0, 20, 60)}
    alone, beside = (cg.ensemble(*given, lanes=lanes, **options) for lanes in (1, LANES[0]))
    assert bits(alone.y) == bits(beside.y)
    assert bits(alone.t_events["event_1"].t) == bits(beside.t_events["event_1"].t)
    for spent in range(2, 40):  # wherever the steps run out
        options["max_steps"] = spent
        alone, beside = (cg.ensemble(*given, lanes=lanes, **options) for lanes in (1, LANES[0]))
        assert bits(alone.t) == bits(beside.t), spent

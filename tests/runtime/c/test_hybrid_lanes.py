"""Random hybrid systems: their ensembles have every bit of single runs, whatever lanes, threads, chunks and order."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hybrid_systems import CALLED, IMPLICIT, METHODS, Hybrid, N, built, driven_case, hybrid
from lane_models import Case, assert_single, bits, some_rows
from scipy.interpolate import CubicSpline
from test_lanes import LANES

import chaplygin as cg
from chaplygin.errors import ArgumentError, KernelError
from chaplygin.runtime.problem.given_inputs import parse

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="lanes need the vector types of GCC or Clang"),
    pytest.mark.skipif(not LANES, reason="this CPU has no lanes"),
]


def picked(case: Case, order: np.ndarray) -> Case:
    """The trajectories of a case in another order."""
    parts = [
        {k: v[order] if isinstance(v, np.ndarray) else some_rows(v, order) for k, v in part.items()}
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


def permitted(case: Case, t0: float) -> np.ndarray:
    """The trajectories that can start: contacts in which friction does not hold the slip are refused."""
    starts = []
    for i in range(N):
        try:
            case.model.integrate((t0, t0), *case.column(i))
            starts.append(i)
        except ArgumentError as error:
            if "friction" not in str(error):
                raise
    return np.array(starts, dtype=int)


def check(seed: int, folder: Path, widths: list[int], turns: int = 0, methods: Sequence[str] = ()) -> int:
    """Run the system of a seed in every way, in lanes of these widths; the number of ensembles in lanes.

    With turns it is driven, by inputs of other kinds in each.
    """
    given = hybrid(seed, driven=turns > 0)
    model = built(given.system, folder, widths, given.form, given.taylor, CALLED)
    cases = [driven_case(given, model, turn) for turn in range(turns)]
    cases = cases or [dataclasses.replace(given.case, model=model)]
    starts = [permitted(case, given.span[0]) for case in cases]
    if not any(found.size for found in starts):
        pytest.skip("a force that jumps with the slip exceeds friction in every start")
    in_lanes = 0
    methods = methods or [*METHODS, *(["taylor"] if given.taylor else []), *IMPLICIT]
    for (turn, case), (m, method) in itertools.product(enumerate(cases), enumerate(methods)):
        if not starts[turn].size:
            continue
        case, draw = picked(case, np.resize(starts[turn], N)), seed + (turn if turns else m)
        kinks = (
            turns > 0 and given.kind != "loop" and draw % 4 == 0
        )  # these run one at a time, as functions do
        called = kinks or bool(parse(case.inputs, model.inputs, N, model._input_flags).functions)
        beside = [] if called or method in IMPLICIT else widths
        options = {
            **given.options,
            "method": method,
            "kinks": kinks,
            **({"max_steps": 2000} if turns else {}),
        }
        if method == "rk4":
            options = {k: v for k, v in options.items() if k not in ("rtol", "atol", "max_step")}
            options["step"] = given.step
        times = given.times if draw % 3 else None
        alone = cg.ensemble(model, given.span, *case, n=N, t_eval=times, lanes=1, threads=1, **options)
        for order, way in list(ways(draw, beside))[3 if turns else 0 :]:
            mine = picked(case, order)
            other = cg.ensemble(model, given.span, *mine, n=N, t_eval=times, **way, **options)
            assert other.lanes == way["lanes"]
            assert_same(alone, other, order, f"turn {turn}, {method}, {way}, {options}")
        for i in (turn, N - 1) if turns else (0, 7 + m, N - 1):
            assert_single(alone, case, i, given.span, **options)
        if given.kind == "rough" and not kinks and method not in IMPLICIT:
            check_batch(given, case, widths, options, draw if turns else seed)
        in_lanes += bool(beside)
    return in_lanes


def check_batch(given: Hybrid, case: Case, widths: list[int], options: dict[str, Any], seed: int) -> None:
    """The runs of batches are those of steppers, through changes of their inputs."""
    rng = np.random.default_rng(seed)
    if given.kind == "loop" and options.get("project") == "all":
        return  # refused
    inputs = case.model.inputs  # the rates of others too
    pushes = [dict(zip(inputs, rows, strict=True)) for rows in rng.uniform(-0.5, 0.5, (4, len(inputs), N))]
    start = case.initial, case.parameters, pushes[0]
    columns = [picked(case, np.array([i])) for i in range(N)]
    runs = [
        case.model.stepper(
            {k: float(np.ravel(v)[0]) for k, v in c.initial.items()},
            {k: float(np.ravel(v)[0]) for k, v in c.parameters.items()},
            {name: values[i] for name, values in pushes[0].items()},
            **options,
        )
        for i, c in enumerate(columns)
    ]
    batches = [case.model.batch(*start, n=N, lanes=k, threads=1 + k % 3 % 2, **options) for k in (1, *widths)]
    for turn, dt in enumerate((0.4, 0.01, 1.1, 0.3)):
        for i, run in enumerate(runs):
            run.set_inputs({name: values[i] for name, values in pushes[turn].items()})
            if run.status == 0:
                with suppress(KernelError):
                    run.advance_by(dt)
        for batch in batches:
            batch.advance_by(dt, inputs=pushes[turn])
            for name, alone in (("status", [r.status for r in runs]), ("t", [r.t for r in runs])):
                assert getattr(batch, name).tolist() == alone, (name, batch.lanes, turn)
            assert bits(batch.y) == bits(np.array([run.y for run in runs]).T), (batch.lanes, turn)


@pytest.mark.parametrize("seed", [2, 5, 13])
@pytest.mark.sample(1)
def test_an_ensemble_of_a_random_hybrid_system_has_the_bits_of_single_runs(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path, [LANES[seed % len(LANES)]])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_lanes_of_all_widths_have_the_bits_of_single_runs(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path, LANES)


@pytest.mark.parametrize("seed", [8, 9])
@pytest.mark.sample(1)
def test_an_ensemble_has_the_bits_of_single_runs_with_inputs_in_every_place(
    seed: int, tmp_path: Path
) -> None:
    assert check(seed, tmp_path, [LANES[seed % len(LANES)]], 2, METHODS[:2])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_lanes_of_all_widths_have_these_bits_with_inputs_in_every_place(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path, LANES, 4, METHODS)


BELT = np.arange(4.0), np.array([0, 0.5, -0.2, 0.3])


def test_a_belt_carries_the_blocks_on_it_past_those_that_slip(tmp_path: Path) -> None:
    """Blocks that stick move as far as the belt.

    A search in the step of another block, or for an event that the time passes in a direction that does not count,
    leaves no trace.
    """
    y, belt = cg.coordinates("y"), cg.inputs("belt")
    a, n = cg.parameters("a"), 61
    system = cg.System(
        "carried",
        coordinates=[y],
        kinetic=cg.rate(y) ** 2 / 2,
        potential=y**2 / 2,
        events=[cg.Event(a - cg.time, direction=1)],
        contacts=[cg.Coulomb("k", slip=cg.rate(y) - belt, normal=10, mu=5)],
        example={y: 0, belt: 0},
    )
    model = built(system, tmp_path, LANES, level=CALLED)
    speed, rate = np.random.default_rng(3).uniform(-0.3, 0.3, (2, n))
    slips, late = np.arange(n) % 2, np.linspace(0.3, 2.9, n)
    ways: tuple[tuple[dict[str, Any], Any, Any], ...] = (
        ({"belt": (*BELT, "linear")}, 0.0, 0.45),
        ({"belt": (*BELT, "cubic")}, 0.0, float(CubicSpline(*BELT).integrate(0, 3))),
        ({"belt": speed, "belt_dot": rate}, speed, (3 * speed + 4.5 * rate)[::2]),
    )
    for (inputs, sticks, moved), method in itertools.product(ways, METHODS):
        given = {"y": 0.0, "y_dot": np.where(slips, 2 + late, sticks)}, {"a": late}, inputs
        options = {"method": method, **({"step": 0.3} if method == "rk4" else {})}
        alone = cg.ensemble(model, (0, 3), *given, lanes=1, **options)
        assert alone["y"][::2] == pytest.approx(moved, abs=1e-13)
        for lanes in LANES:
            beside = cg.ensemble(model, (0, 3), *given, lanes=lanes, **options)
            assert beside.lanes == lanes
            assert bits(alone.y) == bits(beside.y)


def test_a_lane_that_runs_into_a_singularity_ends_as_alone(tmp_path: Path) -> None:
    """At velocities of 4e13 a crossing is found four spacings of the time from the end of its step."""
    given = hybrid(180)
    model = built(given.system, tmp_path, LANES[:1], given.form, level=CALLED)
    case = dataclasses.replace(given.case, model=model)
    options = {**given.options, "method": "vern9"}
    alone, beside = (
        cg.ensemble(model, given.span, *case, n=N, lanes=lanes, threads=1, **options)
        for lanes in (1, LANES[0])
    )
    assert_same(alone, beside, np.arange(N), "vern9")


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

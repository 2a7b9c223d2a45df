"""Ensembles of many trajectories with events, recorded at many times: each has every bit of a single run.

The events of all lanes are kept in one buffer, which pauses them whenever it is full. `make test-sanitized` looks at
each access to it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_runtime import BASE, SANITIZERS, SOURCES, STRICT, run, runtime_objects
from hybrid_systems import CALLED, KINDS, built, hybrid
from integrations import need
from lane_models import Case, assert_same, assert_single, bits
from test_lanes import LANES

import chaplygin as cg
from chaplygin.codegen.emit.targets import emit

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="lanes need the vector types of GCC or Clang"),
    pytest.mark.skipif(not LANES, reason="this CPU has no lanes"),
]
TIMES = 400
SEEDS = [seed for seed in range(40) if KINDS[seed % len(KINDS)] in ("events", "both", "coincident")][:19]


def balls() -> cg.System:
    y, e = cg.coordinates("y"), cg.parameters("e")
    w = cg.rate(y)
    floor = cg.Event(y, direction=-1, reset={w: -e * w}, name="floor")
    return cg.System("balls", coordinates=[y], kinetic=w**2 / 2, potential=9.81 * y, events=[floor])


def crowded(seed: int | None, n: int, folder: Path, widths: list[int]) -> tuple[Case, float, dict[str, Any]]:
    """n trajectories of a random system, or of the ball; the end of the run; its options."""
    rng = np.random.default_rng(0 if seed is None else seed)
    if seed is None:
        model = built(balls(), folder, widths, level=CALLED)
        return Case(model, {"y": rng.uniform(0.5, 2, n), "y_dot": 0.0}, {"e": 0.9}), 10.0, {}
    given = hybrid(seed)
    model = built(given.system, folder, widths, given.form, level=CALLED)

    def many(values: dict[str, Any]) -> dict[str, Any]:
        return {
            name: rng.choice(value, n) + rng.normal(0, 0.02, n) * (rng.random(n) < 0.8)
            if isinstance(value, np.ndarray)
            else value
            for name, value in values.items()
        }

    case = Case(model, many(given.case.initial), given.case.parameters, {"push": 0.1})
    if isinstance(case.parameters["k"], np.ndarray):
        case.parameters["k"] = rng.uniform(0.5, 6, n)
    return case, 5.0, {**given.options, "max_steps": 2000, "max_step": np.inf}


def check(seed: int | None, n: int, folder: Path, widths: list[int]) -> int:
    """Run an ensemble and a study beside one another, alone and on two threads; the result has the events found."""
    case, end, options = crowded(seed, n, folder, widths)
    options["method"] = ("dop853", "tsit5", "vern7")[(seed or 0) % 3]
    times = np.linspace(0, end, TIMES)
    span = (0.0, end)
    alone = cg.ensemble(case.model, span, *case, n=n, t_eval=times, lanes=1, threads=1, **options)
    name, state = next(iter(alone.t_events)), case.model.states[0]
    collect = {"all": cg.events(name), "half": cg.quantiles(state, [0.1, 0.5], at=times)}
    given = {"n": n, "collect": collect, "on_failure": "nan", **options}
    study = cg.study(case.model, span, *case, lanes=1, threads=1, **given)
    kept = alone.ok[alone.t_events[name].trajectory]  # a study leaves failures out
    assert bits(study.results["all"].t) == bits(alone.t_events[name].t[kept])
    for width in widths:
        for threads in (1, 2):
            how = {"lanes": width, "threads": threads}
            beside = cg.ensemble(case.model, span, *case, n=n, t_eval=times, **how, **options)
            assert beside.lanes == width
            assert_same(alone, beside)
            for event, found in alone.t_events.items():
                assert bits(found.t) == bits(beside.t_events[event].t)
                assert np.array_equal(found.trajectory, beside.t_events[event].trajectory)
        other = cg.study(case.model, span, *case, lanes=width, threads=2, **given)
        assert bits(other.results["all"].t) == bits(study.results["all"].t)
        assert bits(other.results["half"].values) == bits(study.results["half"].values)
    for i in (0, n // 3, n - 1):
        assert_single(alone, case, i, span, **options)
        single = case.model.integrate(span, *case.column(i), t_eval=times, **options)
        for m, event in enumerate(alone.t_events):
            assert bits(single.t_events[m]) == bits(alone.t_events[event][i])
    return sum(len(found.t) for found in alone.t_events.values())


@pytest.mark.slow
def test_balls_bounce_beside_one_another(tmp_path: Path) -> None:
    assert check(None, 300, tmp_path, LANES[:1]) > 30_000


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 700, 2000])
@pytest.mark.parametrize("seed", [None, *SEEDS])
def test_crowded_ensembles_have_the_bits_of_single_runs(seed: int | None, n: int, tmp_path: Path) -> None:
    check(seed, n, tmp_path, LANES)


@pytest.mark.parametrize(
    "flags",
    [[], pytest.param(["-g", *SANITIZERS], marks=pytest.mark.slow)],
    ids=["plain", "sanitized"],
)
def test_a_full_buffer_pauses_without_losing_or_repeating_an_event(
    flags: list[str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The buffer is enlarged by one whenever it is full: every event pauses the lanes."""
    for file, text in emit(cg.example("bouncing_ball").system.equations().program).files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    target, lanes = str(tmp_path / "full_cursor"), str(tmp_path / "lanes.o")
    command = [need("gcc"), *BASE, "-Wno-psabi", "-DCG_INLINE_OPERATIONS=0", "-O0", *flags, f"-I{tmp_path}"]
    run([*command, "-DCG_LANES=4", "-c", str(tmp_path / "bouncing_ball_lanes.c"), "-o", lanes])
    sources = [str(SOURCES / "lanes" / "full_cursor.c"), str(tmp_path / "bouncing_ball_core.c")]
    runtime = runtime_objects(tmp_path_factory, flags=("-O1", *flags))
    run([*command, *STRICT, *sources, *runtime, lanes, "-lm", "-o", target])
    for given in ("64 40 0.02 -1", "9 400 0.5 3", "200 2 0.5 1", "64 12 0.01 7"):
        events, ample, full, same = map(int, run([target, *given.split()]).split())
        assert (ample, full, same) == (0, events, 1)
        assert events > 50

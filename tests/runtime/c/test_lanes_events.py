"""Events and contacts of trajectories in lanes: by closed forms, counted, and with the bits of single runs."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from c_runtime import BASE, RUNTIME, SOURCES, STRICT, run
from integrations import need
from lane_models import assert_same
from scipy import special
from test_lanes import LANES

import chaplygin as cg
from chaplygin.codegen.emit.targets import emit
from chaplygin.runtime import Model

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="lanes need the vector types of GCC or Clang"),
    pytest.mark.skipif(not LANES, reason="this CPU has no lanes"),
]
TIGHT = {"rtol": 1e-10, "atol": 1e-10}
G, E = 9.81, 0.8


@functools.cache
def ball() -> Model:
    return cg.example("bouncing_ball").system.compile()


def bounces(height: float, count: int) -> np.ndarray:
    """Times of the first bounces of a ball dropped from rest."""
    fall = np.sqrt(2 * height / G)
    return fall * (1 + 2 * np.concatenate([[0.0], np.cumsum(E ** np.arange(1, count))]))


def assert_same_events(a: Any, b: Any) -> None:
    assert_same(a, b)
    for name in a.t_events:
        assert np.array_equal(a.t_events[name].t, b.t_events[name].t)
        assert np.array_equal(a.t_events[name].trajectory, b.t_events[name].trajectory)


def drop(heights: Any, span: tuple[float, float], **options: Any) -> Any:
    given = {"x": heights, "x_dot": 0.0}, {"m": 0.1, "g": G, "e": E}
    return cg.ensemble(ball(), span, *given, n=len(heights), **TIGHT, **options)


def test_bouncing_balls_in_lanes_bounce_when_the_closed_form_does() -> None:
    """Balls of different heights; the lowest come to rest before the end, and their lanes go on with other balls."""
    heights, times = np.linspace(0.3, 2.0, 61), np.linspace(0, 3, 31)
    ens = drop(heights, (0, 3), lanes=LANES[-1], t_eval=times)
    rest = 9 * np.sqrt(2 * heights / G)  # t_1 (1 + 2 e / (1 - e))
    assert ens.lanes == LANES[-1]
    assert np.array_equal(ens.status, np.where(rest < 3, -9, 0))
    found = 0
    for i, height in enumerate(heights):
        expected = bounces(height, 200)
        expected = expected[expected < 3] if rest[i] > 3 else expected[: len(ens.t_events["bounce"][i])]
        assert ens.t_events["bounce"][i] == pytest.approx(expected, abs=1e-9)
        assert len(expected) >= (30 if rest[i] < 3 else 3)
        found += len(expected)
        motion = np.array(ball_motion(times[times < rest[i]], height))
        assert ens["x"][: len(motion), i] == pytest.approx(motion, abs=1e-8)
    assert found == len(ens.t_events["bounce"].t)
    alone = drop(heights, (0, 3), lanes=1, t_eval=times)
    assert alone.lanes == 1
    assert_same_events(alone, ens)
    assert_same_events(ens, drop(heights, (0, 3), lanes=LANES[-1], t_eval=times, threads=2, chunk=9))
    for i in (0, 60):
        assert np.array_equal(ens.rerun(i).t_events[0], ens.t_events["bounce"][i])


def ball_motion(times: np.ndarray, height: float) -> list[float]:
    from chaplygin.systems.bouncing_ball import closed_form

    motion = closed_form(times.tolist(), {"g": G, "e": E}, {"x": height, "x_dot": 0.0})
    return [float(x) for x in motion["x"]]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dop853", "vern9", "tsit5", "rk4"])
@pytest.mark.parametrize(
    "name", ["bouncing_ball", "painleve_klein", "woodpecker", "two_mass_chain", "block_on_belt"]
)
def test_hybrid_systems_have_the_same_bits_in_all_lanes(name: str, method: str) -> None:
    entry, rng = cg.example(name), np.random.default_rng(5)
    model = entry.system.compile()
    initial = {k: v * rng.uniform(0.9, 1.1, 37) if v else 0.0 for k, v in entry.initial.items()}
    first = next(iter(initial))
    initial[first] = initial[first] + rng.uniform(0, 1e-3, 37)
    step = {"step": 0.011} if method == "rk4" else {}
    for times in (None, np.linspace(*entry.t_span, 40)):
        given = (model, entry.t_span, initial, entry.parameters)
        alone = cg.ensemble(*given, lanes=1, t_eval=times, method=method, **step)
        for lanes in LANES:
            side_by_side = cg.ensemble(*given, lanes=lanes, t_eval=times, method=method, **step)
            assert side_by_side.lanes == lanes
            assert_same_events(alone, side_by_side)


@functools.cache
def clock() -> Model:
    """x = t, and events at known zeros: of a sine, and of a pair a distance apart, in each direction."""
    x, v = cg.coordinates("x"), cg.velocities("v")
    w, phase, a, gap = cg.parameters("w phase a gap")
    pair = (x - a) * (x - a - gap)
    return cg.System(
        "clock",
        kinematics={x: v},
        kinetic=v**2 / 2,
        events=[
            cg.Event(sp.sin(w * x + phase), name="any"),
            cg.Event(sp.sin(w * x + phase), direction=1, name="rising"),
            cg.Event(pair, direction=-1, name="first"),
            cg.Event(pair, direction=1, name="second"),
        ],
    ).compile("poincare")


def test_ten_thousand_known_crossings_are_found_in_lanes() -> None:
    """Up to ten in a step of length 1, and pairs down to 1e-5 of it apart."""
    n, rng = 400, np.random.default_rng(11)
    w, phase = rng.uniform(0.5, 30, n), rng.uniform(0.05, 3.09, n)
    a, gap = rng.uniform(0.2, 3.5, n), np.exp(rng.uniform(np.log(1e-5), np.log(0.3), n))
    given = {"x": 0.0, "v": 1.0}, {"w": w, "phase": phase, "a": a, "gap": gap}
    options = {"max_step": 1.0, "rtol": 1e-9, "atol": 1e-9}
    ens = cg.ensemble(clock(), (0, 4), *given, n=n, lanes=LANES[-1], **options)
    assert ens.lanes == LANES[-1]
    assert ens.success
    found = 0
    for i in range(n):
        zeros = (np.pi * np.arange(1, 60) - phase[i]) / w[i]
        zeros = zeros[zeros < 4]
        expected = {"any": zeros, "rising": zeros[1::2], "first": [a[i]], "second": [a[i] + gap[i]]}
        for name, times in expected.items():
            assert ens.t_events[name][i] == pytest.approx(times, abs=1e-9), (i, name)
            found += len(times)
    assert found > 10_000
    assert found == sum(len(times.t) for times in ens.t_events.values())
    assert_same_events(cg.ensemble(clock(), (0, 4), *given, n=n, lanes=1, **options), ens)


def test_what_is_collected_of_events_in_lanes_is_that_of_single_runs() -> None:
    """The first bounce of each ball, and all of them, beside one another and alone."""
    heights = np.linspace(0.3, 2.0, 37)
    collect = {"first": cg.first_passage("bounce"), "all": cg.events("bounce"), "end": cg.final("x")}
    # a number of lanes is refused where trajectories cannot run in them
    given = {"x": heights, "x_dot": 0.0}, {"m": 0.1, "g": G, "e": E}
    alone, ens = (
        cg.study(ball(), (0, 1.5), *given, n=len(heights), collect=collect, lanes=k, **TIGHT)
        for k in (1, LANES[-1])
    )
    assert ens.results["first"] == pytest.approx(np.sqrt(2 * heights / G), abs=1e-9)
    for i, height in enumerate(heights):
        expected = bounces(height, 40)
        assert ens.results["all"][i] == pytest.approx(expected[expected < 1.5], abs=1e-9)
    assert np.array_equal(alone.results["first"], ens.results["first"])
    assert np.array_equal(alone.results["all"].t, ens.results["all"].t)
    assert np.array_equal(alone.results["end"]["x"], ens.results["end"]["x"])


@functools.cache
def rod() -> Model:
    """A pendulum in Cartesian coordinates, with an event at the bottom of its circle."""
    x, y = cg.coordinates("x y")
    m, length, g = cg.parameters("m l g", positive=True)
    vx, vy = cg.rate(x), cg.rate(y)
    return cg.System(
        "rod",
        coordinates=[x, y],
        kinetic=m * (vx**2 + vy**2) / 2,
        potential=m * g * y,
        holonomic=[(x**2 + y**2 - length**2) / 2],
        events=[cg.Event(x, name="bottom")],
        example={x: 0.42, y: -0.56, length: 0.7},
    ).compile("multipliers")


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_steps_in_lanes_are_moved_onto_the_constraints_before_events_are_searched(method: str) -> None:
    """Pendulums released at rest pass the bottom after a quarter of their period, and then every half."""
    angle, length, end = np.linspace(0.5, 2.5, 37), 0.7, 5.0
    initial = {"x": length * np.sin(angle), "y": -length * np.cos(angle), "x_dot": 0.0, "y_dot": 0.0}
    given = (rod(), (0, end), initial, {"m": 1.3, "l": length, "g": G})
    options = {"method": method, **({"step": 2e-3} if method == "rk4" else TIGHT)}
    alone, ens, left = (
        cg.ensemble(*given, lanes=lanes, project=project, **options)
        for lanes, project in ((1, "constraints"), (LANES[-1], "constraints"), (LANES[-1], None))
    )
    assert ens.lanes == left.lanes == LANES[-1]
    assert_same_events(alone, ens)
    quarter = np.sqrt(length / G) * special.ellipk(np.sin(angle / 2) ** 2)
    for i in range(37):
        times = quarter[i] * np.arange(1, 40, 2)
        assert ens.t_events["bottom"][i] == pytest.approx(times[times < end], abs=1e-7)
    off, drift = (np.abs(e["x"] ** 2 + e["y"] ** 2 - length**2).max() for e in (ens, left))
    assert off < 1e-3 * drift  # and the moves are made


@pytest.mark.parametrize(("compiler", "lanes"), [("gcc", 8), ("clang", 2)])
def test_lane_files_with_events_compile_without_a_warning(compiler: str, lanes: int, tmp_path: Path) -> None:
    command = [need(compiler), *BASE, *STRICT, "-Wno-psabi", f"-DCG_LANES={lanes}", "-fsyntax-only"]
    for name in ("bouncing_ball", "block_on_belt"):
        sources = emit(cg.example(name).system.equations().program)
        for file, text in sources.files.items():
            (tmp_path / file).write_text(text, encoding="utf-8")
        run([*command, str(tmp_path / f"{name}_lanes.c")])


@pytest.mark.slow
def test_contacts_are_located_beside_one_another(tmp_path: Path) -> None:
    """Sliders whose contacts stop, stick, break loose and reverse: few of their steps are searched alone."""
    entry = cg.example("painleve_klein")
    program = entry.system.equations("lagrange").program
    for file, text in emit(program).files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    lanes, target = tmp_path / "lanes.o", tmp_path / "count"
    command = [need("gcc"), *BASE, "-Wno-psabi", "-O1", f"-I{tmp_path}"]
    run([*command, "-DCG_LANES=4", "-c", str(tmp_path / "painleve_klein_lanes.c"), "-o", str(lanes)])
    sources = [str(SOURCES / "lanes" / "count_contacts.c"), str(tmp_path / "painleve_klein_core.c")]
    wrapped = ["-Wl,--wrap=cg_events_after_step", "-Wl,--wrap=cg_events_arrive"]
    run(
        [
            *command,
            *STRICT,
            *sources,
            *map(str, RUNTIME.rglob("cg_*.c")),
            str(lanes),
            *wrapped,
            "-lm",
            "-o",
            str(target),
        ]
    )
    model = entry.system.compile("lagrange")
    start = [entry.initial[name] for name in model.states] + [
        entry.parameters[name] for name in model.parameters
    ]
    speed = entry.initial["x1_dot"]
    counts = run([str(target), str(0.8 * speed), str(1.2 * speed), *map(repr, map(float, start))])
    steps, landed, alone, failed = map(int, counts.split())
    assert failed == 0
    assert landed > 2 * 64  # contacts change more often than that in each run
    assert alone < 0.05 * steps

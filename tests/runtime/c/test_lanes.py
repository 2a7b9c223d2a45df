"""Trajectories in lanes: bit-identical to single runs for all lane widths, threads, chunks and kinds of CPU."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import subprocess
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_runtime import ROOT, RUNTIME
from integrations import need, without_a_compiler
from lane_models import Case, N, assert_same, assert_single, bits, case, perils, shipped
from refusals import refused
from runtime_models import WIDEST, ctrl_c_at_progress
from test_c_lanes import flags_of

import chaplygin as cg
from chaplygin.codegen.toolchain.compiler import Compiler
from chaplygin.runtime import ArgumentError, core
from chaplygin.runtime.ensembles import job as ensemble_job
from chaplygin.runtime.model import lanes as libraries
from chaplygin.runtime.model.compiled_model import core_available
from chaplygin.runtime.model.lanes import lane_set

METHODS = core.methods() if core_available() else {}
LANES = [lanes for lanes in (2, 4, 8) if lanes <= WIDEST]
CASES = [
    "chaplygin_sleigh", "heavy_top", "double_pendulum", "rolling_ring", "fluid_cavity", "torus_nonuniform",
    "kovalevskaya_top", "chain 5", "selects", "sleigh with numbers", "sleigh with steps", "sleigh with lines",
]  # fmt: skip
IN_ALL_WIDTHS = ("chaplygin_sleigh", "sleigh with numbers", "sleigh with steps", "sleigh with lines")
"""The other cases compile only the widest lanes by default, because each set takes seconds."""

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="lanes need the vector types of GCC or Clang"),
]


def options_of(method: str, **others: Any) -> dict[str, Any]:
    return {"method": method, **({"step": 0.05} if method == "rk4" else {}), **others}


def compare(name: str, method: str, widths: Sequence[int | None]) -> None:
    """Compare every trajectory in these lanes with one lane, and the first and another one with separate runs."""
    given = case(name)
    span = (0.0, given.t_end)
    for t_eval in (None, np.linspace(0, given.t_end, 9)):
        options = options_of(method, rtol=1e-7, atol=1e-8)
        alone = cg.ensemble(given.model, span, *given, n=N, t_eval=t_eval, lanes=1, **options)
        assert alone.success
        assert np.ptp(alone.y) > 0
        for lanes in widths if not METHODS[method].implicit else (None,):
            assert_same(
                alone, cg.ensemble(given.model, span, *given, n=N, t_eval=t_eval, lanes=lanes, **options)
            )
        for i in (0, 12):
            assert_single(alone, given, i, span, **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "name", [name if name in IN_ALL_WIDTHS else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
@pytest.mark.sample(1)
def test_every_trajectory_is_the_single_run(name: str, method: str) -> None:
    compare(name, method, LANES if name in IN_ALL_WIDTHS else LANES[-1:])


@pytest.mark.parametrize("method", [pytest.param("tsit5", marks=pytest.mark.slow), "vern9"])
def test_angles_that_are_wide_in_some_lanes_and_steps(method: str) -> None:
    """Beyond 2^30 angles are reduced in another way: at the start, during a run, or in stages of a step that fails."""
    given = case("chaplygin_sleigh")
    phi, omega = np.zeros(N), np.linspace(0.5, 5, N)
    phi[[2, 3, 9, 17]] = 2.0**30 - 0.2, 3e11, -(2.0**30), 1e300
    omega[5] = 1e120
    wide = Case(given.model, {**given.initial, "phi": phi, "omega": omega}, given.parameters)
    options = {"method": method, "first_step": 0.5, "max_steps": 200}
    alone = cg.ensemble(wide.model, (0, 1), *wide, n=N, lanes=1, **options)
    assert alone["phi"][2] > 2.0**30
    for lanes in LANES:
        assert_same(alone, cg.ensemble(wide.model, (0, 1), *wide, n=N, lanes=lanes, **options))
    for i in (2, 3, 5, 9, 17):
        assert_single(alone, wide, i, (0, 1), **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in IN_ALL_WIDTHS])
def test_every_trajectory_in_narrower_lanes(name: str) -> None:
    for method in METHODS:
        compare(name, method, LANES[:-1])


@pytest.mark.slow
@pytest.mark.parametrize("t_eval", [None, [0.1, 0.4]])
def test_a_chain_whose_equations_are_solved_by_a_loop(t_eval: Any) -> None:
    given = case("chain 14")
    span = (0.0, given.t_end)
    alone = cg.ensemble(given.model, span, *given, n=N, t_eval=t_eval, lanes=1)
    assert_same(alone, cg.ensemble(given.model, span, *given, n=N, t_eval=t_eval, lanes=WIDEST))
    assert_single(alone, given, 7, span)


@pytest.mark.parametrize(
    ("span", "options"),
    [
        ((1.5, -1.0), {}),
        ((1.5, -1.0), {"t_eval": np.linspace(1.5, -1, 40)}),
        ((0, 1), {"t_eval": np.linspace(0, 1, 1001)}),
        ((0, 1), {"t_eval": [0.5]}),
        ((0, 1), {"t_eval": []}),
        ((0, 1), {"max_step": 0.013}),
        ((0, 1), {"first_step": 1e-5}),
        ((0, 30), {"max_steps": 7}),
        ((0, 30), {"max_steps": 7, "t_eval": np.linspace(0, 30, 91)}),
        ((0, 1), {"rtol": 1e-4, "atol": {"phi": 1e-3, "x": 1e-9, "y": 1.0, "omega": 1e-12, "v": 1e-5}}),
        ((0, 1), {"rtol": 0, "atol": 1e-6}),
        ((2, 2), {}),
        ((0, 1), {"method": "rk4", "step": 0.3, "t_eval": [0.1, 0.2, 0.9]}),
        ((1, -1), {"method": "rk4", "max_step": 0.07}),
    ],
)
@pytest.mark.parametrize(
    ("name", "widths"),
    [
        ("chaplygin_sleigh", LANES),
        ("sleigh with lines", LANES[-1:]),
        pytest.param("sleigh with lines", LANES[:-1], marks=pytest.mark.slow),
    ],
)
@pytest.mark.sample(12)
def test_options(name: str, widths: list[int], span: tuple[float, float], options: dict[str, Any]) -> None:
    given = case(name)
    limited = "max_steps" in options
    alone = cg.ensemble(given.model, span, *given, n=N, lanes=1, **options)
    assert alone.success != limited
    for lanes in widths:
        assert_same(alone, cg.ensemble(given.model, span, *given, n=N, lanes=lanes, **options))
    single = {key: value for key, value in options.items() if key != "t_eval"}
    for i in (1, N - 1):
        assert_single(alone, given, i, span, **single)


@pytest.mark.parametrize("n", [64, 61])
@pytest.mark.parametrize("times", [np.linspace(0, 2, 101), [0.7, 1.9], np.linspace(0.01, 2, 3001)])
def test_states_at_times_in_rows_of_whole_cache_lines_or_not(n: int, times: Any) -> None:
    given = case("chaplygin_sleigh")
    initial = {**given.initial, "omega": np.linspace(0.1, 5, n), "v": np.linspace(3, 1, n)}
    initial = {name: value if name in ("omega", "v") else 0.0 for name, value in initial.items()}
    parameters = given.column(3)[1]
    alone = cg.ensemble(given.model, (0, 2), initial, parameters, n=n, lanes=1, t_eval=times)
    for lanes, threads in itertools.product(LANES, (1, 2)):
        ens = cg.ensemble(
            given.model, (0, 2), initial, parameters, n=n, lanes=lanes, threads=threads, t_eval=times
        )
        assert_same(alone, ens)
    for i in (0, 7, n - 1):
        one = {name: value[i] if np.ndim(value) else value for name, value in initial.items()}
        assert bits(given.model.integrate((0, 2), one, parameters, t_eval=times).y) == bits(alone.y[:, :, i])


@pytest.mark.parametrize("lanes", [1, *LANES])
def test_threads_and_chunks(lanes: int) -> None:
    given = case("sleigh with numbers")
    alone = cg.ensemble(given.model, (0, 2), *given, n=N, threads=1, lanes=1)
    for threads, chunk in itertools.product((1, 2, 4), (1, 7, 4096)):
        ens = cg.ensemble(given.model, (0, 2), *given, n=N, threads=threads, chunk=chunk, lanes=lanes)
        assert_same(alone, ens)


@pytest.mark.parametrize("count", [1, 2, 3, 9])
@pytest.mark.sample(2)
def test_fewer_trajectories_than_lanes(count: int) -> None:
    given = case("chaplygin_sleigh")
    whole = cg.ensemble(given.model, (0, 1), *given, n=N, lanes=1)
    part = [
        {name: value[:count] if isinstance(value, np.ndarray) else value for name, value in entries.items()}
        for entries in given
    ]
    for lanes in LANES:
        ens = cg.ensemble(given.model, (0, 1), *part, n=count, lanes=lanes)
        assert bits(ens.y) == bits(whole.y[:, :count])
        assert bits(ens.nfev) == bits(whole.nfev[:count])


@functools.cache
def expected() -> Any:
    """The catalogue's sleigh, one trajectory at a time: final states, and states at given times."""
    given = case("chaplygin_sleigh")
    return [cg.ensemble(given.model, (0, 1), *given, n=N, t_eval=at, lanes=1) for at in (None, [0.25, 0.75])]


@pytest.mark.parametrize(
    ("compiler", "cpu", "lanes"),
    [
        ("gcc", "plain", 2),
        pytest.param("gcc", "plain", 8, marks=pytest.mark.slow),
        ("gcc", "avx2", 4),
        ("gcc", "avx512", 8),
        ("clang", "plain", 4),
        ("clang", "avx512", 8),
        pytest.param("gcc", "avx2", 8, marks=pytest.mark.slow),
        pytest.param("gcc", "avx512", 2, marks=pytest.mark.slow),
        pytest.param("clang", "avx2", 2, marks=pytest.mark.slow),
        pytest.param("clang", "plain", 8, marks=pytest.mark.slow),
    ],
)
@pytest.mark.sample(2)
def test_bits_do_not_depend_on_the_cpu_or_the_compiler(
    compiler: str, cpu: str, lanes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = case("chaplygin_sleigh")
    kind = Compiler((need(compiler),), "", compiler)
    flags = [
        *kind.core_flags(tuned=False, reproducible=True),
        *flags_of(cpu),
        f"-DCG_LANES={lanes}",
        f"-I{RUNTIME}",
    ]
    exported = '-DCG_EXPORTED=__attribute__((visibility("default")))'
    target = tmp_path / "lanes.so"
    source = ROOT / "generated" / "chaplygin_sleigh_lanes.c"
    command = [*kind.command, *flags, exported, *kind.link_flags(), str(source), "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    table = ctypes.c_char.in_dll(ctypes.CDLL(str(target)), f"chaplygin_sleigh_lanes_{lanes}")
    address = ctypes.addressof(table)
    assert given.model.runs_lanes(address)
    monkeypatch.setattr(ensemble_job, "lane_set", lambda *_: (address, lanes))
    for alone in expected():
        assert_same(alone, cg.ensemble(given.model, (0, 1), *given, n=N, t_eval=alone.t_eval))


def test_bits_of_a_model_tuned_to_this_cpu() -> None:
    """The shipped modules are compiled for a generic CPU, those of `compile` for this one."""
    given = case("chaplygin_sleigh")
    tuned = cg.example("chaplygin_sleigh").system.compile("maggi")
    assert tuned.lane_sets == []
    for alone in expected():
        for lanes in (1, WIDEST):
            assert_same(alone, cg.ensemble(tuned, (0, 1), *given, n=N, t_eval=alone.t_eval, lanes=lanes))


def test_lanes_of_shipped_models() -> None:
    """A wheel can contain them for every kind of CPU; otherwise the requested set is in the cache."""
    for path in sorted((ROOT / "generated").glob("*_lanes.c")):
        assert [lanes for lanes, _ in shipped(path.name.removesuffix("_lanes.c")).lane_sets] in (
            [],
            LANES[::-1],
        )
    sleigh, top = shipped("chaplygin_sleigh"), shipped("heavy_top")
    address, lanes = lane_set(sleigh, "dop853", WIDEST, N)
    assert lanes == WIDEST
    assert sleigh.runs_lanes(address)
    assert not top.runs_lanes(address)


def test_without_a_compiler_a_shipped_model_runs_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sleigh = shipped("chaplygin_sleigh")
    if sleigh.lane_sets:
        pytest.skip("this build includes its lanes")
    monkeypatch.setattr(libraries, "_addresses", {})
    without_a_compiler(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lane_set(sleigh, "dop853", None, 100_000) == (0, 1)
    words = "lanes = 2: the lanes of chaplygin_sleigh are not available: no C compiler"
    refused(words, lane_set, sleigh, "dop853", 2, N)


def test_wrong_lanes_are_named() -> None:
    given = case("chaplygin_sleigh")
    for lanes in (0, 3, 16, True, 2.0, "4"):
        with pytest.raises(ArgumentError, match=r"lanes = .* must be one of 1, 2, 4, 8, or None"):
            cg.ensemble(given.model, (0, 1), *given, n=N, lanes=lanes)  # type: ignore[arg-type]


def test_input_functions_run_one_at_a_time() -> None:
    given = case("sleigh with a function")
    for lanes in (None, 1):
        ens = cg.ensemble(given.model, (0, 2), *given, n=N, lanes=lanes)
        assert_single(ens, given, 3, (0, 2))


# ---- failures ----

QUIET = {"x": 0.0, "y": 0.2, "z": 0.3, "v": 0.1, "w": 0.2, "r": 0.1}
PERILS = {  # what differs from the others, and how the run ends
    "overflows at the start": ({"r": 1e200}, {"c": 1.0}, -2),
    "singular at the start": ({"y": np.pi / 2}, {}, -1),
    "explodes": ({"r": 2.0}, {"c": 1.0, "k": 0.0}, -3),
    "comes near a singularity": ({"w": 3.0}, {}, -4),
    "takes too many steps": ({}, {"k": 1e5}, -4),
}


@pytest.mark.parametrize("shift", range(3))
@pytest.mark.parametrize("t_eval", [None, np.linspace(0, 2, 11)])
@pytest.mark.sample(1)
def test_failures_disturb_no_neighbour(t_eval: Any, shift: int) -> None:
    model, n = perils(), 24
    random = np.random.default_rng(shift)
    good = {name: value + 0.05 * random.random(n) for name, value in QUIET.items()}
    plain = {"c": 0.1 * random.random(n), "k": 1 + random.random(n)}
    initial, parameters = ({k: v.copy() for k, v in entries.items()} for entries in (good, plain))
    places = {}
    for i, (name, (start, changed, _)) in enumerate(PERILS.items()):
        places[name] = j = (5 * i + 7 * shift) % n
        for table, values in ((initial, {**QUIET, **start}), (parameters, {"c": 0.0, "k": 1.0, **changed})):
            for key, value in values.items():
                table[key][j] = value
    bad = sorted(places.values())
    assert len(set(bad)) == len(PERILS)
    well = np.setdiff1d(np.arange(n), bad)
    options: dict[str, Any] = {"t_eval": t_eval, "max_steps": 3000}
    calm = cg.ensemble(model, (0, 2), good, plain, n=n, lanes=1, **options)
    assert calm.success
    for lanes in (1, *LANES):
        ens = cg.ensemble(model, (0, 2), initial, parameters, n=n, lanes=lanes, threads=1, **options)
        assert ens.failed.tolist() == bad
        assert bits(ens.y[..., well]) == bits(calm.y[..., well])
        assert bits(ens.nfev[well]) == bits(calm.nfev[well])
        for name, (_, _, status) in PERILS.items():
            j = places[name]
            assert ens.status[j] == status, name
            given = Case(model, initial, parameters)
            assert_single(ens, given, j, (0, 2), max_steps=3000)
        if lanes == 1:
            alone = ens
        assert_same(alone, ens)


# ---- Ctrl-C ----


@pytest.mark.parametrize("t_eval", [None, [1.0, 400.0]])
def test_ctrl_c_keeps_what_is_finished(t_eval: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = case("heavy_top")
    ends = np.arange(50_000) % N
    initial = {name: value[ends] for name, value in given.initial.items()}
    with ctrl_c_at_progress(monkeypatch), pytest.warns(RuntimeWarning, match="interrupted: [0-9]+ of 50000"):
        ens = cg.ensemble(
            given.model, (0, 400), initial, cg.example("heavy_top").parameters, n=len(ends),
            t_eval=t_eval, lanes=WIDEST, chunk=64,
        )  # fmt: skip
    assert ens.interrupted
    done = ens.status == 0
    assert 0 < done.sum() < len(ends)
    assert np.isfinite(ens.y[..., done]).all()
    assert np.isnan(ens.y[..., ~done]).all()
    assert set(ens.status[~done]) == {-5}
    j = int(np.flatnonzero(done)[-1])
    assert bits(ens.rerun(j, t_eval=ens.t_eval).y[:, -1]) == bits(ens.y[..., j].reshape(7, -1)[:, -1])

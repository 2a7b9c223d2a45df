"""Trajectories in lanes: the bits of single runs, whatever the lanes, threads, chunks and kinds of CPU."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lane_models import Case, N, case, perils, shipped
from runtime_models import ctrl_c_after, needs_core
from test_c_lanes import ROOT, RUNTIME, flags_of, need

import chaplygin as cg
from chaplygin.codegen.compilers import Compiler
from chaplygin.runtime import ArgumentError, core_available
from chaplygin.runtime import ensemble as ensembles

if core_available():
    from chaplygin.runtime._core import methods, widest_lanes

    METHODS = methods()
    WIDEST = widest_lanes()
else:
    METHODS, WIDEST = (), 1
LANES = [lanes for lanes in (2, 4, 8) if lanes <= WIDEST]
CASES = [
    "chaplygin_sleigh", "heavy_top", "double_pendulum", "rolling_ring", "fluid_cavity", "torus_nonuniform",
    "kovalevskaya_top", "chain 5", "selects", "sleigh with numbers", "sleigh with steps", "sleigh with lines",
]  # fmt: skip

pytestmark = [
    needs_core,
    pytest.mark.skipif(os.name == "nt", reason="lanes need vector types of GCC or Clang"),
]


def options_of(method: str, **others: Any) -> dict[str, Any]:
    return {"method": method, **({"step": 0.05} if method == "rk4" else {}), **others}


def bits(array: Any) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def assert_same(a: Any, b: Any) -> None:
    """Two ensembles agree in every bit and count."""
    for name in ("y", "t", "status", "nfev", "n_steps"):
        assert bits(getattr(a, name)) == bits(getattr(b, name)), name


def assert_single(ens: Any, given: Case, i: int, span: tuple[float, float], **options: Any) -> None:
    """Trajectory i has the bits of a run of its own."""
    initial, parameters, inputs = given.column(i)
    for sol in (
        given.model.integrate(span, initial, parameters, inputs, t_eval=ens.t_eval, **options),
        ens.rerun(i, t_eval=ens.t_eval),
    ):
        assert sol.status == ens.status[i]
        assert bits(sol.t_reached) == bits(ens.t[i])
        assert (sol.nfev, sol.n_steps) == (ens.nfev[i], ens.n_steps[i])
        if ens.t_eval is None:
            assert bits(sol.y[:, -1]) == bits(ens.y[:, i])
        else:
            there = sol.y.shape[1]
            assert bits(sol.y) == bits(ens.y[:, :there, i])
            assert np.isnan(ens.y[:, there:, i]).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_every_trajectory_is_the_single_run(name: str, method: str) -> None:
    given = case(name)
    span = (0.0, given.t_end)
    for t_eval in (None, np.linspace(0, given.t_end, 9)):
        options = options_of(method, rtol=1e-7, atol=1e-8)
        alone = cg.ensemble(given.model, span, N, *given, t_eval=t_eval, lanes=1, **options)
        assert alone.success
        assert np.ptp(alone.y) > 0
        for lanes in LANES:
            assert_same(
                alone, cg.ensemble(given.model, span, N, *given, t_eval=t_eval, lanes=lanes, **options)
            )
        for i in (0, 12):
            assert_single(alone, given, i, span, **options)


@pytest.mark.parametrize("t_eval", [None, [0.1, 0.4]])
def test_a_chain_whose_equations_are_solved_by_a_loop(t_eval: Any) -> None:
    given = case("chain 14")
    span = (0.0, given.t_end)
    alone = cg.ensemble(given.model, span, N, *given, t_eval=t_eval, lanes=1)
    assert_same(alone, cg.ensemble(given.model, span, N, *given, t_eval=t_eval, lanes=WIDEST))
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
@pytest.mark.parametrize("name", ["chaplygin_sleigh", "sleigh with lines"])
def test_options(name: str, span: tuple[float, float], options: dict[str, Any]) -> None:
    given = case(name)
    limited = "max_steps" in options
    alone = cg.ensemble(given.model, span, N, *given, lanes=1, **options)
    assert alone.success != limited
    for lanes in LANES:
        assert_same(alone, cg.ensemble(given.model, span, N, *given, lanes=lanes, **options))
    single = {key: value for key, value in options.items() if key != "t_eval"}
    for i in (1, N - 1):
        assert_single(alone, given, i, span, **single)


@pytest.mark.parametrize("lanes", [1, *LANES])
def test_threads_and_chunks(lanes: int) -> None:
    given = case("sleigh with numbers")
    alone = cg.ensemble(given.model, (0, 2), N, *given, threads=1, lanes=1)
    for threads, chunk in itertools.product((1, 2, 4), (1, 7, 4096)):
        ens = cg.ensemble(given.model, (0, 2), N, *given, threads=threads, chunk=chunk, lanes=lanes)
        assert_same(alone, ens)


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_fewer_trajectories_than_lanes(count: int) -> None:
    given = case("heavy_top")
    whole = cg.ensemble(given.model, (0, 1), N, *given, lanes=1)
    part = [
        {name: value[:count] if isinstance(value, np.ndarray) else value for name, value in entries.items()}
        for entries in given
    ]
    for lanes in LANES:
        ens = cg.ensemble(given.model, (0, 1), count, *part, lanes=lanes)
        assert bits(ens.y) == bits(whole.y[:, :count])
        assert bits(ens.nfev) == bits(whole.nfev[:count])


def test_more_trajectories_than_one_block_of_parameters() -> None:
    """The parameters of 4096 trajectories are gathered at once, the initial states of 16384."""
    model, n = shipped("chaplygin_sleigh"), 20_000
    random = np.random.default_rng(5)
    start = {name: random.random(n) for name in model.states}
    table = np.array([0.4 + 0.1 * random.random(n), np.full(n, 0.15), 0.6 + 0.1 * random.random(n)])
    options = {"method": "rk4", "step": 0.5}
    ens = cg.ensemble(model, (0, 1), n, start, table, chunk=n, threads=1, **options)
    again = cg.ensemble(model, (0, 1), n, start, table, chunk=977, lanes=1, **options)
    assert_same(ens, again)
    for i in (0, 4095, 4096, 16384, n - 1):
        sol = model.integrate((0, 1), {k: float(v[i]) for k, v in start.items()}, table[:, i], **options)
        assert bits(sol.y[:, -1]) == bits(ens.y[:, i])
        assert ens["energy"][i] == sol["energy"][-1]


@functools.cache
def expected() -> Any:
    """The sleigh of the catalogue, one at a time: once at the end and once at times."""
    given = case("chaplygin_sleigh")
    return [cg.ensemble(given.model, (0, 1), N, *given, t_eval=at, lanes=1) for at in (None, [0.25, 0.75])]


@pytest.mark.parametrize(
    ("compiler", "cpu", "lanes"),
    [
        ("gcc", "plain", 2),
        ("gcc", "plain", 8),
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
    monkeypatch.setattr(ensembles, "lane_set", lambda *_: address)
    for alone in expected():
        assert_same(alone, cg.ensemble(given.model, (0, 1), N, *given, t_eval=alone.t_eval))


def test_bits_of_a_model_tuned_to_this_cpu() -> None:
    """The shipped modules are compiled for any CPU of a kind, `compile` for this one."""
    given = case("chaplygin_sleigh")
    tuned = cg.example("chaplygin_sleigh").system.compile("maggi")
    assert tuned.lane_sets == []
    for alone in expected():
        for lanes in (1, WIDEST):
            assert_same(alone, cg.ensemble(tuned, (0, 1), N, *given, t_eval=alone.t_eval, lanes=lanes))


def test_lanes_of_shipped_models() -> None:
    for path in sorted((ROOT / "generated").glob("*_lanes.c")):
        model = shipped(path.name.removesuffix("_lanes.c"))
        assert [lanes for lanes, _ in model.lane_sets] == LANES[::-1], model.name
        assert all(model.runs_lanes(address) for _, address in model.lane_sets)
        other = shipped("heavy_top" if model.name != "heavy_top" else "gyrostat")
        assert not other.runs_lanes(model.lane_sets[0][1])


def test_wrong_lanes_are_named() -> None:
    given = case("chaplygin_sleigh")
    for lanes in (0, 3, 16, True, 2.0, "4"):
        with pytest.raises(ArgumentError, match=r"lanes = .* must be one of 1, 2, 4, 8, or None"):
            cg.ensemble(given.model, (0, 1), N, *given, lanes=lanes)  # type: ignore[arg-type]


def test_input_functions_run_one_at_a_time() -> None:
    given = case("sleigh with a function")
    for lanes in (None, WIDEST):
        ens = cg.ensemble(given.model, (0, 2), N, *given, lanes=lanes)
        assert_single(ens, given, 3, (0, 2))


# ---- failures ----

QUIET = {"x": 0.0, "y": 0.2, "z": 0.3, "v": 0.1, "w": 0.2, "r": 0.1}
PERILS = {  # in what differs from the others, and how it ends
    "overflows at the start": ({"r": 1e200}, {"c": 1.0}, -2),
    "singular at the start": ({"y": np.pi / 2}, {}, -1),
    "explodes": ({"r": 2.0}, {"c": 1.0, "k": 0.0}, -3),
    "comes near a singularity": ({"w": 3.0}, {}, -4),
    "takes too many steps": ({}, {"k": 1e5}, -4),
}


@pytest.mark.parametrize("shift", range(3))
@pytest.mark.parametrize("t_eval", [None, np.linspace(0, 2, 11)])
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
    calm = cg.ensemble(model, (0, 2), n, good, plain, lanes=1, **options)
    assert calm.success
    for lanes in (1, *LANES):
        ens = cg.ensemble(model, (0, 2), n, initial, parameters, lanes=lanes, threads=1, **options)
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


# ---- the end by Ctrl-C, progress, memory ----


@pytest.mark.parametrize("t_eval", [None, [1.0, 2000.0]])
def test_ctrl_c_keeps_what_is_finished(t_eval: Any) -> None:
    given = case("heavy_top")
    ends = np.arange(50_000) % N
    initial = {name: value[ends] for name, value in given.initial.items()}
    with ctrl_c_after(0.3) as pressed, pytest.warns(RuntimeWarning, match="interrupted: [0-9]+ of 50000"):
        ens = cg.ensemble(
            given.model, (0, 40), len(ends), initial, cg.example("heavy_top").parameters,
            t_eval=None if t_eval is None else [1.0, 40.0], lanes=WIDEST, chunk=64,
        )  # fmt: skip
    assert time.perf_counter() - pressed[0] < 0.2
    assert ens.interrupted
    done = ens.status == 0
    assert 0 < done.sum() < len(ends)
    assert np.isfinite(ens.y[..., done]).all()
    assert np.isnan(ens.y[..., ~done]).all()
    assert set(ens.status[~done]) == {-5}
    j = int(np.flatnonzero(done)[-1])
    assert bits(ens.rerun(j, t_eval=ens.t_eval).y[:, -1]) == bits(ens.y[..., j].reshape(7, -1)[:, -1])


def test_a_line_of_progress_has_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)  # not installed
    now = [100.0]
    monkeypatch.setattr(ensembles.time, "monotonic", lambda: now[0])
    bar = ensembles._Progress(1000, True)
    now[0] += 10
    bar.add(100)
    assert capsys.readouterr().err.rstrip() == "\r100/1000 trajectories (10 %), 10 per second, 01:30 left"
    now[0] += 0.05
    bar.add(1)  # too soon for another line
    assert capsys.readouterr().err == ""
    now[0] += 35990
    bar.add(399)
    assert capsys.readouterr().err.rstrip().endswith("0 per second, 10:00:00 left")
    bar.add(500)
    bar.close()
    assert (
        capsys.readouterr()
        .err.rstrip()
        .endswith("1000/1000 trajectories (100 %), 0 per second, 10:00:00 taken")
    )
    quiet = ensembles._Progress(10, None)  # nobody looks: stderr is no terminal here
    quiet.add(10)
    quiet.close()
    assert capsys.readouterr().err == ""


def test_progress_of_a_run_without_tqdm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    given = case("chaplygin_sleigh")
    cg.ensemble(given.model, (0, 1), N, *given, lanes=WIDEST, progress=True)
    shown = capsys.readouterr().err
    assert f"{N}/{N} trajectories (100 %), " in shown
    assert "per second" in shown
    assert shown.endswith("\n")


MEMORY = """
import sys
import numpy as np
import chaplygin as cg
from chaplygin.generated.heavy_top import model
n, times = 1_000_000, [0.005, 0.01] if sys.argv[1] == "times" else None
random = np.random.default_rng(1)
start = {name: 0.1 + random.random(n) for name in model.states}
parameters = {name: 1.0 + random.random(n) for name in model.parameters[:2]} | dict.fromkeys(model.parameters[2:], 1.0)
options = {"method": "rk4", "step": 0.01, "t_eval": times, "threads": 2}
few = ({k: v[:99] if np.ndim(v) else v for k, v in entries.items()} for entries in (start, parameters))
cg.ensemble(model, (0, 0.01), 99, *few, **options)
def memory(which):
    return next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(which))
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = memory("VmRSS")
ens = cg.ensemble(model, (0, 0.01), n, start, parameters, **options)
assert ens.success
results = sum(a.nbytes for a in (ens.y, ens.t, ens.status, ens.nfev, ens.n_steps))
print((memory("VmHWM") - before - results) / 1e6)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", ["end", "times"])
def test_a_million_trajectories_take_little_more_than_their_results(kind: str) -> None:
    done = subprocess.run([sys.executable, "-c", MEMORY, kind], capture_output=True, text=True, check=True)
    assert -1 < float(done.stdout) < 50


def test_python_looks_at_stretches_of_trajectories(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python does does not grow with the number of trajectories, but with that of stretches of them."""
    model = shipped("chaplygin_sleigh")
    calls = []
    kind = type(model)
    found = kind._initial
    monkeypatch.setattr(kind, "_initial", lambda *given: calls.append(1) or found(*given))
    n = 100_000
    start = {"phi": np.zeros(n), "x": 0.0, "y": 0.0, "omega": np.ones(n), "v": np.linspace(0, 1, n), "w": 0.0}
    cg.ensemble(model, (0, 0.1), n, start, {"a": 0.4, "b": 0.15, "k": 0.6}, method="rk4", step=0.1)
    assert len(calls) == 7


# ---- what is given ----


@pytest.mark.parametrize("as_array", [False, True])
def test_given_arrays_may_change_afterwards(as_array: bool) -> None:
    given = case("chaplygin_sleigh")
    model = given.model
    start: Any = {name: value.copy() for name, value in given.initial.items()}
    table: Any = {name: np.array(value) for name, value in given.parameters.items()}
    if as_array:
        start = np.array([start[name] for name in model.states])
        table = np.array([np.broadcast_to(table[name], N) for name in model.parameters])
    ens = cg.ensemble(model, (0, 1), N, start, table)
    energy = ens["energy"]
    for entries in (start, table):
        for values in entries.values() if isinstance(entries, dict) else entries:
            values *= 0.0
    assert_single(ens, given, 5, (0, 1))
    assert bits(ens["energy"]) == bits(energy)


@pytest.mark.parametrize("kind", [np.float32, np.int64, list, "strided", "reversed", "fortran"])
def test_arrays_of_any_kind(kind: Any) -> None:
    model = shipped("chaplygin_sleigh")
    values = (
        np.arange(5 * N).reshape(5, N) % 7 * 0.25
        if kind is not np.int64
        else np.arange(5 * N).reshape(5, N) % 7
    )
    table = np.array([[0.4], [0.15], [0.6]]) + np.linspace(0, 0.1, N)
    plain = cg.ensemble(model, (0, 1), N, values.astype(np.float64), table)
    if kind is list:
        ens = cg.ensemble(model, (0, 1), N, values.tolist(), table.tolist())
    elif kind == "strided":
        ens = cg.ensemble(
            model, (0, 1), N, np.repeat(values, 3, axis=1)[:, ::3], np.repeat(table, 2, axis=1)[:, ::2]
        )
    elif kind == "reversed":
        rows = {name: row[::-1].copy()[::-1] for name, row in zip(model.parameters, table)}
        ens = cg.ensemble(model, (0, 1), N, values[:, ::-1].copy()[:, ::-1], rows)
    elif kind == "fortran":
        ens = cg.ensemble(model, (0, 1), N, np.asfortranarray(values), np.asfortranarray(table))
    else:
        ens = cg.ensemble(model, (0, 1), N, values.astype(kind), table)
    assert_same(plain, ens)


def test_an_error_far_behind_is_named_by_its_column() -> None:
    model, n = shipped("chaplygin_sleigh"), 40_000
    start: dict[str, Any] = dict.fromkeys(model.states, 1.0)
    parameters: dict[str, Any] = {"a": 0.4, "b": 0.15, "k": 0.6}
    bad = np.ones(n)
    bad[30_001] = np.inf
    with pytest.raises(ArgumentError, match="initial: v = inf is not finite at column 30001"):
        cg.ensemble(model, (0, 1), n, {**start, "v": bad}, parameters)
    with pytest.raises(ArgumentError, match="parameters: k = inf is not finite at column 30001"):
        cg.ensemble(model, (0, 1), n, start, {**parameters, "k": bad})
    with pytest.raises(
        ArgumentError, match=r"initial has shape \(5, 3\); shape \(5,\) or \(5, 40000\) is needed"
    ):
        cg.ensemble(model, (0, 1), n, np.ones((5, 3)), parameters)
    with pytest.raises(
        ArgumentError, match=r"initial has shape \(4,\); shape \(5,\) or \(5, 40000\) is needed"
    ):
        cg.ensemble(model, (0, 1), n, np.ones(4), parameters)
    slip = np.zeros(n)
    slip[20_000] = 0.5
    with pytest.raises(ArgumentError, match=r"initial: w = 0.5 contradicts the other entries, which give 0"):
        cg.ensemble(model, (0, 1), n, {**start, "w": slip}, parameters)

"""Ensembles: their arguments in various kinds of arrays, their memory use, and their progress display."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from lane_models import N, assert_same, assert_single, bits, case, shipped
from processes import python
from refusals import refused

import chaplygin as cg
from chaplygin.runtime import ArgumentError
from chaplygin.runtime.ensembles import progress, start as ensemble_start


def test_more_trajectories_than_one_block_of_parameters() -> None:
    """Parameters are gathered for 4096 trajectories at a time, initial states for 16384."""
    model, n = shipped("chaplygin_sleigh"), 20_000
    random = np.random.default_rng(5)
    start = {name: random.random(n) for name in model.states}
    table = np.array([0.4 + 0.1 * random.random(n), np.full(n, 0.15), 0.6 + 0.1 * random.random(n)])
    options = {"method": "rk4", "step": 0.5}
    ens = cg.ensemble(model, (0, 1), start, table, n=n, chunk=n, threads=1, **options)
    again = cg.ensemble(model, (0, 1), start, table, n=n, chunk=977, lanes=1, **options)
    assert_same(ens, again)
    for i in (0, 4095, 4096, 16384, n - 1):
        sol = model.integrate((0, 1), {k: float(v[i]) for k, v in start.items()}, table[:, i], **options)
        assert bits(sol.y[:, -1]) == bits(ens.y[:, i])
        assert ens["energy"][i] == sol["energy"][-1]


def test_a_line_of_progress_has_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)  # not installed
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = progress.Progress(1000, True)
    now[0] += 10
    bar.show(100)
    assert capsys.readouterr().err.rstrip() == "\r100/1000 trajectories (10 %), 10 per second, 01:30 left"
    now[0] += 0.05
    bar.show(101)  # too soon for another line
    assert capsys.readouterr().err == ""
    now[0] += 35990
    bar.show(500)
    assert capsys.readouterr().err.rstrip().endswith("0 per second, 10:00:00 left")
    bar.show(1000)
    bar.close()
    assert (
        capsys.readouterr()
        .err.rstrip()
        .endswith("1000/1000 trajectories (100 %), 0 per second, 10:00:00 taken")
    )
    resumed = progress.Progress(1000, True)
    resumed.found, resumed.failed = 500, 3
    now[0] += 10
    resumed.show(600)  # 100 in 10 seconds
    text = "\r600/1000 trajectories (60 %), 10 per second, 3 failed, 00:40 left"
    assert capsys.readouterr().err.rstrip() == text
    quiet = progress.Progress(10, None)  # no output: stderr is not a terminal here
    quiet.show(10)
    quiet.close()
    assert capsys.readouterr().err == ""


def test_progress_of_a_run_without_tqdm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    given = case("chaplygin_sleigh")
    cg.ensemble(given.model, (0, 1), *given, n=N, progress=True)
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
length = sum(start[name] ** 2 for name in ("q0", "q1", "q2", "q3")) ** 0.5
start |= {name: start[name] / length for name in ("q0", "q1", "q2", "q3")}
parameters = {name: 1.0 + random.random(n) for name in model.parameters[:2]} | dict.fromkeys(model.parameters[2:], 1.0)
options = {"method": "rk4", "step": 0.01, "t_eval": times, "threads": 2}
few = ({k: v[:99] if np.ndim(v) else v for k, v in entries.items()} for entries in (start, parameters))
cg.ensemble(model, (0, 0.01), *few, n=99, **options)
def memory(which):
    return next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(which))
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = memory("VmRSS")
ens = cg.ensemble(model, (0, 0.01), start, parameters, n=n, **options)
assert ens.success
results = sum(a.nbytes for a in (ens.y, ens.t, ens.status, ens.nfev, ens.n_steps))
print((memory("VmHWM") - before - results) / 1e6)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", ["end", "times"])
def test_a_million_trajectories_take_little_more_than_their_results(kind: str) -> None:
    assert -1 < float(python(MEMORY, kind)) < 50


def test_python_looks_at_stretches_of_trajectories(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work done in Python grows with the number of blocks of trajectories, not with that of trajectories."""
    model = shipped("chaplygin_sleigh")
    calls = []
    kind = type(model)
    found = kind._initial
    monkeypatch.setattr(kind, "_initial", lambda *given: calls.append(1) or found(*given))
    n = 100_000
    start = {
        "phi": np.zeros(n),
        "x": 0.0,
        "y": 0.0,
        "omega": np.ones(n, int),
        "v": np.linspace(0, 1, n),
        "w": 0.0,
    }
    cg.ensemble(model, (0, 0.1), start, {"a": 0.4, "b": 0.15, "k": 0.6}, n=n, method="rk4", step=0.1)
    assert len(calls) == 7


# ---- arguments ----


@pytest.mark.parametrize("as_array", [False, True])
def test_given_arrays_may_change_afterwards(as_array: bool) -> None:
    given = case("chaplygin_sleigh")
    model = given.model
    start: Any = {name: value.copy() for name, value in given.initial.items()}
    table: Any = {name: np.array(value) for name, value in given.parameters.items()}
    if as_array:
        start = np.array([start[name] for name in model.states])
        table = np.array([np.broadcast_to(table[name], N) for name in model.parameters])
    ens = cg.ensemble(model, (0, 1), start, table, n=N)
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
    plain = cg.ensemble(model, (0, 1), values.astype(np.float64), table, n=N)
    if kind is list:
        ens = cg.ensemble(model, (0, 1), values.tolist(), table.tolist(), n=N)
    elif kind == "strided":
        ens = cg.ensemble(
            model, (0, 1), np.repeat(values, 3, axis=1)[:, ::3], np.repeat(table, 2, axis=1)[:, ::2], n=N
        )
    elif kind == "reversed":
        rows = {name: row[::-1].copy()[::-1] for name, row in zip(model.parameters, table)}
        ens = cg.ensemble(model, (0, 1), values[:, ::-1].copy()[:, ::-1], rows, n=N)
    elif kind == "fortran":
        ens = cg.ensemble(model, (0, 1), np.asfortranarray(values), np.asfortranarray(table), n=N)
    else:
        ens = cg.ensemble(model, (0, 1), values.astype(kind), table, n=N)
    assert_same(plain, ens)


@pytest.mark.parametrize("kept", [0, ensemble_start.KEPT])
def test_fields_of_packed_records(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """Large arrays are not copied, unless C cannot read them: with strides of 12 bytes, or unaligned."""
    monkeypatch.setattr(ensemble_start, "KEPT", kept)
    model = shipped("chaplygin_sleigh")
    start = np.zeros(N, dtype=[("n", "i4"), *((name, "f8") for name in model.states)])
    packed = np.zeros(N, dtype=[("n", "i4"), *((name, "f8") for name in model.parameters)])
    assert packed.strides[0] % 8 == 4
    odd = np.zeros(8 * N + 4, dtype=np.uint8)[4:].view(np.float64)  # regular strides, unaligned
    random = np.random.default_rng(3)
    for table in (start, packed):
        for name in table.dtype.names[1:]:
            table[name] = 0.4 + random.random(N)
    odd[:] = packed[model.parameters[0]]
    parameters = {name: packed[name] for name in model.parameters}
    plain = cg.ensemble(
        model, (0, 1), {name: start[name].copy() for name in model.states},
        {name: values.copy() for name, values in parameters.items()}, n=N,
    )  # fmt: skip
    for changed in ({}, {model.parameters[0]: odd}):
        ens = cg.ensemble(
            model, (0, 1), {name: start[name] for name in model.states}, parameters | changed, n=N
        )
        assert_same(plain, ens)
        assert bits(ens["energy"]) == bits(plain["energy"])


def test_an_error_far_behind_is_named_by_its_column() -> None:
    model, n = shipped("chaplygin_sleigh"), 40_000
    start: dict[str, Any] = dict.fromkeys(model.states, 1.0)
    parameters: dict[str, Any] = {"a": 0.4, "b": 0.15, "k": 0.6}
    bad = np.ones(n)
    bad[30_001] = np.inf
    with pytest.raises(ArgumentError, match="initial: v = inf is not finite at column 30001"):
        cg.ensemble(model, (0, 1), {**start, "v": bad}, parameters, n=n)
    with pytest.raises(ArgumentError, match="parameters: k = inf is not finite at column 30001"):
        cg.ensemble(model, (0, 1), start, {**parameters, "k": bad}, n=n)
    words = r"initial has shape \(5, 3\); shape \(5,\) or \(5, 40000\) is needed"
    refused(words, cg.ensemble, model, (0, 1), np.ones((5, 3)), parameters, n=n)
    words = r"initial has shape \(4,\); shape \(5,\) or \(5, 40000\) is needed"
    refused(words, cg.ensemble, model, (0, 1), np.ones(4), parameters, n=n)
    slip = np.zeros(n)
    slip[20_000] = 0.5
    with pytest.raises(ArgumentError, match=r"initial: w = 0.5 contradicts the other entries, which give 0"):
        cg.ensemble(model, (0, 1), {**start, "w": slip}, parameters, n=n)

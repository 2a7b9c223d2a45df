"""Small ensembles: in lanes as soon as a register is full, in the caller's thread, and still stopped by Ctrl-C."""

from __future__ import annotations

import os
import sys
import threading
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lane_models import N, assert_same, assert_single, case, shipped
from processes import CountingCompiler, python
from refusals import refused
from runtime_models import WIDEST, ctrl_c_after, hybrid, model

import chaplygin as cg
from chaplygin.runtime.ensembles import executors, start as ensemble_start
from chaplygin.runtime.ensembles.start import Start
from chaplygin.runtime.model import lanes as lanes_of
from chaplygin.runtime.problem.consistency import STRETCH
from chaplygin.runtime.problem.given_inputs import parse

SLEIGH = {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": 1.0, "v": 1.0}


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list of the threads that ensembles start from now on."""
    started: list[str] = []

    class Counted(threading.Thread):
        def start(self) -> None:
            started.append(self.name)
            super().start()

    monkeypatch.setattr(executors.threading, "Thread", Counted)
    return started


@pytest.fixture(scope="module")
def compiled() -> Any:
    """A model with its lanes cached and loaded."""
    given = case("sleigh with numbers")
    if WIDEST > 1:
        cg.ensemble(given.model, (0, 0.1), *given, n=N, lanes=WIDEST)
    return given


def first(given: Any, count: int) -> list[dict[str, Any]]:
    """The first trajectories of a case."""
    return [
        {name: value[:count] if isinstance(value, np.ndarray) else value for name, value in entries.items()}
        for entries in given
    ]


# ---- threads ----


def test_a_short_call_starts_no_thread(compiled: Any, threads: list[str]) -> None:
    """Neither for one piece of work, nor for several that finish before a thread would have started."""
    for count in (1, WIDEST, N):
        cg.ensemble(compiled.model, (0, 1e-3), *first(compiled, count), n=count, threads=1)
    if WIDEST > 1:
        cg.ensemble(compiled.model, (0, 1e-3), *first(compiled, WIDEST), n=WIDEST, threads=4)
    assert threads == []


@pytest.mark.parametrize("lanes", [1, None])
def test_a_long_call_starts_threads_and_has_the_same_bits(
    compiled: Any, threads: list[str], lanes: int | None
) -> None:
    alone = cg.ensemble(compiled.model, (0, 6000), *compiled, n=N, threads=1, lanes=lanes)
    assert threads == []
    several = cg.ensemble(compiled.model, (0, 6000), *compiled, n=N, threads=3, lanes=lanes, chunk=3)
    assert len(threads) == 2
    assert_same(alone, several)
    assert_single(alone, compiled, 5, (0, 6000))


def test_the_rest_of_a_long_call_is_given_to_others(compiled: Any, threads: list[str]) -> None:
    """Without a chunk: what the calling thread has not begun when it is worth other threads."""
    given = first(compiled, N)
    alone = cg.ensemble(compiled.model, (0, 6000), *given, n=N, threads=1, lanes=1)
    several = cg.ensemble(compiled.model, (0, 6000), *given, n=N, threads=3, lanes=1)
    assert len(threads) == 2
    assert_same(alone, several)


def test_errors_of_the_other_threads_come_through(
    compiled: Any, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller's thread takes the last piece, which is long; the other thread gets an invalid one."""
    monkeypatch.setattr(executors.Threads, "pieces", lambda *_: [(0, 2 * N), (0, N)])
    words = f"trajectories 0 to {2 * N} are not in an ensemble of {N}"
    refused(words, cg.ensemble, compiled.model, (0, 6000), *compiled, n=N, threads=2, lanes=1, chunk=N)
    assert len(threads) == 1


# ---- Ctrl-C ----

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@posix
@pytest.mark.parametrize("lanes", [1, None])
@pytest.mark.parametrize("count", [1, 8])
def test_ctrl_c_ends_one_piece_of_work(compiled: Any, count: int, lanes: int | None) -> None:
    """A call that never leaves the main thread."""
    initial = SLEIGH | {"omega": np.linspace(1, 2, count)}
    with ctrl_c_after(0.3), pytest.warns(RuntimeWarning, match=f"interrupted: 0 of {count}"):
        ens = cg.ensemble(
            compiled.model, (0, 1e7), initial, [1.0, 0.2, 0.5], [0.3], n=count, threads=1, lanes=lanes
        )
    assert ens.interrupted
    assert (ens.status == -5).all()
    assert np.isnan(ens.y).all()


@posix
def test_ctrl_c_in_an_input_function_keeps_what_is_finished() -> None:
    """Ctrl-C arrives inside the input function, in the thread that calls `ensemble`."""
    calls = [0]

    def tau(t: float, y: Any) -> float:
        calls[0] += 1
        return 0.3

    sleigh = model("sleigh")  # compiled before the clock starts
    with ctrl_c_after(0.3), pytest.warns(RuntimeWarning, match="interrupted: [0-9]+ of 3000"):
        ens = cg.ensemble(sleigh, (0, 500), SLEIGH, [1.0, 0.2, 0.5], {"tau": tau}, n=3000, threads=1)
    assert ens.interrupted
    assert set(ens.status) == {0, -5}
    assert np.isfinite(ens.y[:, ens.ok]).all()
    assert calls[0] > 100


def test_an_input_function_that_fails_is_not_called_for_the_other_trajectories() -> None:
    calls = [0]

    def tau(t: float, y: Any) -> float:
        calls[0] += 1
        raise ValueError("no signal")

    with pytest.raises(ValueError, match="no signal"):
        cg.ensemble(model("sleigh"), (0, 500), SLEIGH, [1.0, 0.2, 0.5], {"tau": tau}, n=3000, threads=1)
    assert calls[0] == 1


@posix
def test_another_signal_comes_through() -> None:
    """An exception raised by a signal handler ends the ensemble, and none of its threads survives."""
    code = """
        import signal, threading
        import chaplygin as cg
        from chaplygin.generated.chaplygin_sleigh import model

        class Alarm(Exception):
            pass

        def ring(*_):
            raise Alarm

        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            cg.ensemble(model, (0, 1e7), [0, 0, 0, 1, 1], [1, 0.2, 0.5], n=64, threads=2, chunk=8)
        except Alarm:
            print("rang", threading.active_count())
    """
    assert python(code, timeout=60).split() == ["rang", "1"]


# ---- lanes ----

lanes_here = pytest.mark.skipif(WIDEST < 4, reason="this CPU has no wide registers")


@lanes_here
def test_lanes_that_are_loaded_are_used_from_the_first_full_register_on(
    compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes_of, "builder", lambda *_: pytest.fail("looked for again"))
    for count in (1, WIDEST - 1, WIDEST, WIDEST + 1, N):
        given = first(compiled, count)
        ens = cg.ensemble(compiled.model, (0, 1), *given, n=count)
        assert ens.lanes == (WIDEST if count >= WIDEST else 1)
        alone = cg.ensemble(compiled.model, (0, 1), *given, n=count, lanes=1)
        assert alone.lanes == 1
        assert_same(alone, ens)


@lanes_here
def test_lanes_are_found_in_the_cache_and_compiled_only_where_it_is_worth_it(tmp_path: Path) -> None:
    """A small ensemble does not compile lanes, a large one does, and a small one in another process then uses them."""
    compiler = CountingCompiler(tmp_path)
    code = """
        import sys
        import chaplygin as cg
        if sys.argv[1] == "compile":
            model = cg.example("harmonic_oscillator", driven=True).system.compile()
            print(model.owner.__file__)
        else:
            model = cg.load_model(sys.argv[1])
            print()
        for n in map(int, sys.argv[2:]):
            ens = cg.ensemble(model, (0, 1), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, {"F": 0.0}, n=n)
            print(ens.lanes, end=" ", flush=True)
            print("ensemble", file=open("calls", "a"))
    """

    def work(what: str, *counts: int) -> tuple[str, list[int], list[bool]]:
        path, lanes = python(code, what, *counts, env=compiler.env, cwd=tmp_path).split("\n")
        between = "\n".join([*compiler.new_calls(), ""]).split("ensemble\n")[:-1]
        return path, [*map(int, lanes.split())], [f"CG_LANES={WIDEST}" in text for text in between]

    small, large = lanes_of.WORTH - 1, lanes_of.WORTH
    path, lanes, compiled = work("compile", WIDEST, small, large, WIDEST, 1)
    assert lanes == [1, 1, WIDEST, WIDEST, 1]
    assert compiled == [False, False, True, False, False]
    _, lanes, compiled = work(path, WIDEST, small, 1)
    assert lanes == [WIDEST, WIDEST, 1]
    assert not any(compiled)


@lanes_here
def test_pieces_fill_the_lanes() -> None:
    for threads in (1, 2, 7):
        for count in (1, 7, 8, 15, 16, 17, 100, 1000, 5000):
            pieces = executors.Threads(threads).pieces(count, 8)[::-1]
            assert [first for first, _ in pieces] == [0, *(last for _, last in pieces[:-1])]
            assert pieces[-1][1] == count
            assert all((last - first) % 8 == 0 for first, last in pieces[:-1])
            assert threads > 1 or len(pieces) == 1


# ---- initial states ----


def test_plain_and_other_starts_have_the_same_bits(compiled: Any) -> None:
    """Initial states read at C speed, and converted ones: lists, other types, names as symbols, vectors."""
    import sympy as sp

    m = compiled.model
    count = 9
    initial, parameters, inputs = first(compiled, count)
    assert all(type(value) in (int, float, np.ndarray) for value in initial.values())
    right = cg.ensemble(m, (0, 1), initial, parameters, inputs, n=count)
    table = np.array([np.broadcast_to(initial[name], count) for name in m.states])
    for start in (
        {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in initial.items()},
        {sp.Symbol(name): value for name, value in initial.items()},
        {name: np.repeat(value, 2)[::2] if isinstance(value, np.ndarray) else value for name, value in initial.items()},
        {name: value[::-1][::-1] if isinstance(value, np.ndarray) else value for name, value in initial.items()},
        table,
        np.asfortranarray(table),
    ):  # fmt: skip
        other = cg.ensemble(m, (0, 1), start, parameters, inputs, n=count)
        assert_same(right, other)
        for i in (0, count - 1):
            assert np.array_equal(right.rerun(i).y, other.rerun(i).y)
        assert np.array_equal(right["energy"], other["energy"])


@pytest.mark.parametrize("kept", [True, False])
def test_a_long_start_is_read_in_c(kept: bool) -> None:
    """More columns than the slow path takes at once, with and without the states of the starts in its target."""
    m, count = model("sleigh"), 2 * STRETCH + 3
    omega, numbers = np.random.default_rng(1).normal(size=count), {"m": 1.0, "a": 0.2, "J": 0.5}
    target, given = np.empty((5, count)), SLEIGH | {"omega": omega}
    start = Start(m, 0.0, given, numbers, parse({"tau": 0.0}, m.inputs), count, target, kept)
    assert start.plain
    assert np.array_equal(target[3], omega)
    assert (target[[0, 1, 2, 4]] == [[0.0], [0.0], [0.0], [1.0]]).all()
    for wrong in (np.nan, np.inf, -np.inf):
        omega[-1] = wrong
        refused("omega", cg.ensemble, m, (0, 1), given, numbers, {"tau": 0.0})


def test_an_ensemble_uses_the_pages_of_the_one_before() -> None:
    """Results are one piece of memory and most of what a call frees: pages are not touched for the first time again.

    glibc gives back the end of its heap once that is twice as large as the largest piece freed before (mallopt(3)).
    """
    m, count = model("sleigh"), 100_000
    start, numbers = {name: np.zeros(count) for name in m.states}, dict.fromkeys(m.parameters, 1.0)
    given = {"t_eval": np.linspace(0, 1e-3, 3), "threads": 1, "lanes": 1}
    cg.ensemble(m, (0, 1e-3), start, numbers, **given)
    tracemalloc.start()
    try:
        ens = cg.ensemble(m, (0, 1e-3), start, numbers, **given)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    pieces = [ens.y, ens.nfev, ens.n_steps, ens.status]
    while any(piece.base is not None for piece in pieces):
        pieces = [piece if piece.base is None else piece.base for piece in pieces]
    assert all(piece is pieces[0] for piece in pieces)
    assert pieces[0].nbytes < peak < 2 * pieces[0].nbytes


def test_a_start_is_copied(compiled: Any) -> None:
    """Later changes of the caller's arrays have no effect."""
    count = 9
    given = [
        {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in part.items()} for part in first(compiled, count)
    ]  # fmt: skip
    ens = cg.ensemble(compiled.model, (0, 1), *given, n=count)
    before = [ens.rerun(i).y.copy() for i in range(count)]
    for part in given:
        for value in part.values():
            if isinstance(value, np.ndarray):
                value[:] = 1e300
    for i in range(count):
        assert np.array_equal(ens.rerun(i).y, before[i])
        assert np.array_equal(ens.rerun(i).y[:, -1], ens.y[:, i])
    assert np.isfinite(ens["energy"]).all()


def test_few_parameters_are_copied_beside_many_states(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether parameters are copied does not depend on the size of the initial states."""
    count = 9
    initial, parameters = ({k: float(np.ravel(v)[0]) for k, v in part.items()} for part in [*compiled][:2])
    states = {name: np.full(count, value) for name, value in initial.items()}
    name, value = next(iter(parameters.items()))
    varied = np.full(count, value)
    monkeypatch.setattr(ensemble_start, "KEPT", varied.nbytes)
    ens = cg.ensemble(compiled.model, (0, 1), states, {**parameters, name: varied}, {"tau": 0.1}, n=count)
    varied[:] = 2 * value
    assert np.array_equal(ens.rerun(3).y[:, -1], ens.y[:, 3])


def test_hybrid_models_run_small() -> None:
    ens = cg.ensemble(
        hybrid("spring"), (0, 5), {"x": 1.0, "v": 0.0}, {"w": 1.0, "level": 0.5, "stop": 0.0}, n=1
    )
    assert ens.success
    assert ens.lanes == 1


# ---- the start ----

DECLARED = {**SLEIGH, "omega": np.linspace(0.9, 1.1, 8), "w": 0.0}
NUMBERS = {"a": 0.4, "b": 0.15, "k": 0.6}


def sleighs(initial: Any = DECLARED, parameters: Any = NUMBERS, **options: Any) -> cg.Ensemble:
    return cg.ensemble(shipped("chaplygin_sleigh"), (0, 1), initial, parameters, **options)


def test_a_start_has_the_same_bits_in_every_format() -> None:
    """By name with a dependent velocity, by states, as an array and as numbers of another type, read more slowly."""
    states = {name: row for name, row in DECLARED.items() if name != "w"}
    table = np.array([np.full(8, 1.0) * row for row in states.values()])
    right = sleighs({**states, "omega": [Decimal(x) for x in states["omega"]]})
    for initial in (DECLARED, {**DECLARED, "w": np.zeros(8)}, states, table, np.asfortranarray(table)):
        for parameters in (NUMBERS, list(NUMBERS.values()), np.array([[x] * 8 for x in NUMBERS.values()])):
            found = sleighs(initial, parameters)
            assert found.y.tobytes() == right.y.tobytes()
            assert (found.rerun(3).y[:, -1] == right.y[:, 3]).all()
    assert sleighs(table[:, 0], n=2).y[:, 1].tobytes() == right.y[:, 0].tobytes()


@pytest.mark.parametrize("w", [0.1, np.r_[np.zeros(7), 0.1]])
def test_a_dependent_velocity_that_contradicts_the_states_is_refused(w: Any) -> None:
    refused(r"initial: w = 0.1\d* contradicts the other entries", sleighs, {**DECLARED, "w": w})


def test_what_is_given_decides_about_derivatives() -> None:
    """A dependent velocity that is given counts among what is given, however the start was read."""
    names = ["omega", "a"]
    fast = sleighs(sensitivities=names)
    slow = sleighs({**DECLARED, "omega": [Decimal(x) for x in DECLARED["omega"]]}, sensitivities=names)
    single = fast.rerun(2)
    for name in names:
        assert (fast.sensitivity["x", name] == slow.sensitivity["x", name]).all()
        assert single.sensitivity["x", name][-1] == fast.sensitivity["x", name][2]


def test_a_small_ensemble_takes_few_calls_of_functions() -> None:
    """What it costs beside its steps: arguments are read once."""
    sleighs()
    calls = []

    def count(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    sys.setprofile(count)
    try:
        sleighs()
    finally:
        sys.setprofile(None)
    assert len(calls) < 100, calls

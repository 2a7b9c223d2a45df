"""Ctrl-C in a study: trajectories that have ended count and are kept, and the study goes on to the same bits."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from cluster_models import BLOCK, N, T, bits, study
from runtime_models import ctrl_c_after, ctrl_c_heard, press_ctrl_c
from scipy import stats
from springs import X, sprung

import chaplygin as cg
from chaplygin.runtime.statistics.sketches import CHUNK
from chaplygin.runtime.studies.stop import LEAVE, Stop

STARTED, RETURNED = threading.Event(), threading.Event()
"""Whether the trajectory 0 of `Sleepy` has begun, and whether nothing waits for a study."""


@pytest.fixture(autouse=True)
def wait() -> None:
    STARTED.clear()
    RETURNED.clear()


class Press:
    """The input f = 1. Trajectories `at`, which start there, press Ctrl-C before they begin, and wait a while."""

    def __init__(self, *at: int, wait: float = 0.2) -> None:
        self.at, self.wait = at, wait

    def __call__(self, t: float, y: Any) -> float:
        if t == 0 and y[0] in self.at:
            press_ctrl_c()
            RETURNED.wait(self.wait)
        return 1.0


def pressed(*at: int, finished: Any = "[0-9]+", n: int = N, **options: Any) -> Any:
    with ctrl_c_heard(), pytest.warns(RuntimeWarning, match=f"interrupted: {finished} of {n} trajectories"):
        return study(Press(*at), n, **options)


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != ".lock"}


def check(found: Any, finished: Any, n: int = N) -> None:
    """The numbers of a study of the driven oscillator are those of the trajectories `finished`, and no others."""
    finished = np.asarray(finished)
    end = 1 + (finished - 1) * np.cos(T)
    assert found.interrupted
    assert (found.done, len(found), len(found.failed)) == (len(finished), n, 0)
    assert found.finished.tolist() == finished.tolist()
    ends = found.results["end"]["q"]
    assert np.flatnonzero(np.isfinite(ends)).tolist() == finished.tolist()
    assert ends[finished] == pytest.approx(end, rel=1e-6, abs=1e-6)
    moments = found.results["m"]
    assert moments.count == len(finished)
    assert moments.mean["q"] == pytest.approx(end.mean(), rel=1e-6)
    assert moments.maximum["q"] == ends[finished].max()
    low, high = np.quantile(end, 0.5, method="lower"), np.quantile(end, 0.5, method="higher")
    (median,) = found.results["median"].values
    assert low * (1 - 2**-10) <= median <= high * (1 + 2**-10)
    assert f"interrupted: {len(finished)} of {n} trajectories are finished" in found.summary()


@pytest.mark.slow
def test_what_has_ended_counts_and_the_rest_runs_later(tmp_path: Path) -> None:
    """In the first chunk, then in the second: each call goes on from the trajectory that was under way."""
    study(Press(), out=tmp_path / "whole")
    out = tmp_path / "pressed"
    for at in (700, 1800, BLOCK + 33):
        found = pressed(at, finished=at, out=out, threads=1)
        check(found, np.arange(at))
        opened = cg.open_study(out)
        check(opened, np.arange(at))
        assert bits(opened) == bits(found)
    again = study(Press(), out=out, threads=1)
    assert not again.interrupted
    assert again.done == N
    assert again.finished.tolist() == list(range(N))
    assert bits(again) == bits(study(Press()))
    assert files(out) == files(tmp_path / "whole")


class Sleepy(Press):
    """The trajectory 0 goes on until the study has returned; the others begin after it has."""

    def __call__(self, t: float, y: Any) -> float:
        if t == 0 and y[0] == 0:
            STARTED.set()
            RETURNED.wait(20)
        STARTED.wait(20)
        return super().__call__(t, y)


def test_a_chunk_of_which_nothing_has_ended(tmp_path: Path) -> None:
    """It is a gap before the trajectories that count, also in the folder and in what is converted piece by piece."""
    n, finished = CHUNK + 500, CHUNK + np.arange(40)
    begin = time.monotonic()
    with ctrl_c_heard(), pytest.warns(RuntimeWarning, match=f"interrupted: 40 of {n} trajectories"):
        found = study(Sleepy(CHUNK + 40), n, out=tmp_path, threads=2)
    RETURNED.set()
    assert time.monotonic() - begin < 10  # the thread that goes on is not waited for
    check(found, finished, n)
    opened = cg.open_study(tmp_path)
    check(opened, finished, n)
    pieces = [(first, views["end"].variables().arrays["q"][1]) for first, views in opened.pieces()]
    assert [first for first, _ in pieces] == [0, CHUNK]
    ends = np.concatenate([rows.ravel() for _, rows in pieces])
    assert np.flatnonzero(np.isfinite(ends)).tolist() == finished.tolist()


class Twice(Press):
    """Presses Ctrl-C once more while the study waits for this trajectory."""

    def __call__(self, t: float, y: Any) -> float:
        found = super().__call__(t, y)
        if t == 0 and y[0] in self.at:
            press_ctrl_c()
            time.sleep(LEAVE / 2)
        return found


def test_a_second_ctrl_c_raises(tmp_path: Path) -> None:
    """At once, and without the study's own handler afterwards; the folder goes on."""
    with ctrl_c_heard():
        with pytest.raises(KeyboardInterrupt):
            study(Twice(700), out=tmp_path, threads=1)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert bits(study(Twice(), out=tmp_path)) == bits(study())


def test_an_until_study_is_interrupted() -> None:
    """After the decision at 4096 trajectories; nothing is said about a precision that was not reached."""
    until = cg.precision("m", relative=1e-9)
    found = pressed(BLOCK + 300, finished=BLOCK + 300, n=2 * BLOCK, until=until, threads=1)
    assert len(found) >= found.done == BLOCK + 300
    assert found.results["m"].count == found.done


def test_a_handler_of_the_caller_stays() -> None:
    """What it raises ends the study, whose threads are not waited for."""

    def handler(*_: Any) -> None:
        raise InterruptedError("mine")

    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(InterruptedError, match="mine"):
            study(Press(700), threads=1)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


@functools.cache
def spring() -> Any:
    """With an event, which lanes find too."""
    return sprung("sprung", 0, events=[cg.Event(X, name="zero", direction=1)]).compile()


def swings(
    span: float, n: int, out: Path | None, long: bool = False, along: bool = True, **options: Any
) -> Any:
    """Everything that can be kept; with `long`, one trajectory of each block of 4096 takes a thousand times longer.

    Without `along`, what is found while a trajectory runs, they run in lanes.
    """
    k = 4 + 0.1 * np.random.default_rng(1).normal(size=n)
    if long:
        k[50::BLOCK] *= 1e6
    collect = {
        "m": cg.moments("x", "energy", at=[span / 2, span]),
        "q": cg.quantiles("x_dot", [0.1, 0.5]),
        "h": cg.histogram("x", [-1, 0, 1]),
        "end": cg.final("x"),
        "all": cg.table("k", "status", "nfev"),
        "p": cg.probability(cg.peak("x_dot") > 2.1 if along else sp.Symbol("x_dot", real=True) > 0),
        "i": cg.integral("x") if along else cg.final("x_dot"),
        "first": cg.first_passage("zero"),
        "zeros": cg.events("zero"),
    }
    start = {"x": stats.norm(1, 0.1), "x_dot": 0.0}
    given = {
        "n": n,
        "seed": 3,
        "collect": collect,
        "max_steps": 10**9,
        "rtol": 1e-9,
        "atol": 1e-12,
        **options,
    }
    return cg.study(spring(), (0, span), start, {"k": k}, out=out, **given)


def numbers(found: Any) -> list[bytes]:
    r = found.results
    tables = [
        r["m"].covariance,
        r["m"].mean["energy"],
        r["q"].values,
        r["h"].counts,
        r["end"]["x"],
        r["all"]["nfev"],
    ]
    along = r["i"]["x_dot"] if isinstance(r["i"], dict) else r["i"]
    tables += [r["p"].count, r["p"].n, along, r["first"], r["zeros"].t, r["zeros"].trajectory]
    return [np.ascontiguousarray(table).tobytes() for table in tables]


def goes_on(tmp_path: Path, seconds: float, span: float, n: int, **options: Any) -> tuple[float, Any]:
    """Ctrl-C after some seconds, what counts then, and the rest of the study.

    Gives how long each processor has worked from then until it returned, which other processes do not prolong.
    """
    began = time.process_time()
    with (
        ctrl_c_after(seconds),
        pytest.warns(RuntimeWarning, match=f"interrupted: [0-9]+ of {n} trajectories"),
    ):
        found = swings(span, n, tmp_path / "pressed", **options)
    late = (time.process_time() - began - seconds) / (os.cpu_count() or 1)
    again, whole = (
        swings(span, n, tmp_path / "pressed", **options),
        swings(span, n, tmp_path / "whole", **options),
    )
    assert not again.interrupted
    assert numbers(again) == numbers(whole)
    assert files(tmp_path / "pressed") == files(tmp_path / "whole")
    part, all_of_them, which = found.results, whole.results, found.finished
    assert 0 < found.done == len(which) < n
    for name, key in (("end", "x"), ("all", "k"), ("all", "nfev"), ("all", "status")):
        expected = np.full(n, np.nan)
        expected[which] = all_of_them[name][key][which]
        assert part[name][key].tobytes() == expected.tobytes()
    assert part["m"].count.tolist() == [found.done] * 2
    assert part["p"].n == part["h"].counts.sum() + part["h"].below + part["h"].above == found.done
    assert part["q"].counts[0].total == found.done
    ends = all_of_them["end"]["x"][which]
    assert part["m"].mean["x"][1] == pytest.approx(ends.mean(), rel=1e-12)
    assert part["h"].counts.tolist() == [((ends >= -1) & (ends < 0)).sum(), ((ends >= 0) & (ends < 1)).sum()]
    mine = np.isin(all_of_them["zeros"].trajectory, which)
    assert part["zeros"].t.tobytes() == all_of_them["zeros"].t[mine].tobytes()
    return late, found


@pytest.mark.slow
def test_trajectories_in_lanes_go_on_to_the_same_bits(tmp_path: Path) -> None:
    swings(3, 20_000, None, along=False)  # compiles
    late, _ = goes_on(tmp_path, 0.15, 30, 60_000, along=False)
    assert late < 2


@pytest.mark.slow
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize(("span", "n"), [(30, 80_000), (100, 24_000), (300, 8_000)])
def test_long_studies_return_within_two_seconds(tmp_path: Path, span: float, n: int, long: bool) -> None:
    swings(3, 20_000, None)
    late, _ = goes_on(tmp_path, 1, span, n // 2 if long else n, long=long)
    assert late < 2


SCRIPT = """
import sys, time, warnings
sys.path += {paths!r}
from pathlib import Path
from cluster_models import *
from test_study_ctrl_c import Slow

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    out = Path(sys.argv[1])
    begin = time.monotonic()
    found = study(Slow(out.parent / "seen"), out=out, workers=2)
    print(found.done, found.interrupted, time.time(), flush=True)
"""


class Slow:
    """The input f = 1, which takes a while; the trajectory 20 leaves a file."""

    def __init__(self, seen: Path) -> None:
        self.seen = seen

    def __call__(self, t: float, y: Any) -> float:
        if t == 0:
            time.sleep(0.002)
            if y[0] == 20:
                self.seen.touch()
        return 1.0


@pytest.mark.skipif(os.name == "nt", reason="needs process groups")
@pytest.mark.slow
def test_processes_stop_too(tmp_path: Path) -> None:
    """As by a terminal, Ctrl-C reaches all processes; no other one is left, and the folder goes on."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(paths=sys.path))
    out, seen = tmp_path / "study", tmp_path / "seen"
    process = subprocess.Popen(
        [sys.executable, str(script), str(out)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    while not seen.exists():
        assert process.poll() is None
        time.sleep(0.01)
    pressed = time.time()
    os.killpg(process.pid, signal.SIGINT)
    answer, _ = process.communicate(timeout=30)
    done, interrupted, returned = answer.split()
    assert interrupted == "True"
    assert 20 <= int(done) < N
    assert float(returned) - pressed < 2
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("a process is left")
    check(cg.open_study(out), cg.open_study(out).finished)
    assert bits(study(Slow(seen), out=out)) == bits(study())


def test_what_is_damaged_runs_again(tmp_path: Path) -> None:
    pressed(700, out=tmp_path, threads=1)
    (file,) = tmp_path.glob("begun-*")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="begun-.* is damaged; the study makes it again"):
        assert cg.open_study(tmp_path).done == 0
    with pytest.warns(RuntimeWarning, match="begun-.* is damaged; the study makes it again"):
        assert bits(study(Press(), out=tmp_path)) == bits(study())
    assert [file.name[:5] for file in tmp_path.glob("*.zip")] == ["chunk"]


def test_an_executor_of_others_is_not_waited_for() -> None:
    """What it has run counts; what runs there cannot be told to stop."""
    with ThreadPoolExecutor(1) as pool:
        begin = time.monotonic()
        with ctrl_c_heard(), pytest.warns(RuntimeWarning, match=f"interrupted: {BLOCK} of {N}"):
            found = study(Press(BLOCK + 3, wait=20), workers=pool)
        RETURNED.set()
        assert time.monotonic() - begin < 10
    check(found, np.arange(BLOCK))


@pytest.mark.slow
def test_workers_of_dask_are_not_waited_for(tmp_path: Path) -> None:
    """Each of the two chunks takes eight seconds; nobody knows how far they are."""
    distributed = pytest.importorskip("distributed")
    options = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        seen, heard = tmp_path / "seen", []

        def press() -> None:
            while not seen.exists():
                time.sleep(0.01)
            heard.append(time.monotonic())
            press_ctrl_c()

        threading.Thread(target=press).start()
        with ctrl_c_heard(), pytest.warns(RuntimeWarning, match=f"interrupted: 0 of {N} trajectories"):
            found = study(Slow(seen), workers=client)
        assert time.monotonic() - heard[0] < 2
    assert (found.done, dict(found.results)) == (0, {})


def test_the_end_reaches_what_begins_later() -> None:
    heard: list[str] = []
    stop = Stop(lambda: heard.append("first"))
    with stop.ends(lambda: heard.append("never")):
        pass
    with stop.ends(lambda: heard.append("second")):
        assert not heard
        stop()
    with stop.ends(lambda: heard.append("third")):
        assert heard == ["first", "second", "third"]

"""Studies on other processes and hosts: the same bits, whatever runs them and whatever of it is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from cluster_models import BLOCK, N, Push, T, bits, driven, study
from integrations import without_a_compiler
from refusals import refused

import chaplygin as cg
from chaplygin.generated import harmonic_oscillator
from chaplygin.runtime.statistics.part import CRASHED, Tallies
from chaplygin.runtime.statistics.sketches import CHUNK
from chaplygin.runtime.studies import run as schedule, workers
from chaplygin.runtime.studies.pickling import WorkerError, pack, unpack
from chaplygin.runtime.studies.run import (
    AHEAD,
    WAITING,
    FailedTrajectoryError,
    StudySchedule,
    run_study as run,
)
from chaplygin.runtime.studies.workers import Without

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals")

HERE = str(Path(__file__).parents[2] / "support")
DOCS = Path(__file__).parents[3] / "docs"
CACHE = os.environ["CHAPLYGIN_CACHE"]


ROWS = ([0.0, 0.03, 0.1], np.random.default_rng(1).normal(size=(N, 3)), "linear")
PUSHES = {"function": Push(), "rows": ROWS, "noise": cg.noise.ou(tau=0.05, sigma=1.0, dt=0.01)}


@pytest.mark.parametrize("push", PUSHES.values(), ids=PUSHES)
@pytest.mark.sample(1)
def test_processes_give_the_same_bits(push: Any) -> None:
    """Input functions, arrays with a number or a row for each trajectory, and noise travel to three processes."""
    assert bits(study(push, workers=3, seed=7)) == bits(study(push, seed=7))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:1 of the trajectories crashed")
def test_a_trajectory_that_crashes_costs_only_itself() -> None:
    """One of the second chunk kills its process: all others have the bits that they have without it."""
    fatal = BLOCK + 3
    found, whole = study(Push((fatal,)), workers=1), study(Push())
    assert found.failed.tolist() == [fatal]
    assert found.failed_status.tolist() == [CRASHED]
    assert found.summary().startswith(f"{N} trajectories of driven: {N - 1} ok, 1 crashed")
    end, expected = found.results["end"]["q"], whole.results["end"]["q"].copy()
    expected[fatal] = np.nan
    assert end.tobytes() == expected.tobytes()
    rest = np.delete(1 + (np.arange(N) - 1) * np.cos(T), fatal)
    assert found.results["m"].count == N - 1
    assert found.results["m"].mean["q"] == pytest.approx(rest.mean(), rel=1e-6)


def test_without_some_trajectories() -> None:
    job = study().job
    first, end = 0, 20
    all_of_them, some = (job.ensemble(first, end, Without(lost))[0] for lost in ((), (0, 5, 6, 19)))
    assert some.status.tolist() == [CRASHED if i in (0, 5, 6, 19) else 0 for i in range(20)]
    kept = some.status == 0
    assert some.y[:, kept].tobytes() == all_of_them.y[:, kept].tobytes()
    assert np.isnan(some.y[:, ~kept]).all()


@pytest.mark.slow
def test_crashes_in_several_chunks() -> None:
    fatal = [17, BLOCK - 1, BLOCK, BLOCK + 40]
    with pytest.warns(RuntimeWarning, match=rf"crashed .*: 17, {BLOCK - 1} to {BLOCK}, {BLOCK + 40}$"):
        found = study(Push(tuple(fatal)), workers=2)
    assert found.failed.tolist() == fatal
    with pytest.raises(FailedTrajectoryError, match="trajectory 17 failed: crashed"):
        study(Push(tuple(fatal)), workers=2, on_failure="raise")


@pytest.mark.slow
def test_a_worker_that_dies_once_costs_nothing(tmp_path: Path) -> None:
    """Also where the executor is somebody else's and breaks."""
    whole = bits(study(Push()))
    assert bits(study(Push((5,), tmp_path / "first"), workers=2)) == whole
    assert (tmp_path / "first").exists()
    with (
        ProcessPoolExecutor(2) as pool,
        pytest.warns(RuntimeWarning, match="the executor broke.* 2 processes"),
    ):
        assert bits(study(Push((5,), tmp_path / "second"), workers=pool)) == whole


class Timed(workers.Workers):
    """Three workers that are done with a task at once, and say that a chunk took 0.1 s. `orders`: chunks of each task.

    With `slow` the first task is not done until the others have nothing to do.
    """

    grain = workers.GRAIN

    def __init__(self, slow: bool) -> None:
        super().__init__(study().job, Deadly(0), 3)
        self.orders: list[int] = []
        self.first: Future[Any] | None = Future() if slow else None

    def submit(self, places: Any, deaths: int = 0) -> Future[Any]:
        self.orders.append(len(places))
        if self.first is not None and not places[0][0]:
            return self.first
        done: Future[Any] = Future()
        done.set_result(([Tallies(a, b - a, {}, NONE, NONE, 0, ()) for a, b in places], 0.1))
        return done

    def check(self) -> None:
        assert self.first is not None
        self.first.set_result(([Tallies(0, BLOCK, {}, NONE, NONE, 0, ())], 0.1))


NONE = np.empty(0, dtype=np.int64)
PLACES = [(first, first + BLOCK) for first in range(0, 200 * BLOCK, BLOCK)]


def test_tasks_take_half_a_second() -> None:
    """Five chunks in each, but fewer at the end, so that all workers end together."""
    timed = Timed(slow=False)
    parts = StudySchedule(PLACES, timed, None, lambda *_: None).parts()
    assert [part.first for part in parts] == [first for first, _ in PLACES]
    assert set(timed.orders[: AHEAD * 3]) == {1}  # none is measured yet
    assert timed.orders[AHEAD * 3 : 30] == [5] * (30 - AHEAD * 3)
    assert timed.orders[-1] == 1
    assert sum(timed.orders) == len(PLACES)


def test_memory_is_bounded_while_an_early_chunk_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than `WAITING` tasks for each worker are handed out before the first one is done."""
    monkeypatch.setattr(schedule, "PATIENCE", 0.01)
    timed = Timed(slow=True)
    parts = StudySchedule(PLACES, timed, None, lambda *_: None).parts()
    assert next(parts).first == 0
    assert len(timed.orders) == WAITING * 3
    assert [part.first for part in parts] == [first for first, _ in PLACES[1:]]


class Deadly(ThreadPoolExecutor):
    """Its workers die of everything that contains the trajectory `fatal`."""

    def __init__(self, fatal: int) -> None:
        super().__init__(1)
        self.fatal, self.orders = fatal, 0

    def submit(self, task: Any, /, *given: Any, **more: Any) -> Future[Any]:
        self.orders += 1
        if all(not first <= self.fatal < last for first, last, _ in unpack(given[1])):
            return super().submit(task, *given, **more)
        future: Future[Any] = Future()
        future.set_exception(BrokenExecutor("a worker died"))
        return future


def test_a_chunk_that_kills_every_worker_is_lost_and_the_rest_is_returned() -> None:
    with Deadly(BLOCK + 1) as pool, pytest.warns(RuntimeWarning, match=f"^100 .*: {BLOCK} to {N - 1}$"):
        found = study(workers=pool)
    assert pool.orders == 2 + workers.MOST_DEATHS
    assert found.failed.tolist() == list(range(BLOCK, N))
    assert set(found.failed_status) == {CRASHED}
    assert found.results["end"]["q"][:BLOCK].tobytes() == study().results["end"]["q"][:BLOCK].tobytes()
    assert np.isnan(found.results["end"]["q"][BLOCK:]).all()


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of workers that is empty, and a compiler that writes down what it links; gives the path of its notes."""
    model = driven()
    assert model.owner is not None  # built in the cache of this process
    notes, compiler = tmp_path / "notes", tmp_path / "cc"
    compiler.write_text(
        f"""#!/bin/sh
case " $* " in *" -shared "*) for word; do case $word in *.so) echo $word >> {notes};; esac; done;; esac
exec cc "$@"
"""
    )
    compiler.chmod(0o755)
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(tmp_path / "cache"))
    return notes


@pytest.mark.slow
def test_the_model_is_built_once_for_all_workers_of_a_host(fresh: Path) -> None:
    """Two processes with an empty cache build the model, its lanes and its expressions once, the next one nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHAPLYGIN_CACHE", CACHE)
        patch.delenv("CC")
        q = sp.Symbol("q", real=True)
        whole = study(2.0, collect={"end": cg.final("q"), "p": cg.probability(q**2 > 9), "i": cg.integral(q)})
    for size in (2, 1):
        found = run(whole.job, None, size, "exclude", False, None, False)
        assert found.results["end"]["q"].tobytes() == whole.results["end"]["q"].tobytes()
        assert found.results["i"].tobytes() == whole.results["i"].tobytes()
        assert found.results["p"].count == whole.results["p"].count == N - 4
        linked = Counter(name.split(".")[0].rstrip("0123456789") for name in fresh.read_text().split())
        companions = 1 + len(whole.job.observer.paths)  # of the condition, and of the integral for each width
        assert linked == {"driven": 1, "driven_lanes_": 1, "driven_companion_": companions}


def test_what_travels_needs_no_derivation(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process loads the model from its sources, without SymPy; with other versions it is refused."""
    content = pack(driven())
    (tmp_path / "model").write_bytes(content)
    code = """
        import sys
        from pathlib import Path
        from chaplygin.runtime.studies.pickling import unpack

        model = unpack(Path(sys.argv[1]).read_bytes())
        print(model.digest, "sympy" in sys.modules, model.owner.__file__)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "model")]
    digest, derives, file = subprocess.check_output(command, text=True).split()
    assert (digest, derives) == (driven().digest, "False")
    assert Path(file).parent.parent == tmp_path / "cache"
    stamp = "chaplygin.codegen.toolchain.cache.generator_stamp"
    refusals: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
        "another version of chaplygin": lambda patch: patch.setattr(stamp, lambda: "other"),
        r"has numpy 0\.1, the study comes from .* install the same versions": lambda patch: patch.setattr(
            "numpy.__version__", "0.1"
        ),
        "load the study: no C compiler found": without_a_compiler,
    }
    for text, change in refusals.items():
        with monkeypatch.context() as patch:
            patch.delenv("CC")
            change(patch)
            refused(rf"the worker on \S+ .*{text}", unpack, content, error=WorkerError)


def test_models_of_the_package_travel_by_name() -> None:
    model = harmonic_oscillator.model
    assert len(pack(model)) < 1000
    assert unpack(pack(model)) is model


class Client:
    """A client of Dask that is not one."""

    asynchronous, status = True, "running"


Client.__module__ = "distributed.client"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (0, "workers = 0 must be a positive integer"),
        (True, "workers = True must be a number of processes, a dask.distributed.Client, or an executor"),
        ("tcp://127.0.0.1:8786", "workers = 'tcp://127.0.0.1:8786' must be a number of processes"),
        (ThreadPoolExecutor, "workers = <class .*> must be a number of processes"),
        (Client(), "workers: the client is asynchronous"),
    ],
)
def test_workers_of_the_wrong_kind(given: Any, text: str) -> None:
    refused(text, study, workers=given)
    refused("threads are those of this process", study, workers=given, threads=2)


@pytest.mark.slow
def test_dask_is_not_imported() -> None:
    code = "import cluster_models, sys; cluster_models.study(workers=1); print('dask' in sys.modules)"
    main = f"if __name__ == '__main__':\n    {code}\n"
    assert (
        subprocess.check_output([sys.executable, "-c", main], env={**os.environ, "PYTHONPATH": HERE})
        == b"False\n"
    )


@contextmanager
def local_cluster() -> Iterator[Any]:
    """A client of two worker processes that listen on this machine only."""
    distributed = pytest.importorskip("distributed")
    options = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": 50}
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options)
    with local as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.slow
def test_two_workers_of_dask_give_the_same_bits() -> None:
    whole = [bits(study(push, seed=7)) for push in PUSHES.values()]
    with local_cluster() as client:
        assert [bits(study(push, workers=client, seed=7)) for push in PUSHES.values()] == whole
    refused("workers: the client is closed", study, workers=client)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:1 of the trajectories crashed")
def test_a_trajectory_that_kills_its_dask_workers() -> None:
    """Four workers die before Dask gives it up; then it is found."""
    with local_cluster() as client:
        found = study(Push((17,)), workers=client)
    assert found.failed.tolist() == [17]
    assert (np.isnan(found.results["end"]["q"]) == (np.arange(N) == 17)).all()


@contextmanager
def commands(folder: Path, count: int, *options: str, **more: Any) -> Iterator[tuple[Any, list[int]]]:
    """A scheduler and workers started by Dask's commands: a client, and the numbers of the processes of workers."""
    distributed = pytest.importorskip("distributed")
    dask, file = [sys.executable, "-m", "dask"], str(folder / "scheduler.json")
    local = ["--host", "127.0.0.1", "--no-dashboard", *options]
    where = ["--scheduler-file", file]
    orders = [[*dask, "scheduler", "--port", "0", *local, *where]]
    orders += [[*dask, "worker", "--nthreads", "1", "--no-nanny", *local, *where] for _ in range(count)]
    started = [
        subprocess.Popen(order, env={**os.environ, "PYTHONPATH": HERE}, stderr=subprocess.DEVNULL)
        for order in orders
    ]
    try:
        with distributed.Client(scheduler_file=file, **more) as client:
            client.wait_for_workers(count, timeout=60) if count else None
            yield client, [process.pid for process in started[1:]]
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_dask_worker_is_killed_in_mid_run(tmp_path: Path) -> None:
    """One of two workers, while it runs a task: the folder has the bytes of a study in one process."""
    n, seen = 4 * CHUNK, tmp_path / "seen"
    seen.mkdir()
    study(Push(), n, out=tmp_path / "whole")
    with commands(tmp_path, 2) as (client, (victim, _)):

        def kill() -> None:
            while not (seen / str(victim)).exists():
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        study(Push(seen=seen), n, out=tmp_path / "killed", workers=client)
        killer.join()
        assert len(client.nthreads()) == 1
    assert chunks(tmp_path / "killed") == chunks(tmp_path / "whole")


def chunks(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("chunk-*"))}


CERTIFICATES = """
openssl req -x509 -newkey rsa:2048 -nodes -days 365 -keyout ca.key -out ca.pem -subj "/CN=our studies"
openssl req -newkey rsa:2048 -nodes -keyout node.key -out node.csr -subj "/CN=node"
openssl x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 365 -out node.pem
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_encrypted_connections(tmp_path: Path) -> None:
    """With the certificates of docs/cluster.md: a study by TLS, and no client without a certificate."""
    distributed = pytest.importorskip("distributed")
    assert all(line in (DOCS / "cluster.md").read_text() for line in CERTIFICATES.strip().splitlines())
    subprocess.run(["sh", "-ec", CERTIFICATES], cwd=tmp_path, check=True, capture_output=True)
    ca, cert, key = (str(tmp_path / name) for name in ("ca.pem", "node.pem", "node.key"))
    options = ["--protocol", "tls", "--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key]
    security = distributed.Security(
        tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True
    )
    with commands(tmp_path, 1, *options, security=security) as (client, _):
        address = client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        assert bits(study(Push(), workers=client)) == bits(study(Push()))
        with pytest.raises((OSError, TypeError)):
            distributed.Client(address, timeout=5)


@pytest.mark.slow
def test_a_client_that_is_killed_goes_on_from_its_folder(tmp_path: Path) -> None:
    """With processes first, then with Dask: equal bytes."""
    n = 4 * CHUNK
    study(Push(), n, out=tmp_path / "whole")
    code = (
        f"from cluster_models import *\nstudy(Push(), {n}, workers=2, out=Path({str(tmp_path / 'killed')!r}))"
    )
    script = tmp_path / "client.py"
    script.write_text(code.replace("\n", "\nif __name__ == '__main__':\n    "))
    process = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": HERE})
    while not list((tmp_path / "killed").glob("chunk-*")):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert len(chunks(tmp_path / "killed")) < 4
    with local_cluster() as client:
        study(Push(), n, out=tmp_path / "killed", workers=client)
    assert chunks(tmp_path / "killed") == chunks(tmp_path / "whole")


@pytest.mark.slow
def test_a_scheduler_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    text = r"the scheduler at tcp://127\.0\.0\.1:\d+ has no workers after 0\.5 s"
    with commands(tmp_path, 0) as (client, _), pytest.raises(WorkerError, match=text):
        study(workers=client)

"""A build in two stages: the kernels are compiled immediately, the rest in the background of the first runs.

The first stage compiles the C core without methods, a tenth of the work, and runs it through the runtime's table of
methods. Meanwhile a second process (`worker`) builds the cache entry: the same core with the methods compiled in, and
the Cython module. When that is ready, the model switches to it: same object, same bits, faster steps.

Only reproducible models are built this way: in others the last bits may depend on how the code was compiled.

With CHAPLYGIN_BACKGROUND=0 in the environment nothing is compiled in the background: the rest is built when something
needs it, such as an ensemble, or never.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from chaplygin.runtime.errors import BuildError

from . import cache
from .extension import build, build_quick

if TYPE_CHECKING:
    from chaplygin.runtime.model import Model

    from ..lower.sources import Sources

PATIENCE = 1.0
"""Seconds to wait for builds silently."""

_running: dict[str, Build] = {}  # by key
_postponed: WeakValueDictionary[tuple[str, str], Model] = WeakValueDictionary()  # by cache folder and key


class _Turns:
    """Limits concurrent builds to the `free` turns; a build that a caller waits for needs no turn."""

    def __init__(self, free: int) -> None:
        self.free = free
        self.changed = threading.Condition()

    @contextmanager
    def taken(self, build: Build) -> Iterator[None]:
        with self.changed:
            if self.free <= 0 and not build.awaited:
                build.worker.step_aside()
            self.changed.wait_for(lambda: self.free > 0 or build.awaited)
            self.free -= 1
        try:
            yield
        finally:
            with self.changed:
                self.free += 1
                self.changed.notify_all()

    def hurry(self, build: Build) -> None:
        """Let this build start without a turn, because a caller waits for it."""
        with self.changed:
            build.awaited = True
            self.changed.notify_all()


_turns: _Turns


def _free_turns() -> None:
    """Allow as many concurrent builds as keep the processors busy: each runs Cython and a C compiler in parallel."""
    global _turns
    _turns = _Turns(max(1, (os.cpu_count() or 1) // 2))


_free_turns()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_turns)  # the threads that hold turns do not exist in the child


def complete(key: str, sources: Callable[[], Sources], *, reproducible: bool, inline: bool) -> Model:
    """The fully built model of `key`; waits if a build is running. Raises as `build` does."""
    from chaplygin.runtime.loading import load_model

    running = _running.get(key)
    if running is not None:
        running.wait()
        return running.model
    postponed = _postponed.get((str(cache.cache_folder()), key))
    if postponed is not None:
        postponed._complete()
        return postponed
    return load_model(build(sources(), key=key, reproducible=reproducible, inline=inline))


def begin(key: str, sources: Callable[[], Sources], *, inline: bool) -> Model:
    """A reproducible model of `key` as soon as its kernels are compiled; the rest is built in the background.

    `sources` is called unless the model is already being built. Raises as `build` does.
    """
    from chaplygin.runtime.loading import load_model

    running = _running.get(key)
    if running is not None:
        return running.model
    if os.environ.get("CHAPLYGIN_BACKGROUND") == "0":
        return _postpone(key, sources, inline)
    try:
        worker = _Worker(key)
    except OSError:  # this interpreter cannot be started a second time
        return complete(key, sources, reproducible=True, inline=inline)
    try:
        texts = sources()
        answer = worker.answer()
        # Another thread may have begun it, if its worker waits for its turn without the lock.
        running = _running.get(key) if "mine" in answer else None
        if "mine" in answer and running is None:
            return Build(key, texts, inline, worker, _quick(key, texts)).model
        worker.end()
        if running is not None:
            return running.model
        if "found" in answer:
            return load_model(answer["found"])
        return complete(key, lambda: texts, reproducible=True, inline=inline)
    except BaseException:
        worker.abandon()
        worker.end()
        raise


def _quick(key: str, texts: Sources) -> Model:
    """A model that runs through the table of the runtime."""
    from chaplygin.runtime.loading import load_library

    with cache.workspace() as work:
        return load_library(build_quick(texts, work, key=key), texts.name)


def _postpone(key: str, sources: Callable[[], Sources], inline: bool) -> Model:
    """A model whose rest is built when something needs it."""
    place = str(cache.cache_folder()), key
    model = _postponed.get(place)
    if model is None:
        texts = sources()
        model = _quick(key, texts)
        model._rest = _Rest(key, texts, inline, model).build
        _postponed[place] = model
    return model


class _Rest:
    """The rest of a postponed build."""

    def __init__(self, key: str, sources: Sources, inline: bool, model: Model) -> None:
        self.key, self.sources, self.inline, self.model = key, sources, inline, model
        self.error: BuildError | None = None
        self.lock, self.pid = threading.Lock(), os.getpid()

    def build(self) -> None:
        """Build it, once. Raises BuildError, the same again on later calls."""
        if os.getpid() != self.pid:  # forked, perhaps while another thread held the lock
            self.lock, self.pid = threading.Lock(), os.getpid()
        with self.lock:
            if self.error is not None:
                raise self.error
            if self.model._rest is None:
                return
            try:
                _take_over(self.model, build(self.sources, key=self.key, inline=self.inline))
            except BuildError as error:
                self.error = error
                _warn_incomplete(self.model, error)
                raise


def _warn_incomplete(model: Model, error: BuildError) -> None:
    warnings.warn(
        f"the model {model.name!r} runs, but its build could not be completed: it is slower than it could be, and it "
        f"is not cached. {error}",
        RuntimeWarning,
        stacklevel=3,
    )


def _take_over(model: Model, module: Path) -> None:
    from chaplygin.runtime.loading import take_over

    take_over(model, module)
    model._rest = None


class _Worker:
    """The second process: see `worker`."""

    def __init__(self, key: str) -> None:
        """Start it. Raises OSError where that is impossible: in a frozen program, or one that embeds Python."""
        name = os.path.basename(sys.executable or "").lower()
        if getattr(sys, "frozen", False) or not ("python" in name or "pypy" in name):
            raise OSError(f"{sys.executable!r} is not a Python interpreter")
        code = (
            "import sys; sys.path[:] = sys.argv[2:]; from chaplygin.codegen.build.worker import serve; "
            "serve(sys.argv[1])"
        )
        path = [entry for entry in sys.path if isinstance(entry, str)]
        # In a separate session, so that Ctrl-C, meant for a run, does not reach it.
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, key, *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.orders, self.answers = self.process.stdin, self.process.stdout

    def answer(self) -> dict[str, Any]:
        """Its next message; an error message if it has ended without one."""
        line = self.answers.readline()
        if not line:
            return {"error": f"the build process ended early (code {self.process.wait()})", "log": None}
        found: dict[str, Any] = json.loads(line)
        return found

    def step_aside(self) -> None:
        """Let it give up the entry's lock until its order comes, so that other processes need not wait for it."""
        with suppress(OSError):
            self.orders.write(b'{"later": true}\n')
            self.orders.flush()

    def order(self, sources: Sources, inline: bool) -> None:
        """Send it the sources to build."""
        order = {**asdict(sources), "inline": inline}
        with suppress(OSError), self.orders:  # `answer` notices a dead process
            self.orders.write(json.dumps(order).encode() + b"\n")

    def abandon(self) -> None:
        """Terminate it and its compilers; it removes its unfinished files."""
        with suppress(OSError):
            if hasattr(os, "killpg") and self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGTERM)
            else:
                self.process.terminate()

    def end(self) -> None:
        """Wait for it to end."""
        for pipe in (self.orders, self.answers):
            with suppress(OSError):
                pipe.close()
        self.process.wait()


class Build:
    """The rest of a build, which runs in the background while its model is used."""

    def __init__(self, key: str, sources: Sources, inline: bool, worker: _Worker, model: Model) -> None:
        self.key, self.sources, self.inline, self.worker, self.model = key, sources, inline, worker, model
        self.pid = os.getpid()
        self.error: BuildError | None = None
        self.abandoned = self.awaited = False
        model._rest = self.wait
        # A daemon: the interpreter would wait silently for any other thread, and before `_finish`.
        self.thread = threading.Thread(target=self._follow, name=f"build of {sources.name}", daemon=True)
        if not _running:
            atexit.unregister(_finish)
            atexit.register(_finish)
        _running[key] = self
        self.thread.start()

    def wait(self) -> None:
        """Return when the model uses the complete build. Raises BuildError if that failed."""
        if os.getpid() == self.pid:
            _turns.hurry(self)
            self.thread.join(PATIENCE)
            if self.thread.is_alive() and sys.stderr is not None:
                print(f"compiling {self.model.name}: waiting for the build to finish", file=sys.stderr)
            self.thread.join()
        elif self.model._rest is not None:
            # A forked child has neither the thread nor the second process: wait as any other process would.
            _take_over(self.model, build(self.sources, key=self.key, inline=self.inline))
        if self.error is not None:
            raise self.error

    def _follow(self) -> None:
        """Wait for the second process, without the GIL, and switch the model to its result."""
        try:
            with _turns.taken(self):
                self.worker.order(self.sources, self.inline)
                answer = self.worker.answer()
            if "made" in answer:
                _take_over(self.model, Path(answer["made"]))
            else:
                raise BuildError(answer["error"], answer["log"] and Path(answer["log"]))
        except Exception as error:
            self.error = (
                error if isinstance(error, BuildError) else BuildError(f"{type(error).__name__}: {error}")
            )
        finally:
            if _running.get(self.key) is self:
                del _running[self.key]
            self.worker.end()
        if self.error is not None and not self.abandoned:
            _warn_incomplete(self.model, self.error)


def _finish() -> None:
    """At the end of the process, let its builds finish."""
    mine = [build for build in _running.values() if build.pid == os.getpid()]
    deadline = time.monotonic() + PATIENCE
    try:
        for build in mine:
            build.thread.join(max(0.0, deadline - time.monotonic()))
        late = [build for build in mine if build.thread.is_alive()]
        if late and sys.stderr is not None:
            names = ", ".join(build.model.name for build in late)
            print(f"chaplygin: still compiling {names} for later runs; Ctrl-C abandons it", file=sys.stderr)
        for build in late:
            while build.thread.is_alive():
                build.thread.join(0.1)
    except KeyboardInterrupt:
        for build in mine:
            build.abandoned = True
            build.worker.abandon()
        for build in mine:
            build.thread.join(5.0)

"""Many trajectories of one model, on all cores."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import arguments
from . import inputs as signals
from .arguments import plain_name
from .columns import Start
from .consistency import Accepted, check_ensemble, remember
from .errors import INTERRUPTED, STATUS_NAMES, ArgumentError, ChaplyginError
from .face import Face
from .happenings import RULES, rule
from .lanes import WORTH, lane_set, one_at_a_time
from .model import Model, require_core
from .solution import Solution

Array = NDArray[np.float64]

__all__ = ["Ensemble", "ensemble"]

SMALLEST_CHUNK, LARGEST_CHUNK = 64, 4096
POLL = 0.05  # seconds between looks at Ctrl-C


class Ensemble:
    """What `ensemble` gives.

    y (n_states, n): the state that each trajectory ended with; with `t_eval` (n_states, n_times, n), NaN where a
    trajectory did not get to. t (n,): the time reached; status (n,): 0 or an error of ``chaplygin.h``; nfev, n_steps
    (n,). ``failed``: indices of trajectories that did not reach the end. ``ens["v"]``: any declared variable, output,
    invariant or input, or "t", shaped as ``y[0]``; a SymPy symbol stands for its name. ``ens.rerun(i)``: one trajectory
    again, as a full `Solution`.
    """

    def __init__(
        self, model: Any, span: tuple[float, float], t_eval: Array | None, start: Start, inputs: signals.Inputs,
        y: Array, t: Array, status: NDArray[np.int32], nfev: NDArray[np.int64], n_steps: NDArray[np.int64],
        options: dict[str, Any], interrupted: bool,
    ) -> None:  # fmt: skip
        self.model = model
        self.t_span = span
        self.t_eval = t_eval
        self.y = y[:, 0, :] if t_eval is None else y
        self.t, self.status, self.nfev, self.n_steps = t, status, nfev, n_steps
        self.interrupted = interrupted
        self._start, self._inputs, self._options = start, inputs, options

    def __len__(self) -> int:
        return len(self.status)

    @property
    def failed(self) -> NDArray[np.intp]:
        """Indices of the trajectories that did not reach the end."""
        return np.flatnonzero(self.status < 0)

    @property
    def success(self) -> bool:
        """Whether every trajectory reached its end."""
        return not bool((self.status < 0).any())

    @property
    def message(self) -> str:
        """How many trajectories ended how."""
        codes, counts = np.unique(self.status, return_counts=True)
        return ", ".join(
            f"{count} {STATUS_NAMES.get(int(code), str(code))}" for code, count in zip(codes, counts)
        )

    def __getitem__(self, name: Any) -> Array:
        model: Face = self.model
        key = plain_name(name)
        if key in model.states:
            state: Array = self.y[model.states.index(key)]
            return state
        if key in ("t", model.along):
            return self.t if self.t_eval is None else np.repeat(self.t_eval[:, None], len(self), axis=1)
        if key not in model.quantities:
            raise arguments.unknown_quantity(key, model.name, model.quantities)
        self._check_modes(key)
        rows = [self._row(key, m) for m in range(1 if self.t_eval is None else len(self.t_eval))]
        return rows[0] if self.t_eval is None else np.array(rows).reshape(len(rows), len(self))

    def _check_modes(self, key: str) -> None:
        """Outputs depend on the modes of contacts, which an ensemble does not keep."""
        if self.model.contacts and key in self.model.outputs:
            raise ArgumentError(
                f"{key} may depend on the modes of the contacts, which an ensemble does not keep: ens.rerun(i)[{key!r}]"
            )

    def _row(self, key: str, m: int) -> Array:
        """A quantity of every trajectory at the m-th of the times asked for, or at the end."""
        model: Face = self.model
        moments = self.t if self.t_eval is None else np.full(len(self), self.t_eval[m])
        y = self.y if self.t_eval is None else self.y[:, m, :]
        u = self._inputs.at(moments, y)
        if key in model.inputs:
            row: Array = u[model.inputs.index(key)]
            return row
        return model._values(moments, y, self._start.table(), u, strict=False)[key]

    def rerun(self, i: int, **changed: Any) -> Solution:
        """Trajectory i again, with every step: a `Solution`. Keywords change options of `integrate`."""
        if isinstance(i, bool) or not isinstance(i, (int, np.integer)):
            raise ArgumentError(
                f"rerun: i = {arguments.short(i)} must be an integer, the number of a trajectory"
            )
        if not -len(self) <= i < len(self):
            raise ArgumentError(f"trajectory {i} is not in an ensemble of {len(self)}")
        i %= len(self)
        x0, p = self._start.of(i)
        result: Solution = self.model.integrate(
            self.t_span, Accepted(x0), p, self._inputs.column(i), **{**self._options, **changed}
        )
        return result

    def __repr__(self) -> str:
        return f"<Ensemble of {len(self)} {self.model.name}: {self.message}>"


def ensemble(
    model: Any,
    t_span: tuple[float, float],
    n: int | None = None,
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    *,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: Any = 1e-9,
    t_eval: Any = None,
    max_step: float = np.inf,
    first_step: float | None = None,
    step: float | None = None,
    max_steps: int = 10_000_000,
    kinks: bool = False,
    paradox: str = "stop",
    threads: int | None = None,
    chunk: int | None = None,
    lanes: int | None = None,
    progress: bool | None = None,
) -> Ensemble:
    """Integrate n trajectories of `model` over `t_span`, each with its own step control.

    Every entry of `initial`, `parameters` and `inputs` is a number, the same for all, or an array with one number
    for each trajectory; a vector may have shape (k,) or (k, n). `n` may be left out where an array gives it. Sampled
    inputs and input functions are shared by all. `threads`: all cores unless given. `lanes`: trajectories that a
    thread runs side by side, 1, 2, 4 or 8; None takes as many as a register of the CPU holds where there are enough
    trajectories for it to pay. `progress`: True shows a bar (tqdm, or a line on stderr), None does so at a terminal
    when it takes longer. Ctrl-C ends the run quickly: what is finished is kept, the rest is NaN with status -5, and a
    RuntimeWarning says so. Failing trajectories disturb no other one; but an input function that raises, or returns
    what is no finite number, ends the whole ensemble, and its error is raised. ``ens[...]`` calls input functions
    again, though not where a state is not finite: what depends on them is NaN there.

    The result does not depend on `threads` and `chunk`, nor on `lanes` where the model was compiled with
    `reproducible=True`: every trajectory has the bits of a single run. With `reproducible=False` the last bits may
    differ between numbers of lanes, and from single runs. One trajectory runs at a time in each thread, and more lanes
    are refused, where the model has events or contacts, where there are input functions, where `kinks` are to be found,
    and where the method is "rodas5p" or "auto". The status of a trajectory that a terminal event ended is 1. `kinks`
    and `paradox` as for `integrate`. Given arrays of more than 16 MB are not copied: leave them as they are as long as
    the ensemble is in use (`rerun` and ``ens[...]`` read them).

    Of a model whose build still goes on beside it (see `System.compile`), a large ensemble, and one in lanes, waits for
    the end of the build.

    Raises `ArgumentError` naming the wrong entry.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> ens = ensemble(model, (0, 10), 3, {"x": [0, 1, 2], "x_dot": 0}, {"m": 1, "k": 4})
    >>> ens["x"].round(6)    # 0, 1 and 2 times cos 20
    array([0.      , 0.408082, 0.816164])
    >>> ens.failed
    array([], dtype=int64)
    """
    if not isinstance(model, Face):
        raise ArgumentError(f"ensemble needs a model, not {type(model).__name__}: compile the system first")
    t0, t1 = arguments.span(t_span)
    moments = None if t_eval is None else arguments.times("t_eval", t_eval, t0, t1)
    if t1 < t0 and model.contacts:
        raise arguments.backward("t_span", "t1 >= t0")
    count = _count(n, initial, parameters, inputs)
    relative, absolute = arguments.tolerances(rtol, atol, model.states)
    controls = signals.parse(inputs, model.inputs, count, model._input_flags)
    options: dict[str, Any] = {
        "method": arguments.text("method", method),
        "rtol": relative,
        "atol": absolute,
        "max_step": max_step,
        "first_step": first_step,
        "step": step,
        "max_steps": max_steps,
        "kinks": arguments.boolean("kinks", kinks),
        "paradox": RULES[rule(paradox)],
    }
    if method not in (*model.methods, "auto"):
        raise arguments.unknown_method(method, model.methods)
    workers = _positive("threads", threads, os.cpu_count() or 1)
    size = None if chunk is None else _positive("chunk", chunk, 1)
    bar = None if progress is None else arguments.boolean("progress", progress)
    if isinstance(model, Model) and count >= WORTH:
        with suppress(ChaplyginError):  # it was told when it happened; the model runs nevertheless
            model._complete()
    lane_library = lane_set(
        model, lanes, count, one_at_a_time(model, method, controls.functions, options["kinks"])
    )
    y = _room(len(model.states), 1 if moments is None else len(moments), count)
    # Every trajectory begins where its first result will be: there is no other array of that size.
    x0 = y[:, 0] if y.shape[1] else np.empty((len(model.states), count))
    start = Start(model, t0, initial, parameters, controls, count, x0)
    check_ensemble(model, t0, start, x0, controls, float(absolute.min()))
    t = np.full(count, t0)
    status = np.full(count, INTERRUPTED, dtype=np.int32)
    nfev, n_steps = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    result = (y, t, status, nfev, n_steps)
    stopped = False
    if isinstance(model, Model):
        require_core()
        from ._core import EnsembleCore

        core = EnsembleCore(
            model, t0, t1, x0, start.parameters, controls, moments, *result, method,
            {key: value for key, value in options.items() if key != "method"}, lane_library,
        )  # fmt: skip
        stopped = _run(core, _pieces(count, workers, size), workers, _Progress(count, bar))
        if core.error is not None:
            raise core.error
    else:
        from .twin import run_ensemble

        stopped = run_ensemble(model, (t0, t1), start, controls, moments, result, options)
    if stopped:
        y[:, :, status == INTERRUPTED] = np.nan
        finished = int((status != INTERRUPTED).sum())
        warnings.warn(
            f"ensemble interrupted: {finished} of {count} trajectories are finished", RuntimeWarning, 2
        )
    remember(model, y, t, start, controls)
    return Ensemble(model, (t0, t1), moments, start, controls, *result, options, stopped)


def _run(core: Any, pieces: list[range], workers: int, bar: _Progress) -> bool:
    """Run all pieces, the last one first; whether Ctrl-C ended it. Threads hold no GIL while they integrate."""
    stopped = False
    finished: list[int] = []

    def work() -> None:
        while pieces:
            try:
                piece = pieces.pop()
            except IndexError:  # another thread was faster
                return
            finished.append(core.run(piece.start, piece.stop))

    pool = ThreadPoolExecutor(workers, thread_name_prefix="chaplygin")
    try:
        pending = {pool.submit(work) for _ in range(min(workers, len(pieces)))}
        while pending:
            done, pending = wait(pending, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            bar.show(sum(finished))
    except KeyboardInterrupt:
        stopped = True
    finally:
        pieces.clear()
        core.stop()
        pool.shutdown(wait=True, cancel_futures=True)
        bar.close()
    return stopped


def _pieces(count: int, workers: int, chunk: int | None) -> list[range]:
    """The trajectories 0 to count in pieces of `chunk`; without it smaller and smaller ones, so that the threads end
    together."""
    pieces, first = [], 0
    smallest = max(1, min(SMALLEST_CHUNK, count // (16 * workers)))
    while first < count:
        size = chunk or max(smallest, min(LARGEST_CHUNK, (count - first) // (4 * workers)))
        pieces.append(range(first, min(first + size, count)))
        first += size
    return pieces[::-1]


def _count(n: Any, initial: Any, parameters: Any, inputs: Any) -> int:
    """The number of trajectories: as given, or the length of the first array found."""
    if n is not None:
        return _positive("n", n, 1)
    for kind, value in (("initial", initial), ("parameters", parameters), ("inputs", inputs)):
        for what, row in _rows(kind, value):
            if kind == "inputs" and (callable(row) or isinstance(row, tuple)):
                continue  # a function or samples, the same for all
            shape = arguments.unchanged(what, row).shape
            if len(shape) > 1 or shape == (0,):
                raise ArgumentError(f"{what} has shape {shape}; one number for each trajectory is needed")
            if shape:
                return int(shape[0])
    raise ArgumentError("n, the number of trajectories, is missing, and no array gives it")


def _rows(kind: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a dict by name, or the rows of an array, with what to call them."""
    if isinstance(value, Mapping):
        for name, row in arguments.by_name(kind, value).items():
            yield f"{kind}: {name}", row
    elif isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        for i, row in enumerate(value):
            yield f"{kind}[{i}]", row


def _room(states: int, times: int, count: int) -> Array:
    """The array of the results."""
    try:
        return np.empty((states, times, count))
    except (MemoryError, ValueError) as error:  # ValueError: more bytes than a number of them can count
        raise ArgumentError(
            f"n = {count} trajectories of {states} states at {times} times do not fit into memory: {error}"
        ) from error


def _positive(what: str, value: Any, otherwise: int) -> int:
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value < 2**48:
        raise ArgumentError(f"{what} = {arguments.short(value)} must be a positive integer below 2**48")
    return int(value)


class _Progress:
    """A bar with tqdm where it is installed, else a line on stderr; nothing where nobody looks."""

    def __init__(self, total: int, wanted: bool | None) -> None:
        self.total, self.done = total, 0
        self.begin = self.shown = time.monotonic()
        self.active = sys.stderr.isatty() if wanted is None else bool(wanted)
        self.delay = 1.0 if wanted is None else 0.0
        self.bar: Any = None
        if self.active:
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self.bar = tqdm(total=total, unit="run", unit_scale=True, delay=self.delay, file=sys.stderr)

    def show(self, done: int) -> None:
        new, self.done = done - self.done, done
        if self.bar is not None:
            self.bar.update(new)
            return
        now = time.monotonic()
        if self.active and new and now - self.begin >= self.delay and now - self.shown >= 0.1:
            self.shown = now
            self._line(now, f"{_clock((now - self.begin) * (self.total - self.done) / self.done)} left")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.active and time.monotonic() - self.begin >= self.delay:
            now = time.monotonic()
            self._line(now, f"{_clock(now - self.begin)} taken")
            print(file=sys.stderr, flush=True)

    def _line(self, now: float, clock: str) -> None:
        rate = self.done / max(now - self.begin, 1e-9)
        share = 100 * self.done // max(self.total, 1)
        text = f"{self.done}/{self.total} trajectories ({share} %), {rate:,.0f} per second, {clock}"
        print(f"\r{text:<79}", end="", file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    """A length of time as h:mm:ss, or mm:ss where it is shorter than an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"

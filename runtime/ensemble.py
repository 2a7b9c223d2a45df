"""Ensembles: many trajectories of one model, on all cores."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import arguments
from . import inputs as signals
from .base_model import BaseModel
from .consistency import check_ensemble, remember
from .ensemble_result import Ensemble
from .ensemble_start import Start
from .errors import INPUT_FAILED, INTERRUPTED, ArgumentError, ChaplyginError
from .event_record import RULES, rule
from .lanes import WORTH, lane_set, one_at_a_time
from .model import Model, require_core
from .progress import Progress

Array = NDArray[np.float64]

__all__ = ["Ensemble", "ensemble"]

SMALLEST_CHUNK, LARGEST_CHUNK = 64, 4096
POLL = 0.05  # seconds between checks of the other threads
ALONE = 1e-4  # seconds after which other threads are started: several times the cost of starting one


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

    Every entry of `initial`, `parameters` and `inputs` is either a number, the same for all trajectories, or an array
    with one number for each; a vector can have shape (k,) or (k, n). `n` can be left out if an array determines it.
    Sampled inputs and input functions are shared by all trajectories.

    `threads`: the maximum number of threads, by default one for each core; the calling thread is one of them, and a
    short ensemble uses no other. `lanes`: how many trajectories a thread runs side by side, 1, 2, 4 or 8; None uses the
    width of a CPU vector register if there are that many trajectories and the lanes are already compiled, and compiles
    them from 512 trajectories on. `progress`: True shows a progress bar (tqdm, or a line on stderr), None only in a
    terminal and if the run takes a while. `kinks` and `paradox` are as in `integrate`.

    Ctrl-C ends the run quickly: finished trajectories are kept, the others are NaN with status -5, and a RuntimeWarning
    is issued. A trajectory that fails does not affect the others, but an input function that raises an exception, or
    returns anything other than a finite number, ends the whole ensemble with that error. The status of a trajectory
    that ended at a terminal event is 1. ``ens[...]`` calls input functions again, except where a state is not finite:
    quantities that depend on them are NaN there.

    The result does not depend on `threads` or `chunk`, nor, for a model compiled with `reproducible=True`, on `lanes`:
    every trajectory is bit for bit that of a single run. With `reproducible=False` the last bits can differ between
    lane widths and from single runs. Trajectories run one at a time in each thread, and more lanes are rejected, if the
    model has events or contacts, if there are input functions, with `kinks` in a model that has any, and with the
    methods "rodas5p" and "auto". Arrays of more than 16 MB are not copied: do not change them while the ensemble is in
    use (`rerun` and ``ens[...]`` read them).

    If a model is still being built in the background (see `System.compile`), a large ensemble, or one with `lanes`,
    waits for the build to finish.

    Raises `ArgumentError` naming the wrong entry.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> ens = ensemble(model, (0, 10), 3, {"x": [0, 1, 2], "x_dot": 0}, {"m": 1, "k": 4})
    >>> ens["x"].round(6)    # 0, 1 and 2 times cos 20
    array([0.      , 0.408082, 0.816164])
    >>> ens.failed
    array([], dtype=int64)
    """
    if not isinstance(model, BaseModel):
        raise ArgumentError(f"ensemble needs a model, not {type(model).__name__}: compile the system first")
    t0, t1 = arguments.span(t_span)
    moments = None if t_eval is None else arguments.times("t_eval", t_eval, t0, t1)
    if t1 < t0 and model.contacts:
        raise arguments.backward("t_span", "t1 >= t0")
    count = _count(n, initial, parameters, inputs)
    plain = (
        type(rtol) is type(atol) is float and arguments.SMALLEST_RTOL <= rtol < np.inf and 0 < atol < np.inf
    )
    relative, absolute = (rtol, atol) if plain else arguments.tolerances(rtol, atol, model.states)
    least = float(atol) if plain else float(absolute.min())
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
    if method not in model.methods:
        raise arguments.unknown_method(method, model.methods)
    workers = None if threads is None else _positive("threads", threads)
    size = None if chunk is None else _positive("chunk", chunk)
    bar = None if progress is None else arguments.boolean("progress", progress)
    if isinstance(model, Model) and count >= WORTH:
        with suppress(ChaplyginError):  # it was reported when it happened; the model runs anyway
            model._complete()
    lane_library, width = lane_set(
        model, lanes, count, one_at_a_time(model, method, controls.functions, options["kinks"])
    )
    y = _room(len(model.states), 1 if moments is None else len(moments), count)
    # Initial states are written where the first results will be, to avoid another array of that size.
    x0 = y[:, 0] if y.shape[1] else np.empty((len(model.states), count))
    start = Start(model, t0, initial, parameters, controls, count, x0)
    check_ensemble(model, t0, start, x0, controls, least)
    t, status = np.empty(count), np.empty(count, dtype=np.int32)
    nfev, n_steps = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    t.fill(t0)
    status.fill(INTERRUPTED)
    result = (y, t, status, nfev, n_steps)
    event_record, taken = None, 1
    if isinstance(model, Model):
        require_core()
        from ._core import EnsembleCore

        core = EnsembleCore(
            model, t0, t1, x0, start.parameters, controls, moments, *result, method, options, lane_library
        )
        stopped = _run(core, count, workers, size, width, Progress(count, bar))
        if isinstance(core.error, KeyboardInterrupt):  # raised while an input function ran in this thread
            status[status == INPUT_FAILED] = INTERRUPTED
            stopped = True
        elif core.error is not None:
            raise core.error
        taken = core.lanes
        if model.events:
            event_record = core.events()
    else:
        from .python_model import run_ensemble

        stopped = run_ensemble(model, (t0, t1), start, controls, moments, result, options)
    if stopped:
        y[:, :, status == INTERRUPTED] = np.nan
        finished = int((status != INTERRUPTED).sum())
        warnings.warn(
            f"ensemble interrupted: {finished} of {count} trajectories are finished", RuntimeWarning, 2
        )
    remember(model, y, t, start, controls)
    return Ensemble(model, (t0, t1), moments, start, controls, *result, options, stopped, taken, event_record)


def _run(core: Any, count: int, threads: int | None, chunk: int | None, width: int, bar: Progress) -> bool:
    """Run all trajectories; return whether Ctrl-C ended the run.

    The calling thread works too, and starts alone, since starting other threads takes longer than a short ensemble.
    Threads release the GIL while they integrate. The results do not depend on which thread runs a trajectory.
    """
    pieces = _pieces(count, threads, chunk, width)
    helpers: list[threading.Thread] = []
    failures: list[BaseException] = []
    begin = time.perf_counter()

    def help_out() -> None:
        try:
            core.run(pieces)
        except BaseException as error:
            failures.append(error)
            core.stop()

    def attend() -> None:
        if pieces and not helpers and time.perf_counter() - begin > ALONE:
            wanted = min((threads or _cores()) - 1, len(pieces))
            helpers.extend(threading.Thread(target=help_out, name="chaplygin") for _ in range(wanted))
            for helper in helpers:
                helper.start()
        bar.show(core.done)

    stopped = False
    try:
        core.run(pieces, attend)
        for helper in helpers:
            while helper.is_alive():
                helper.join(POLL)
                bar.show(core.done)
    except KeyboardInterrupt:
        stopped = True
    finally:
        core.stop()
        for helper in helpers:
            if helper.ident is not None:  # the thread was started
                helper.join()
        bar.close()
    if failures:
        raise failures[0]
    return stopped


def _cores() -> int:
    """The number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pieces(count: int, threads: int | None, chunk: int | None, width: int) -> list[tuple[int, int]]:
    """Trajectories 0 to count in pieces (first, last) of `chunk`, the first piece last in the list.

    Without `chunk`, a single thread gets one piece; several threads get smaller and smaller ones, so that they finish
    together, but each large enough to fill all `width` lanes at its start.
    """
    if chunk is None and (threads == 1 or count < 2 * width):
        return [(0, count)]
    workers = threads or _cores()
    pieces, first = [], 0
    smallest = max(1, min(SMALLEST_CHUNK, count // (16 * workers)))
    while first < count:
        size = chunk or max(smallest, min(LARGEST_CHUNK, (count - first) // (4 * workers)))
        size = size if chunk else -(-size // width) * width
        pieces.append((first, min(first + size, count)))
        first += size
    return pieces[::-1]


def _count(n: Any, initial: Any, parameters: Any, inputs: Any) -> int:
    """The number of trajectories: as given, or the length of the first array found."""
    if n is not None:
        return _positive("n", n)
    for kind, value in (("initial", initial), ("parameters", parameters), ("inputs", inputs)):
        arguments.refuse_dicts(kind, value)
        for what, row in _rows(kind, value):
            if kind == "inputs" and (callable(row) or isinstance(row, tuple)):
                continue  # a function or samples, shared by all
            shape = arguments.unchanged(what, row).shape
            if len(shape) > 1 or shape == (0,):
                raise ArgumentError(f"{what} has shape {shape}; one number for each trajectory is needed")
            if shape:
                return int(shape[0])
    raise ArgumentError("n, the number of trajectories, is missing, and no array determines it")


def _rows(kind: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a dict by name, or the rows of an array, with names for error messages."""
    if isinstance(value, Mapping):
        for name, row in arguments.by_name(kind, value).items():
            yield f"{kind}: {name}", row
    elif isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        for i, row in enumerate(value):
            yield f"{kind}[{i}]", row


def _room(states: int, times: int, count: int) -> Array:
    """An array for the results."""
    try:
        return np.empty((states, times, count))
    except (MemoryError, ValueError) as error:  # ValueError: the number of bytes overflows
        raise ArgumentError(
            f"n = {count} trajectories of {states} states at {times} times do not fit into memory: {error}"
        ) from error


def _positive(what: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value < 2**48:
        raise ArgumentError(f"{what} = {arguments.short(value)} must be a positive integer below 2**48")
    return int(value)

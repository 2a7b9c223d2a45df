"""Batches: many runs of one model that persist and are advanced together."""

from __future__ import annotations

import math
import os
import threading
import weakref
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from .. import core
from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import check_rows
from ..interface.messages import written
from ..interface.statuses import PIVOT
from ..model.expressions import companion, places_of_new
from ..model.lanes import lane_set, one_at_a_time
from ..problem import pivots
from ..problem.consistency import Accuracy, check_start
from ..problem.given_inputs import entries_named, named_with_rates
from ..steppers.snapshots import Sealed, check_snapshot
from .batch_arguments import BatchInputs, Runs, chosen, plain_rows, spread, start_by_name, target
from .executors import cores, number_of_threads
from .start import Start

if TYPE_CHECKING:
    from ..problem.options import RunOptions
    from .sensitivities import EnsembleSensitivity

derivatives = later("chaplygin.runtime.ensembles.sensitivities")

SHARE = 4096
"""Runs for each thread, unless the number of threads is given."""


@dataclass(frozen=True, eq=False)
class BatchSnapshot(Sealed):
    """Runs of a batch with everything needed to continue them bit for bit: their indices, and a column of each."""

    model: str
    digest: str
    method: str
    runs: Runs
    columns: Array
    places: Runs
    inputs: int
    sensitivities: tuple[str, ...] = ()
    layout: tuple[int, ...] = ()
    seal: int | None = None

    def _checksum(self) -> int:
        plain = self.model, self.digest, self.method, self.sensitivities, self.inputs, *self.layout
        what = *plain, self.runs.dtype, self.columns.shape, self.columns.dtype
        found = zlib.crc32(self.places.tobytes() + self.runs.tobytes(), zlib.crc32(written(what).encode()))
        return zlib.crc32(np.ascontiguousarray(self.columns).data, found)


class Batch:
    """n runs of one model that persist and are advanced together, in lanes and threads. Made by ``model.batch``.

    ``batch.y`` (n_states, n), ``batch.t`` (n,) and ``batch.status`` (n,) are read-only views of the batch's memory.
    They show the current values after every call, without a copy. So does ``batch[name]`` for a state or an input; any
    other quantity of the model is computed.

    A status is 0, or the negative code of the error that ended the run (`chaplygin.runtime.interface.statuses`). That
    run keeps its last point and is not advanced until it is reset or restored; the other runs are not affected.

    A batch can be pickled and copied: the other one continues bit for bit, and its `reset` starts as this one's does.

    A batch belongs to one thread at a time: a call that comes while another one is under way, from another thread, a
    signal handler or a finalizer, raises `BusyError`. Ctrl-C leaves each run where it was before the call, or where it
    was to go.

    The model has neither events nor contacts, and the method is explicit. With a model compiled with
    ``reproducible=True`` every run is bit for bit that of a stepper with the same calls, for any `threads` and
    `lanes`. With ``sensitivities=["m"]`` ``batch.sensitivity["x", "m"]`` is dx/dm of every run at its time, (n,);
    then the equations have no kinks either.

    >>> import numpy as np
    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> batch = model.batch({"x": np.array([0, 1, 2]), "x_dot": 0}, {"m": 1, "k": 4}, method="rk4", step=0.001)
    >>> batch.advance_by(0.5)
    >>> batch["x"].round(6)    # 0, 1 and 2 times cos 1
    array([0.      , 0.540302, 1.080605])
    >>> batch.reset(batch["x"] > 1)
    >>> batch.t, batch.y[0].round(6)
    (array([0.5, 0.5, 0. ]), array([0.      , 0.540302, 2.      ]))
    """

    def __init__(
        self,
        model: Any,
        count: int,
        initial: Any,
        parameters: Any,
        inputs: object,
        t0: float,
        threads: Any,
        lanes: Any,
        options: RunOptions,
        seed: int | None,
        sensitivities: Any = None,
        sensitivity_control: bool = True,
    ) -> None:
        apart = one_at_a_time(model, options, {}, starts=False)
        if apart is None and sensitivities is not None and model.kinks:
            apart = (
                f"sensitivities, whose steps end at kinks, and the equations have one at {model.kinks[0]} = 0"
            )
        if apart is not None:
            raise ArgumentError(f"no batch of {model.name}: {apart}; use steppers or chaplygin.ensemble")
        self.model, self.t0, self._options = model, t0, options
        self._asked = threads, lanes, sensitivity_control
        self._farthest = abs(t0)  # no run has a larger |t|
        self._open(count, sensitivities, BatchInputs(model, t0, inputs, seed, count))
        numbers = self._inputs.now.values
        self._u[:] = numbers if numbers.ndim == 2 else numbers[:, None]
        self._initial = start_by_name("initial", initial, model.states)
        self._parameters = start_by_name("parameters", parameters, model.parameters)
        self._begin(np.arange(count), self._initial, self._parameters)
        self._initial = {name: spread(value, count) for name, value in self._initial.items()}
        self._parameters = {name: spread(value, count) for name, value in self._parameters.items()}

    def _open(self, count: int, sensitivities: Any, inputs: BatchInputs) -> None:
        """Get the memory, the lanes and the threads of `count` runs."""
        model, options, (threads, lanes, control) = self.model, self._options, self._asked
        for i in inputs.now.functions:
            raise ArgumentError(
                f"inputs: {model.inputs[i]} is a function of time; a batch takes samples, noise, and numbers and "
                "arrays (n,), which advance_by(dt, inputs=...) changes"
            )
        self._tangents = None
        self._pivots: pivots.Pivots | None = None
        if sensitivities is not None:
            self._tangents = derivatives.BatchTangents(model, sensitivities, control, options, inputs.now)
        apart = one_at_a_time(model, options, {}, sensitivities=self._tangents is not None, starts=False)
        address, self.lanes = lane_set(model, options.method, lanes, count, apart)
        limit = cores() if threads is None else number_of_threads("threads", threads)
        self.threads = max(1, min(limit, count // SHARE if threads is None else count))
        self._team = core.Team(self.threads)
        weakref.finalize(self, self._team.close)
        # the process in which threads of the team run, and the number of the first one that does not
        self._staffed = 0, 1
        whole, how = (
            (model, options) if self._tangents is None else (self._tangents.model, self._tangents.options)
        )
        self._core = core.BatchCore(whole, count, how, address, self._team)
        self._inputs, self._digest = inputs, inputs.checksum()
        if inputs.now.signals:
            self._core.feed(inputs.now)
        self._alone = core.Guard("batch")  # held by every public method
        self._views(count)

    def _views(self, n: int) -> None:
        """Views of the table: writable ones for this class, read-only ones for its users."""
        table, row, model = self._core.table, self._core.row, self.model
        self._x = table[row["x"] : row["x"] + model.n_states, :n]
        self._p = table[row["p"] : row["p"] + model.n_parameters, :n]
        self._u = table[row["u"] : row["u"] + model.n_inputs, :n]
        self._t = table[row["t"], :n]
        self._fresh = table[row["fresh"]].view(np.int64)[:n]
        self.y, self.t, self.status = self._x[:], self._t[:], table[row["status"]].view(np.int64)[:n]
        self._controls = self._u[:]
        for view in (self.y, self.t, self.status, self._controls):
            view.flags.writeable = False

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if len(self.failed) else ""
        return f"<Batch of {len(self)} runs of {self.model.name} ({self.method}){failed}>"

    def __reduce__(self) -> tuple[Any, ...]:
        with self._alone:
            kept = {
                name: getattr(self, name)
                for name in ("model", "t0", "_options", "_asked", "_initial", "_farthest")
            }
            kept["_parameters"] = {name: values.copy() for name, values in self._parameters.items()}
            return _resumed, (kept, self._inputs.copy(), self._saved(None))

    @property
    def method(self) -> str:
        """The integration method."""
        return str(self._options.method)

    @property
    def failed(self) -> NDArray[np.intp]:
        """Indices of the runs that have failed."""
        return np.flatnonzero(self.status < 0)

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that ``batch[name]`` accepts, except "t"."""
        return tuple(self.model.quantities)

    @property
    def _varied(self) -> tuple[str, ...]:
        return () if self._tangents is None else self._tangents.names

    @property
    def sensitivity(self) -> EnsembleSensitivity | None:
        """With ``sensitivities=[...]`` the derivatives of every run at its time, which stay as they are; else None."""
        if self._tangents is None:
            return None
        with self._alone:
            found: EnsembleSensitivity = self._tangents.sensitivity(self.model, self._core, self.t.copy())
            return found

    # ---- advancing ----

    def advance(self, t: float, inputs: Any = None) -> None:
        """Advance every run to the time t; `inputs` as for `set_inputs`.

        Raises `ArgumentError` if t is before the time of a run that has not failed: a batch does not go backward.
        """
        end = arguments.number("t", t)
        with self._alone:
            if end < self._farthest:  # rarely, so that no call reads all times
                latest = float(self.t[self.status == 0].max(initial=-math.inf))
                if end < latest:
                    raise ArgumentError(
                        f"t = {end:.17g}: a batch does not go backward; t >= {latest:.17g} is needed"
                    )
            self._farthest = max(self._farthest, abs(end))
            self._advance(end, math.nan, inputs)

    def advance_by(self, dt: float, inputs: Any = None) -> None:
        """Advance each run by the duration dt from its own time; `inputs` as for `set_inputs`.

        Raises `ArgumentError` if dt is negative, or nonzero but too short to change the time of a run.
        """
        duration = arguments.number("dt", dt)
        if duration < 0:
            raise ArgumentError(f"dt = {duration:.17g}: a batch does not go backward; dt >= 0 is needed")
        with self._alone:
            if duration and self._farthest + duration == self._farthest:
                largest = float(np.abs(self.t).max())
                if largest + duration == largest:
                    raise arguments.no_duration(duration, largest)
            self._farthest += duration
            self._advance(math.nan, duration, inputs)

    def _advance(self, time: float, duration: float, inputs: Any) -> None:
        changes = [] if inputs is None else self._changes(inputs)
        self._staff()
        end = time if math.isnan(duration) or not self._inputs.noises else float(self.t.max()) + duration
        if self._inputs.reach(end):
            self._core.feed(self._inputs.now)
        if not self._core.advance(time, duration, changes):
            self._check(changes)
        elif self._pivots is not None and self._pivots.see(self._t, self._x):
            self._pivots.report("runs")

    def _staff(self) -> None:
        """Start the threads of the team; again after a fork, which copies none."""
        process, first = self._staffed
        if process != os.getpid():
            first = 1
        for i in range(first, self.threads):
            member = threading.Thread(target=self._team.serve, args=(i,), name="chaplygin", daemon=True)
            try:
                member.start()
            except RuntimeError as error:
                raise ArgumentError(
                    f"threads = {self.threads}: the system starts no more than {i}; give fewer"
                ) from error
            self._staffed = os.getpid(), i + 1

    # ---- inputs ----

    def set_inputs(self, values: Any = None, /, **named: Any) -> None:
        """Change inputs from here on: by keyword, as a dict, or as an array (n_inputs,) or (n_inputs, n), with or
        without rates of inputs.

        Each entry of a dict is a number or an array (n,); inputs that are not named stay unchanged. An input whose
        rates the equations contain moves on by the numbers that are given for them beside its own; its own alone has
        the rates 0. Raises `ArgumentError` naming the entry that is unknown, not finite or of the wrong shape; nothing
        is changed then.
        """
        if named and values is not None:
            raise ArgumentError("set_inputs takes an array, a dict or names, not several of them")
        with self._alone:
            changes = self._changes(named if values is None else values)
            self._check(changes)
            for i, row in changes:
                self._u[i], self._fresh[:] = row, -1

    def _check(self, changes: list[tuple[int, Array]]) -> None:
        """Refuse values that are not finite."""
        for i, row in changes:
            arguments.check_finite("inputs", row[None], (self.model.inputs[i],))

    def _changes(self, values: Any) -> list[tuple[int, Array]]:
        """New values of inputs: the index of each, and an array (n,) or (1,). They may still be NaN or infinite."""
        known = self.model.inputs
        names = known
        by_name = arguments.named("inputs", values)
        if by_name is not None:
            values = by_name
            arguments.check_known("inputs", values, known)
            names = tuple(values)
        if self._tangents is not None:
            self._tangents.refuse(names)
        flags = self.model._input_flags
        flagged = any(flags)
        if by_name is None:
            names = entries_named(known, flags, values)
        rows: Any = None if flagged else plain_rows(values, names, len(self))
        if rows is None:  # to be converted or checked, or wrong
            rows = arguments.matrix("inputs", values, names, len(self))
            check_rows("inputs", names, [flags[known.index(name)] for name in names] if flags else (), rows)
        changed = {known.index(name): np.ascontiguousarray(row).reshape(-1) for name, row in zip(names, rows)}
        for i in self._inputs.now.signals.keys() & changed.keys():
            raise ArgumentError(
                f"inputs: {known[i]} follows the samples that this batch was made with; leave it out"
            )
        if flagged:  # the rates of a number alone are 0
            still = np.zeros(1)
            changed = {i: changed.get(i, still) for i in named_with_rates(known, flags, names)}
        return list(changed.items())

    # ---- quantities ----

    def __getitem__(self, name: Any) -> Any:
        with self._alone:
            return self._named([name])[0]

    def _named(self, names: Iterable[Any]) -> list[Array]:
        """Declared quantities by name: views where the batch has them, the others computed together."""
        model, computed = self.model, None
        found: list[Array] = []
        for name in names:
            key = arguments.plain_name(name)
            if key in model.states:
                found.append(self.y[model.states.index(key)])
            elif key in ("t", model.along):
                found.append(self.t)
            elif key in model.inputs:
                found.append(self._controls[model.inputs.index(key)])
            elif key in self.names:
                computed = computed or model._values(self.t, self.y, self._p, self._u, strict=False)
                found.append(computed[key])
            else:
                raise arguments.unknown_quantity(name, model.name, self.names)
        return found

    def evaluate(self, what: Any, out: Any = None) -> Array:
        """A quantity of every run, (n,), or a list of k quantities, (k, n); NaN where one cannot be computed.

        Each is the name of a declared quantity or a SymPy expression of any: states, declared variables and their
        rates, parameters, inputs, the time, outputs, invariants and residuals, each a symbol of that name. A condition
        such as ``x > 1`` is 1.0 or 0.0. The expressions of one call are compiled together, with the model's flags, when
        they are first evaluated, or taken from the cache; then they are computed in lanes and threads. Their bits
        depend neither on these nor, in a reproducible model, on the other expressions.

        `out`: a float64 array of the result's shape to write to; it is returned. Raises `ArgumentError` for it, for an
        unknown name, for an expression that is wrong, and for any expression if the model was loaded without its
        declaration, which `System.compile` knows and a file does not.

        >>> import sympy as sp
        >>> import chaplygin as cg
        >>> x = cg.coordinates("x")
        >>> model = cg.System("falling", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=10 * x).compile()
        >>> batch = model.batch({"x": [1, 2, 3], "x_dot": 2})
        >>> batch.evaluate([cg.rate(x) ** 2 / 2, x > 1, "energy"])
        array([[ 2.,  2.,  2.],
               [ 0.,  1.,  1.],
               [12., 22., 32.]])
        """
        several = isinstance(what, (list, tuple))
        wanted = list(what) if several else [what]
        n = len(self)
        result = target(out, (len(wanted), n) if several else (n,))
        direct = result.flags.c_contiguous
        rows = result.reshape(len(wanted), n) if direct else np.empty((len(wanted), n))
        new = places_of_new(wanted, self.names)
        names = [i for i in range(len(wanted)) if i not in new]
        with self._alone:
            for i, row in zip(names, self._named(wanted[i] for i in names)):
                rows[i] = row
            if new:
                self._compute([wanted[i] for i in new], rows, new)
        if not direct:
            result[:] = rows.reshape(result.shape)
        return result

    def _compute(self, expressions: list[Any], rows: Array, places: list[int]) -> None:
        """Evaluate expressions into some of the rows."""
        address = companion(self.model, expressions, self.lanes)
        values = rows if len(places) == len(rows) else np.empty((len(places), len(self)))
        self._staff()
        self._core.evaluate(address, values)
        if values is not rows:
            rows[places] = values

    # ---- starting again ----

    def reset(self, where: Any = None, initial: Any = None, parameters: Any = None) -> None:
        """Start runs again at t0; `where` is a mask (n,) or indices, None all of them.

        `initial` and `parameters` are dicts of numbers, or of arrays with one number for each run that is reset, in
        their order; what they do not name is as the batch was made, or as the parameters were last set. The inputs stay
        unchanged. Raises `ArgumentError` as the start of a run does; nothing is changed then.
        """
        runs = chosen("where", where, len(self))
        if not runs.size:
            return
        with self._alone:
            before = self._inputs.places[runs]
            start = {name: values[runs] for name, values in self._initial.items()}
            own = {name: values[runs] for name, values in self._parameters.items()}
            changed = start_by_name("parameters", parameters, self.model.parameters)
            self._inputs.put(runs, before + np.array([0, 1]))
            try:
                self._begin(runs, start | start_by_name("initial", initial, self.model.states), own | changed)
            except BaseException:
                self._inputs.put(runs, before)
                raise
            for name, values in changed.items():
                self._parameters.setdefault(name, np.full(len(self), np.nan))[runs] = values

    def _begin(self, runs: Runs, initial: dict[str, Any], parameters: dict[str, Any]) -> None:
        """Start these runs from checked states and parameters."""
        model, count = self.model, len(runs)
        controls = self._inputs.first(runs, self._u[:, runs])
        x0 = np.empty((model.n_states, count))
        start = Start(model, self.t0, initial, parameters, controls, count, x0, kept=True)
        accuracy = Accuracy.of(model, self._options)
        check_start(model, self.t0, x0, start.parameters, controls, accuracy, count, start.plain)
        self._x[:, runs] = x0
        for i, row in enumerate(start.parameters):
            self._p[i, runs] = row
        if self._tangents is not None:
            self._tangents.begin(self._core, start, x0, controls, runs)
        self._t[runs] = self.t0
        self._core.start(runs)
        self._begin_pivots(runs)

    def _begin_pivots(self, runs: Runs) -> None:
        """Note what the pivots of these runs are now."""
        if PIVOT not in self.model.kernels:
            return
        if self._pivots is None:
            self._pivots = pivots.Pivots(self.model, self._t, self._x, self._p)
        self._pivots.restart(runs, self._t[runs], self._x[:, runs])

    def save(self, where: Any = None) -> BatchSnapshot:
        """The runs of a mask or of indices (None: all), with everything needed to continue them bit for bit."""
        with self._alone:
            return self._saved(where)

    def _saved(self, where: Any) -> BatchSnapshot:
        runs = chosen("where", where, len(self))
        whose = self.model.name, self.model.digest, self.method, runs
        own = self._core.table[:, runs], self._inputs.places[runs], self._digest
        return BatchSnapshot(*whose, *own, self._varied, core.LAYOUT)

    def restore(self, snapshot: BatchSnapshot, where: Any = None) -> None:
        """Return runs to a snapshot: those that were saved, or as many others.

        A later `reset` does not go back to the snapshot: it starts from what this batch was made with, and from the
        parameters that were last given to `reset`.

        Raises `ArgumentError` if it was saved from another model or with another method.
        """
        check_snapshot(BatchSnapshot, snapshot, self, core.LAYOUT)
        if snapshot.inputs != self._digest:
            raise ArgumentError(
                "the snapshot belongs to a batch with other samples or noise among its inputs"
            )
        runs = chosen("where", snapshot.runs if where is None else where, len(self))
        if snapshot.columns.shape != (len(self._core.table), len(runs)):
            raise ArgumentError(f"the snapshot has {len(snapshot.runs)} runs, to be restored to {len(runs)}")
        with self._alone:
            longer = self._inputs.reach(float(snapshot.columns[self._core.row["t"]].max()))
            self._core.table[:, runs] = snapshot.columns
            if self._inputs.put(runs, snapshot.places) or longer:
                self._core.feed(self._inputs.now)
            self._begin_pivots(runs)
            self._farthest = max(self._farthest, float(np.abs(self.t).max()))


def _resumed(kept: dict[str, Any], inputs: BatchInputs, snapshot: BatchSnapshot) -> Batch:
    """A batch that continues where the snapshot of all of its runs was taken."""
    batch = Batch.__new__(Batch)
    vars(batch).update(kept)
    batch._open(len(snapshot.runs), snapshot.sensitivities or None, inputs)
    batch.restore(snapshot)
    return batch

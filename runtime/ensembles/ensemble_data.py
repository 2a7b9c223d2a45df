"""An ensemble as data: states of all trajectories, every declared quantity by name, and times of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array, plain_name
from ..interface.statuses import INTERRUPTED, STATUS_NAMES
from ..problem.continued import Continued

if TYPE_CHECKING:
    from ..interface.base_model import BaseModel
    from .job import EnsemblePart
    from .sensitivities import EnsembleSensitivity


class EnsembleData(Continued):
    """What the trajectories leave, for all that reads it; `Ensemble`, which users hold, adds the views of it."""

    def __init__(self, part: EnsemblePart, interrupted: bool) -> None:
        job, results = part.job, part.results
        self.model, self.t_span, self.t_eval = job.model, job.t_span, job.t_eval
        states = results.y[: len(job.model.states)]
        self.y = states[:, 0, :] if job.t_eval is None else states
        self.t, self.status, self.nfev, self.n_steps = (
            results.t,
            results.status,
            results.nfev,
            results.n_steps,
        )
        self.interrupted, self.lanes = interrupted, results.lanes
        self._start, self._inputs, self._options = part.start, job.inputs, job.options
        self._events, self._end = results.events, results.end
        self._observer, self._observed = job.observer, results.observed
        self.draws = job.draws
        self.sensitivity: EnsembleSensitivity | None = None
        if part.tangents is not None:
            self.sensitivity = part.tangents.sensitivity(self.t, self.y)

    def __len__(self) -> int:
        return len(self.status)

    def _leaves(self) -> tuple[Array, Array, Any]:
        """The ends of its trajectories. Raises ArgumentError if one failed, or if `t_eval` ends before them."""
        for i in self.failed:
            raise ArgumentError(
                f"initial is an Ensemble whose trajectory {i} ended with {STATUS_NAMES[int(self.status[i])]}; give the "
                "states of others by name"
            )
        times = self.t if self.t_eval is None else self.t_eval[-1:]
        if not len(times) or (times != self.t).any():
            raise ArgumentError(
                "initial is an Ensemble whose t_eval does not keep its ends; leave t_eval out"
            )
        return self.y if self.t_eval is None else self.y[:, -1], self._start.table(), self._inputs

    def _past(self) -> Array:
        past = np.zeros((len(self.model.events), len(self)))
        clock = np.maximum(np.abs(self.t), abs(self.t_span[0]))
        if self._events is not None:
            j, event = self._events[:, :2].astype(np.int64).T
            last = np.full(len(self), np.nan)
            last[j] = self._events[:, 2]  # by trajectory and time
            ends = (self._events[:, 2] == last[j]) & (self.status[j] == 1)
            past[event[ends], j[ends]] = np.maximum(clock[j[ends]], np.finfo(float).tiny)
        return past

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Whether each trajectory reached its end or a terminal event, (n,)."""
        return self.status >= 0

    @property
    def failed(self) -> NDArray[np.intp]:
        """Indices of the trajectories that reached neither the end nor a terminal event."""
        return np.flatnonzero(self.status < 0)

    @property
    def success(self) -> bool:
        """Whether every trajectory reached its end or a terminal event."""
        return not bool((self.status < 0).any())

    @property
    def method(self) -> str:
        """The integration method of all trajectories."""
        return str(self._options.method)

    @property
    def message(self) -> str:
        """The number of trajectories for each way of ending."""
        codes, counts = np.unique(self.status, return_counts=True)
        return ", ".join(
            f"{count} {STATUS_NAMES.get(int(code), str(code))}" for code, count in zip(codes, counts)
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name: a float if it is the same in all trajectories, else an array (n,)."""
        rows = zip(self.model.parameters, self._start.parameters)
        return {name: float(row[0]) if len(row) == 1 else row.copy() for name, row in rows}

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that ``ens[name]`` accepts, except "t"."""
        return tuple(self.model.quantities)

    @property
    def t_events(self) -> dict[str, EventTimes]:
        """The times of each event of the model in each trajectory, until the trajectory ended.

        Trajectories stopped by Ctrl-C have none.

        >>> import numpy as np
        >>> import chaplygin as cg
        >>> x = cg.coordinates("x")
        >>> zero = cg.Event(x, name="zero")
        >>> spring = cg.System("spring", coordinates=[x], kinetic=cg.rate(x)**2/2, potential=2*x**2, events=[zero])
        >>> ens = spring.compile().ensemble((0, 3), initial={"x": np.array([1.0, 2.0]), "x_dot": 0})
        >>> ens.t_events["zero"][1].round(6)    # zeros of 2 cos(2 t)
        array([0.785398, 2.356194])
        """
        names = self.model.events
        if self._events is None or not names:
            return {}
        trajectory, event, t = self._events.T
        trajectory = trajectory.astype(np.int64)
        finished = self.status[trajectory] != INTERRUPTED
        found = {}
        for i, name in enumerate(names):
            mine = finished & (event == i)
            found[name] = EventTimes(len(self), trajectory[mine], t[mine])
        return found

    def __getitem__(self, name: Any) -> Array:
        model: BaseModel = self.model
        key = plain_name(name)
        if key in model.states:
            state: Array = self.y[model.states.index(key)]
            return state
        if key in ("t", model.along):
            return self.t if self.t_eval is None else np.repeat(self.t_eval[:, None], len(self), axis=1)
        if key not in self.names:
            raise arguments.unknown_quantity(name, model.name, self.names)
        if model.contacts and key in model.outputs:
            raise ArgumentError(
                f"{key} may depend on the contact modes, which an ensemble does not keep: use ens.rerun(i)[{key!r}]"
            )
        found: Array = self._computed((key,))[key]
        return found

    def evaluate(self, name: str | None = None) -> Any:
        """One quantity by name, shaped as ``y[0]``, or without a name a dict of all of them.

        NaN at times that a trajectory did not reach, or where a quantity cannot be computed. If the model has contacts,
        the dict does not contain the outputs, which may depend on the contact modes. Raises `ArgumentError` for an
        unknown name.
        """
        if name is not None:
            return self[name]
        hidden = set(self.model.outputs if self.model.contacts else ()) - set(self.model.states)
        names = [key for key in self.names if key not in hidden]
        others = tuple(key for key in names if key not in self.model.states)
        found = self._computed(others) if others else {}
        return {key: found[key] if key in found else self[key] for key in names}

    def quantity(self, what: Any, m: int | None = None) -> Array:
        """A quantity (n,) at the m-th time of `t_eval`, or with None at the end: a name or an `Expression`.

        Parameters are quantities here too. At the end of an ensemble with `t_eval` only if the final states were kept.
        """
        if m is not None and self.t_eval is not None:
            t, y = np.full(len(self), self.t_eval[m]), self.y[:, m]
        elif self.t_eval is None:
            t, y = self.t, self.y
        elif self._end is not None:
            t, y = self.t, self._end
        else:
            raise ArgumentError("the final states were not kept")
        name = plain_name(what)
        if name in self.model.states:
            return y[self.model.states.index(name)]  # type: ignore[no-any-return]
        if name in ("t", self.model.along):
            return t
        if name in self.names:
            return self._at((name,), t, y)[name]
        if name in self.model.parameters:
            return np.array(np.broadcast_to(self.parameters[name], len(self)))
        found: Array = what.columns(self.model, t, y, self._start.parameters, self._inputs.at(t, y))
        return found

    def observed(self, kind: str, text: str) -> Array:
        """An integral or an extreme that the `Observer` of the job found, (2, n): its values, and times of extremes."""
        if self._observer is None or self._observed is None:
            raise ArgumentError("nothing was observed")
        return self._observed[:, self._observer.quantities.index((kind, text))]

    def _computed(self, keys: tuple[str, ...]) -> dict[str, Array]:
        """Quantities that are not states, at all requested times or at the end."""
        if self.t_eval is None:
            return self._at(keys, self.t, self.y)
        rows = [self._at(keys, np.full(len(self), t), self.y[:, m, :]) for m, t in enumerate(self.t_eval)]
        return {key: np.array([row[key] for row in rows]).reshape(len(rows), len(self)) for key in keys}

    def _at(self, keys: tuple[str, ...], t: Array, y: Array) -> dict[str, Array]:
        """Quantities of every trajectory at one time t (n,) and state y (n_states, n) of each."""
        model: BaseModel = self.model
        u = self._inputs.at(t, y)
        found = {key: u[model.inputs.index(key)] for key in keys if key in model.inputs}
        if len(found) < len(keys):
            values = model._values(t, y, self._start.table(), u, strict=False)
            found |= {key: values[key] for key in keys if key not in found}
        return found


class EventTimes(Sequence[Array]):
    """The times of one event in each trajectory of an ensemble: item i is the array of times in trajectory i.

    Flat arrays, sorted by trajectory and then by time: ``t`` (k,) and ``trajectory`` (k,); the times of trajectory i
    are ``t[offsets[i]:offsets[i + 1]]``, with ``offsets`` (n + 1,). ``counts`` (n,): the number in each trajectory.
    ``first`` (n,): the time of the first one, NaN where the event did not occur.
    """

    __slots__ = ("offsets", "t", "trajectory")

    def __init__(self, n: int, trajectory: NDArray[np.int64], t: Array) -> None:
        self.trajectory, self.t = trajectory, t
        self.offsets: NDArray[np.intp] = np.searchsorted(trajectory, np.arange(n + 1))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        j = index_of("t_events", i, len(self))
        return self.t[self.offsets[j] : self.offsets[j + 1]]

    def __iter__(self) -> Iterator[Array]:
        # Iterate by length: an index out of range raises ArgumentError here, not the IndexError that ends a plain loop.
        return (self[i] for i in range(len(self)))

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many times the event occurred in each trajectory, (n,)."""
        return np.diff(self.offsets)

    @property
    def first(self) -> Array:
        """The time of the first occurrence in each trajectory, (n,); NaN where it did not occur."""
        found = np.full(len(self), np.nan)
        some = self.counts > 0
        found[some] = self.t[self.offsets[:-1][some]]
        return found

    def __repr__(self) -> str:
        return f"<EventTimes: {len(self.t)} in {int((self.counts > 0).sum())} of {len(self)} trajectories>"


def index_of(what: str, i: Any, n: int) -> int:
    """The number of a trajectory; negative numbers count from the end."""
    if not arguments.is_integer(i):
        raise ArgumentError(
            f"{what}: i = {arguments.short(i)} must be an integer, the number of a trajectory"
        )
    if not -n <= i < n:
        raise ArgumentError(f"trajectory {i} is not in an ensemble of {n}")
    return int(i) % n

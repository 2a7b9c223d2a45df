"""The result of an ensemble: states of all trajectories, every declared quantity by name, and event times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError, optional

from ..interface import arguments
from ..interface.arguments import Array, plain_name
from ..interface.statuses import INTERRUPTED, STATUS_NAMES
from ..problem.consistency import Accepted, held

if TYPE_CHECKING:
    from ..interface.base_model import BaseModel
    from ..results.solution import Solution
    from ..statistics.pictures import Pictures
    from .job import EnsemblePart
    from .sensitivities import EnsembleSensitivity


_HEAD = ("at the end", "mean", "std", "min", "max")


class EventTimes(Sequence[Array]):
    """The times of one event in each trajectory of an ensemble: item i is the array of times in trajectory i.

    Flat arrays, sorted by trajectory and then by time: ``t`` (k,) and ``trajectory`` (k,); the times of trajectory i
    are ``t[offsets[i]:offsets[i + 1]]``, with ``offsets`` (n + 1,). ``counts`` (n,): the number in each trajectory.
    ``first`` (n,): the time of the first one, NaN if there is none.
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
        j = _index("t_events", i, len(self))
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
        """The time of the first occurrence in each trajectory, (n,); NaN if there is none."""
        found = np.full(len(self), np.nan)
        some = self.counts > 0
        found[some] = self.t[self.offsets[:-1][some]]
        return found

    def __repr__(self) -> str:
        return f"<EventTimes: {len(self.t)} in {int((self.counts > 0).sum())} of {len(self)} trajectories>"


class Ensemble:
    """The result of `ensemble`.

    y (n_states, n): the final state of each trajectory; with `t_eval` (n_states, n_times, n), NaN at times that a
    trajectory did not reach. t (n,): the time reached; status (n,): 0, 1 after a terminal event, or an error of
    ``chaplygin.h``; nfev, n_steps (n,). ``lanes``: how many trajectories ran side by side in a thread. ``ok`` (n,):
    True if a trajectory reached its end or a terminal event; ``failed``: the indices of the others. ``parameters``: a
    dict of numbers and arrays (n,).

    ``ens["v"]``: any declared variable, output, invariant or input, or "t", shaped as ``y[0]``; a SymPy symbol can be
    used in place of its name, and ``names`` lists all names. ``ens.evaluate()``: a dict of all of them.
    ``ens.rerun(i)``: one trajectory again, as a full `Solution`. ``t_events``: a dict with the times of each event of
    the model as an `EventTimes`; empty without events. ``ens.sensitivity["x", "m"]``: with ``sensitivities=[...]``
    dx/dm of each trajectory, an `EnsembleSensitivity`, else None. ``draws``: what was drawn from distributions, arrays
    (n,) by name (a `Draws`, with their seed), or None.
    """

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
        return self._options.chosen

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
        names: tuple[str, ...] = self.model.quantities
        return names

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

    def rerun(self, i: int, **changed: Any) -> Solution:
        """Run trajectory i again and return the full `Solution`. Keywords change options of `integrate`."""
        j = _index("rerun", i, len(self))
        inputs = self._inputs.column(j)
        controls = inputs.values if inputs.constant else inputs  # vectors take the fast path in C
        options = {**vars(self._options), **changed}
        if self.sensitivity is not None:
            by, control = self.sensitivity.names, self.sensitivity.control
            options = {"sensitivities": by, "sensitivity_control": control, **options}
        if options.get("sensitivities") is not None:  # they start with the derivative by what was declared
            with held():  # the ensemble has warned
                start = self._start.given_of(j)
                found: Solution = self.model.integrate(self.t_span, *start, controls, **options)
            return found
        x0, p = self._start.of(j)
        begin = Accepted(x0) if self.model.checked_at_start else x0
        result: Solution = self.model.integrate(self.t_span, begin, p, controls, **options)
        return result

    def to_xarray(self) -> Any:
        """Everything as an `xarray.Dataset` over the trajectories, with `t_eval` over (t, trajectory).

        Units are attributes. Parameters that vary, the status and, without `t_eval`, the time reached are variables
        over the trajectories; the other parameters are attributes. Event times are not included. Needs the extra
        ``[xarray]``.
        """
        xarray = optional("xarray", "Ensemble.to_xarray", "xarray")
        axes = ("trajectory",) if self.t_eval is None else ("t", "trajectory")
        data: dict[str, Any] = {
            name: (axes, values, self.model.attributes(name)) for name, values in self.evaluate().items()
        }
        model = self.model
        attributes: dict[str, Any] = {"model": model.name, "form": model.form, "digest": model.digest}
        for name, value in self.parameters.items():
            if isinstance(value, np.ndarray):
                data[name] = ("trajectory", value, self.model.attributes(name))
            else:
                attributes[name] = value
        data["status"] = ("trajectory", self.status)
        coordinates: dict[str, Any] = {"trajectory": np.arange(len(self))}
        if self.t_eval is None:
            data["t"] = ("trajectory", self.t)
        else:
            coordinates["t"] = self.t_eval
        return xarray.Dataset(data, coords=coordinates, attrs=attributes)

    @property
    def plot(self) -> Pictures:
        """Pictures of the states, or of any quantity by name: ``plot()`` draws fans over the times `t_eval`, or else
        the distributions at the end; ``plot.fan()``, ``plot.histogram()``, ``plot.exceedance()``,
        ``plot.convergence()`` (of means) and ``plot.scatter()`` are of one kind. Needs the extra ``[plot]``.
        """
        from .pictures import of_ensemble

        return of_ensemble(self)

    def summary(self) -> str:
        """A text: how the trajectories ended, the indices of the first failures, and a table of the final states."""
        from ..interface.tables import aligned
        from ..statistics.summary import failures

        rows = aligned([_HEAD, *self._rows()])
        return "\n".join([self._caption(), *failures(self.failed, self.status[self.failed]), rows])

    def _caption(self) -> str:
        return f"{len(self)} trajectories of {self.model.name}: {self.message}"

    def _rows(self, most: int | None = None) -> list[tuple[str, ...]]:
        """Figures of the first `most` states of the trajectories that reached the end."""
        from ..interface.tables import with_unit

        ok, names = self.ok, self.model.states
        last = self.y if self.t_eval is None else self.y[:, -1:, :].reshape(len(names), -1)
        rows = []
        for i, name in enumerate(names[:most]):
            values = last[i][ok] if last.shape[1] else np.empty(0)
            numbers = [float(f(values)) for f in (np.mean, np.std, np.min, np.max)] if len(values) else []
            rows.append((with_unit(self.model, name), *(f"{x:.6g}" for x in numbers)))
        return rows

    def __repr__(self) -> str:
        return f"<Ensemble of {len(self)} {self.model.name}: {self.message}>"

    def _repr_html_(self) -> str:
        """A table of the final states of the trajectories that reached the end."""
        from ..interface.tables import SHOWN, table

        rows, more = self._rows(SHOWN), len(self.model.states) - SHOWN
        if more > 0:
            rows.append((f"and {more} more",))
        return table(self._caption(), _HEAD, rows)

    def _ipython_key_completions_(self) -> list[str]:
        """IPython's completions for ``ens["``."""
        return [*self.names, "t"]


def _index(what: str, i: Any, n: int) -> int:
    """The number of a trajectory; negative numbers count from the end."""
    if not arguments.is_integer(i):
        raise ArgumentError(
            f"{what}: i = {arguments.short(i)} must be an integer, the number of a trajectory"
        )
    if not -n <= i < n:
        raise ArgumentError(f"trajectory {i} is not in an ensemble of {n}")
    return int(i) % n

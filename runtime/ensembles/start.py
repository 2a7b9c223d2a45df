"""The initial states and parameters of an ensemble: read in place, a block of columns at a time.

An ensemble of a million trajectories must not make two or three copies of its arguments. So arrays are kept as given,
states are computed for a block of columns and written where the results will be, and only parameters that vary are
stored as tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ChaplyginError

from ..interface import arguments
from ..interface.arguments import Array, wide
from ..problem.consistency import STRETCH, Accepted, held
from ..problem.inputs import Inputs
from ..problem.sample_rows import KEPT


class Columns:
    """`initial` or `parameters` as given: a dict by name of numbers and arrays (N,), or an array (k,) or (k, N)."""

    def __init__(self, kind: str, value: Any, names: Sequence[str], count: int) -> None:
        self.names = names
        self.by_name: dict[str, Any] | None = None
        self.table: Any = None
        given = arguments.named(kind, {} if value is None else value)
        if given is not None:
            self.by_name = {
                name: arguments.unchanged(f"{kind}: {name}", entry) for name, entry in given.items()
            }
            entries = list(self.by_name.values())
            self.fits = all(entry.ndim == 0 or entry.shape == (count,) for entry in entries)
        else:
            self.table = arguments.unchanged(kind, arguments.sequence(kind, value, names))
            entries = [self.table]
            self.fits = self.table.ndim == 1 or (self.table.ndim == 2 and self.table.shape[1] == count)
        # If the lengths are wrong, `arguments.matrix` raises the error.
        if _copied(entries):
            self.table = None if self.table is None else self.table.copy()
            self.by_name = self.by_name and {name: entry.copy() for name, entry in self.by_name.items()}

    def part(self, first: int, last: int) -> Any:
        """Columns first <= j < last, in the format of `BaseModel._initial`."""
        if self.by_name is not None:
            return {name: row[first:last] if row.ndim else row for name, row in self.by_name.items()}
        return self.table[:, first:last] if self.table.ndim == 2 else self.table

    def column(self, j: int) -> Any:
        """The j-th column, in the format of `BaseModel._prepare`."""
        if self.by_name is not None:
            return {name: row[j] if row.ndim else row[()] for name, row in self.by_name.items()}
        return self.table[:, j] if self.table.ndim == 2 else self.table

    def row(self, k: int) -> Array | None:
        """The k-th row as float64, (1,) or (N,); None if it is not given."""
        found = self.table[k] if self.by_name is None else self.by_name.get(self.names[k])
        if found is None:
            return None
        row = np.atleast_1d(np.asarray(found, dtype=np.float64))
        # A field of a packed record can be misaligned, and C code cannot read it then.
        return row if row.flags.aligned and row.strides[0] % row.itemsize == 0 else row.copy()


def _copied(entries: Iterable[Any]) -> bool:
    """Whether the arrays among entries of one dict are few bytes, to be copied."""
    return sum(entry.nbytes for entry in entries if isinstance(entry, np.ndarray)) <= KEPT


def _few(given: Any, count: int) -> bool:
    """Whether the arrays of `given`, a dict of numbers and arrays (count,) or an array, are copied."""
    if isinstance(given, dict):
        return 8 * count * len(given) <= KEPT or _copied(given.values())
    return _copied((given,))


def _at(row: Any, j: int) -> Any:
    """The entry of trajectory j in a row, or the number that all of them have."""
    return row[j] if isinstance(row, np.ndarray) else row


class Start:
    """The start of every trajectory of an ensemble: `states` (n_states, N) and `parameters`, rows (1,) or (N,).

    The states are written to `target`, an array of that shape; `kept`: it stays as it is from then on. `past`, see
    `past_of`, becomes an array (n_events, 1) or (n_events, N). Raises `ArgumentError` as a single run does.
    """

    def __init__(
        self,
        model: Any,
        t0: float,
        initial: Any,
        parameters: Any,
        controls: Inputs,
        count: int,
        target: Array,
        kept: bool,
        past: Array | None = None,
    ) -> None:
        self.model, self.t0, self.controls = model, t0, controls
        self.past = wide(np.zeros(len(model.events)) if past is None else past)
        self._states: list[Any] | Array | None = None
        self._dependent: dict[str, Any] = {}
        self.parameters: list[Array] = []
        if not model.contacts:  # they need further checks
            # `target` has what is kept of the states
            copied = not kept and _few(initial, count), _few(parameters, count)
            more = isinstance(initial, dict) and len(initial) > len(target) and not controls.functions
            u = wide(controls.first(t0, target)) if more else None
            found = model._plain_start(t0, initial, parameters, u, count, target, *copied)
            if found is not None:
                self._states, self.parameters, self._dependent = found
                if kept:
                    self._states = target
                return

        def whole() -> Any:
            return model._initial(t0, initial, parameters, controls, count)

        self.initial, self.given = (
            Columns(kind, value, names, count)
            for kind, value, names in (
                ("initial", initial, model.states),
                ("parameters", parameters, model.parameters),
            )
        )
        if not (self.initial.fits and self.given.fits):
            whole()
        for first, x0, p in self._parts(count, whole):
            last = min(first + STRETCH, count)
            target[:, first:last] = x0
            self._take_parameters(first, last, p, count)

    def _parts(self, count: int, whole: Callable[[], Any]) -> Iterator[tuple[int, Array, Array]]:
        """First column, states and parameters of each block."""
        warned = False
        for first in range(0, count, STRETCH):
            last = min(first + STRETCH, count)
            try:
                with held() as warnings:
                    x0, p = self.model._initial(
                        self.t0,
                        self.initial.part(first, last),
                        self.given.part(first, last),
                        self.controls.part(first, last),
                        last - first,
                    )
            except ChaplyginError:
                if count > STRETCH:
                    whole()  # fails in the same way, but counts all columns
                raise
            if warnings and not warned:
                warned = True
                whole()  # warns in the same way, and counts all columns
            yield first, wide(x0), wide(p)

    def _take_parameters(self, first: int, last: int, p: Array, count: int) -> None:
        """Store the parameters of a block: as given, or in a new row for a parameter that follows from the start."""
        if first == 0:
            rows = [self.given.row(k) for k in range(len(p))]
            self._own = {k for k, row in enumerate(rows) if row is None}
            self.parameters = [np.empty(count) if row is None else row for row in rows]
        if not self.model.has_initial:
            return
        for k, values in enumerate(p):
            row = self.parameters[k]
            if k not in self._own and not (values == (row if len(row) == 1 else row[first:last])).all():
                self._own.add(k)
                row = self.parameters[k] = np.array(np.broadcast_to(row, (count,)))
            if k in self._own:
                row[first:last] = values

    @property
    def plain(self) -> bool:
        """Whether the fast path in C was taken, which also checks the assumptions about states and parameters."""
        return self._states is not None

    @property
    def by_name(self) -> Any:
        """The initial values by name, if they were given so; None on the fast path without dependent ones."""
        if self._states is None:
            return self.initial.by_name
        return {**dict(zip(self.model.states, self._states)), **self._dependent} if self._dependent else None

    @property
    def linear(self) -> bool:
        """Whether every state was given as it is, so that its derivatives by what was given are the same everywhere."""
        given = self.by_name
        every = given is None or given.keys() >= set(self.model.states)
        return self.plain or (not self.model.has_initial and every)

    def given_of(self, j: int) -> tuple[Any, Any]:
        """`initial` and `parameters` of the j-th trajectory for a single run, which computes the same from them."""
        if self.plain:
            x0, p = self.of(j)
            named = {name: _at(row, j) for name, row in (self.by_name or {}).items()}
            return named or self.accepted(x0, j), p
        initial = self.initial.column(j)
        return self.accepted(initial, j) if self.past.any() else initial, self.given.column(j)

    def accepted(self, x0: Array, j: int) -> Accepted:
        """The start of a single run at the state x0 of the j-th trajectory."""
        return Accepted(x0, tuple(self.past[:, j if self.past.shape[1] > 1 else 0].tolist()))

    def of(self, j: int) -> tuple[Array, Array]:
        """State and parameters of the j-th trajectory, computed as for a single run."""
        if self._states is not None:
            states = [_at(row, j) for row in self._states]
            rows = [row[j] if len(row) > 1 else row[0] for row in self.parameters]
            return np.array(states, dtype=np.float64), np.array(rows, dtype=np.float64)
        with held():  # the ensemble has warned
            return self.model._initial(  # type: ignore[no-any-return]
                self.t0, self.initial.column(j), self.given.column(j), self.controls.column(j), None
            )

    def table(self) -> Array:
        """The parameters as one array, (n_parameters, 1) or (n_parameters, N)."""
        rows = np.broadcast_arrays(*self.parameters) if self.parameters else []
        return np.array(rows) if rows else np.empty((0, 1))

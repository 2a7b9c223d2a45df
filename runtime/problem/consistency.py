"""Checks that a run begins where its equations hold: on its constraints and on the levels of its kinematic invariants.

A residual r (a holonomic equation, or a constraint if every velocity is a state) must be zero at the start. It is
compared with the sum of the magnitudes of its terms, so that units do not matter: a ratio above 1e-8 gives a
`ConsistencyWarning`, above 1e-4 an `ArgumentError`. A residual with a single term, w = 0, always has the ratio 1,
however small it is; so the sum is taken to be at least FLOOR * atol * sum |dr/dx_j| (with atol at most LARGEST_ATOL),
which ignores residuals below `atol`. Invariants of the kinematics with a level given by the example, such as
|q|^2 - 1, only cause warnings.

The end of a run can start the next one however far it has drifted. A model remembers the most recent run ends that are
off the constraints, bit for bit, with their residuals, and those of its ensembles as long as their arrays exist; such a
start is accepted if its residuals are no larger than they were there. Snapshots are not checked.

A value that is given although it follows from the others, such as a dependent velocity or an energy, is checked against
the same limits: the residual is then given - found, and its terms are the contributions of the velocities.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError, ConsistencyWarning

from ..interface import assumptions
from ..interface.arguments import Array, wide
from ..interface.limits import FLOOR, LARGEST_ATOL, MOST_ENDS, REFUSE, WARN

if TYPE_CHECKING:
    from ..ensembles.start import Start
    from ..interface.base_model import BaseModel
    from .inputs import Inputs
STRETCH = 16384
"""Columns handled together: few enough for the CPU cache, so that memory does not grow with their number, and many
enough to keep Python's overhead small."""
_ENSEMBLES = 8
"""Number of ensembles with ends that a model remembers while the ensembles exist."""


def share(residual: Array, terms: Array, slopes: Any = 1.0, atol: float = LARGEST_ATOL) -> Array:
    """Ratios of residuals to the sums of the magnitudes of their terms; NaN counts as infinite."""
    with np.errstate(all="ignore"):
        part = np.abs(residual) / np.maximum(terms, FLOOR * atol * slopes)
    return np.where(residual == 0, 0.0, np.where(np.isnan(part), np.inf, part))


def agree(
    what: str,
    given: Any,
    found: Any,
    terms: Callable[[], Array],
    advice: Callable[[float, float], str],
    rest: str = "the other entries, which give",
) -> None:
    """Reject or warn about a value, or one for each trajectory, that differs from what follows from the others.

    `terms` gives the sums of the magnitudes of the terms of `found`; it is called only if they matter.
    """
    given, found = np.broadcast_arrays(np.ravel(given), np.ravel(found))
    sizes = np.abs(given) + np.abs(found)
    off = share(given - found, sizes)
    if not (off > WARN).any():
        return
    off = share(given - found, np.fmax(sizes, np.abs(given) + terms()))

    def text(j: int) -> str:
        value, right = float(given[j]), float(found[j])
        return f"{what} = {value:.17g} contradicts {rest} {right:.17g}; {advice(value, right)}"

    judge(off, text)


def judge(off: Array, text: Callable[[int], str]) -> None:
    """Reject the trajectories whose ratios (N,) of `share` are above REFUSE, or warn about those above WARN.

    `text` says what is wrong with one of them, the first.
    """
    refused = (off > REFUSE).any()
    wrong = np.flatnonzero(off > (REFUSE if refused else WARN))
    if not wrong.size:
        return
    said = text(int(wrong[0]))
    if len(off) > 1:
        said += f" ({wrong.size} of {len(off)} trajectories; the first is number {wrong[0]})"
    if refused:
        raise ArgumentError(said)
    warn(said)


def warn(text: str, category: type[Warning] = ConsistencyWarning) -> None:
    """Issue a warning at the line that called the package."""
    texts = _held.get()
    if texts is not None:
        texts.append(text)
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("chaplygin."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


_held: ContextVar[list[str] | None] = ContextVar("_held", default=None)


@contextmanager
def held() -> Iterator[list[str]]:
    """Collect warnings instead of issuing them, if they would repeat others or count only some of the trajectories."""
    texts: list[str] = []
    token = _held.set(texts)
    try:
        yield texts
    finally:
        _held.reset(token)


class DecidedStart:
    """A start that is more than its values: it decides where the run begins, and what is checked."""

    def begin(
        self, model: Any, t0: float, parameters: Any, controls: Inputs, atol: float
    ) -> tuple[Array, Array]:
        """State (n,) and parameters (np,) of the run."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Accepted(DecidedStart):
    """A state (n,) that a previous run started from: it is not checked again."""

    y: Array

    def begin(
        self, model: Any, t0: float, parameters: Any, controls: Inputs, atol: float
    ) -> tuple[Array, Array]:
        found: tuple[Array, Array] = model._initial(t0, self.y, parameters, controls, None)
        return found


def check_start(model: BaseModel, t0: float, x0: Array, p: Array, controls: Inputs, atol: float) -> None:
    """Check the initial state (n,) of a run: raise an error or warn if it is off the constraints."""
    _check_assumed("initial", model, model.states, x0)
    _check_assumed("parameters", model, model.parameters, p)
    if not model.checked_at_start:
        return
    u = controls.first(t0, x0)
    report = _Report(model, t0, atol, None)
    report.add(x0[:, None], p[:, None], u[:, None], np.zeros(1, dtype=np.intp))
    report.say()


def check_ensemble(
    model: BaseModel,
    t0: float,
    x0: Array,
    parameters: list[Array],
    controls: Inputs,
    atol: float,
    assumed: bool,
) -> None:
    """Check the initial states (n, N) of an ensemble: raise an error or warn if any is off the constraints.

    `parameters` has a row (1,) or (N,) for each; `assumed`: assumptions about both have been checked.
    """
    if not assumed:
        _check_assumed("initial", model, model.states, x0)
        _check_assumed("parameters", model, model.parameters, parameters)
    if not model.checked_at_start:
        return
    u = wide(controls.first(t0, x0))
    wrong = model._inconsistent(t0, x0, parameters, u, atol)
    report = _Report(model, t0, atol, x0.shape[1])
    for first in range(0, wrong.size, STRETCH):
        part = wrong[first : first + STRETCH]
        p = _columns(parameters, part)
        report.add(x0[:, part], p, u[:, part] if u.shape[1] > 1 else u, part)
    report.say()


def note_end(model: BaseModel, t: float, y: Array, p: Array, controls: Inputs) -> None:
    """Remember the end of a pure-Python run that has drifted off its constraints; compiled models do this in C."""
    if model.checked_at_start:
        u = controls.first(t, y)
        rows = model._columns(
            "consistency", np.array([t]), y[:, None], p[:, None], u[:, None], None, strict=False
        )
        model.ends[np.ascontiguousarray(y).tobytes()] = float(np.abs(rows[0::3]).max())
        if len(model.ends) > MOST_ENDS:
            del model.ends[next(iter(model.ends))]


def remember(model: BaseModel, y: Array, t: Array, start: Start, controls: Inputs) -> None:
    """Remember the ends of an ensemble, the last times of its array `y` (n, times, N), as long as its memory exists."""
    if model.checked_at_start and y.shape[1]:
        memory = y if y.base is None else y.base  # what views of y keep alive
        offset = y.ctypes.data - memory.ctypes.data
        owner, key = weakref.ref(model), id(memory)

        def forget(_: object) -> None:
            found = owner()
            if found is not None:
                found._ensembles.pop(key, None)

        model._ensembles[key] = weakref.ref(memory, forget), offset, y.shape, t, start, controls
        for old in list(model._ensembles)[:-_ENSEMBLES]:
            model._ensembles.pop(old, None)


def _check_assumed(kind: str, model: BaseModel, names: tuple[str, ...], rows: Any) -> None:
    assumptions.check_rows(kind, names, [model.variables[name].flags for name in names], rows)


class _Report:
    """The findings for the start of a run, or for the `count` trajectories of an ensemble, checked in blocks."""

    def __init__(self, model: BaseModel, t0: float, atol: float, count: int | None) -> None:
        self.model, self.t0, self.atol, self.count = model, t0, min(atol, LARGEST_ATOL), count
        self.residual = np.array([name in model.residuals for name in model.checked_at_start])
        self.tables: list[_Ends] | None = None
        self.refused = self.warned = 0
        self.first = self.worst = ""
        self.largest = 0.0

    def add(self, x0: Array, p: Array, u: Array, numbers: NDArray[np.intp]) -> None:
        """Check columns with these numbers, which may be off the constraints."""
        rows = self.model._columns("consistency", np.array([self.t0]), x0, p, u, None, strict=False)
        r, terms, slopes = np.abs(rows[0::3]), rows[1::3], rows[2::3]
        off = share(r, terms, slopes, self.atol)
        suspect = np.flatnonzero((off > WARN).any(axis=0))
        suspect = suspect[~self._known(x0[:, suspect], r[:, suspect].max(axis=0, initial=0.0))]
        off[:, np.isin(np.arange(off.shape[1]), suspect, invert=True)] = 0.0
        fatal = np.where(self.residual[:, None], off, 0.0)
        refused = np.flatnonzero((fatal > REFUSE).any(axis=0))
        if refused.size and not self.refused:
            self.first = self._text(rows, fatal, refused[0], numbers)
        self.refused += refused.size
        if suspect.size and off.max() > self.largest:
            j = int(np.argmax(off.max(axis=0)))
            self.largest, self.worst = float(off.max()), self._text(rows, off, j, numbers)
        self.warned += suspect.size

    def say(self) -> None:
        """Raise an error for an inconsistent start, or warn about one that is slightly off."""
        if self.refused:
            raise ArgumentError(
                self.first.replace("HOW_MANY", f"{self.refused} of {self.count} trajectories; the first")
            )
        if self.warned:
            warn(self.worst.replace("HOW_MANY", f"{self.warned} of {self.count} trajectories; the worst"))

    def _text(self, rows: Array, off: Array, j: int, numbers: NDArray[np.intp]) -> str:
        k = int(np.argmax(off[:, j]))
        name, value, size = self.model.checked_at_start[k], float(rows[3 * k, j]), float(rows[3 * k + 1, j])
        text = f"initial: {_text(name, bool(self.residual[k]), value, size)}"
        return text if self.count is None else f"{text} (HOW_MANY is number {numbers[j]})"

    def _known(self, x: Array, largest: Array) -> NDArray[np.bool_]:
        """Which columns are ends of earlier runs, with residuals no larger than at that end."""
        found = np.zeros(x.shape[1], dtype=bool)
        allowed = largest * (1.0 - 1e-12)
        if self.model.ends:
            for j, column in enumerate(np.ascontiguousarray(x.T)):
                found[j] = self.model.ends.get(column.tobytes(), -1.0) >= allowed[j]
        if self.tables is None:
            self.tables = [
                _Ends(np.ndarray(shape, buffer=memory, offset=offset), *more)
                for reference, offset, shape, *more in list(self.model._ensembles.values())
                if (memory := reference()) is not None
            ]
        for ends in self.tables:
            found |= ends.hold(self.model, x, allowed)
        return found


class _Ends:
    """Lookup table of the final states of an earlier ensemble."""

    def __init__(self, y: Array, t: Array, start: Start, controls: Inputs) -> None:
        self.y, self.t, self.start, self.controls = y[:, -1], t, start, controls
        prints = _fingerprints(self.y)
        self.order = np.argsort(prints)
        self.prints = prints[self.order]

    def hold(self, model: BaseModel, x: Array, allowed: Array) -> NDArray[np.bool_]:
        """Which columns x (n, k) are among the ends with residuals of at least `allowed` (k,)."""
        place = np.searchsorted(self.prints, _fingerprints(x))
        place = self.order[np.minimum(place, len(self.order) - 1)]
        found: NDArray[np.bool_] = (self.y[:, place] == x).all(axis=0)
        if found.any():
            place = place[found]
            y, t = self.y[:, place], self.t[place]
            u = self.controls.at(t, y) if len(self.controls.names) else np.empty((0, 1))
            p = _columns(self.start.parameters, place)
            rows = model._columns("consistency", t, y, p, u, None, strict=False)
            found[found] = np.abs(rows[0::3]).max(axis=0) >= allowed[found]
        return found


def _text(name: str, residual: bool, value: float, size: float) -> str:
    if not residual:
        return (
            f"{name} = {value:.6g} at the start, with terms of magnitude {size:.6g}: it is constant in every motion "
            "and zero at the example point, but not for these coordinates (is a quaternion not normalized?)"
        )
    return (
        f"the residual {name} = {value:.6g} at the start, with terms of magnitude {size:.6g}; it must be zero: the "
        "coordinates and velocities violate the constraints"
    )


def _columns(rows: list[Array], numbers: NDArray[np.intp]) -> Array:
    """Parameters, given as rows (1,) or (N,), as the columns of some trajectories."""
    p = np.empty((len(rows), len(numbers)))
    for row, given in zip(p, rows):
        row[:] = given[numbers] if len(given) > 1 else given
    return p


def _fingerprints(x: Array) -> NDArray[np.uint64]:
    """A number for each column (n, N), equal for equal bits."""
    total = np.zeros(x.shape[1], dtype=np.uint64)
    for row in np.ascontiguousarray(x).view(np.uint64):
        total = (total ^ row) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total

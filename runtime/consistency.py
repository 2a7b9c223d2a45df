"""Whether a run begins where its equations hold: on its constraints, on the levels of its kinematics.

A residual r (a holonomic equation, or a constraint where every velocity is a state) has to be zero at the start. It is
compared with the sum of the magnitudes of its terms, so that the units do not matter: a share of more than 1e-8 is a
`ConsistencyWarning`, of more than 1e-4 an `ArgumentError`. A residual of one term, w = 0, is all of its terms however
small it is; so the sum counts as no less than FLOOR * atol * sum |dr/dx_j| (with atol no larger than LARGEST_ATOL),
which passes over what lies below `atol`. Invariants of the kinematics whose level the example gives, |q|^2 - 1, are
only warned about.

The end of a run may start the next one however far it has drifted. A model remembers its latest ends that lie off the
constraints, bit for bit, with their residuals, and those of its ensembles as long as their arrays live; such a start
is let through while its residuals are no larger than they were there. Snapshots are not looked at.
"""

from __future__ import annotations

import warnings
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import assumptions
from .errors import ArgumentError, ConsistencyWarning

if TYPE_CHECKING:
    from .columns import Start
    from .initial import InitialStates
    from .inputs import Inputs

Array = NDArray[np.float64]

__all__ = [
    "FLOOR",
    "LARGEST_ATOL",
    "REFUSE",
    "WARN",
    "Accepted",
    "check_ensemble",
    "check_start",
    "note_end",
    "remember",
]

WARN, REFUSE = 1e-8, 1e-4
"""Shares of the sum of the magnitudes of its terms from which on a residual is warned about, and refused."""
FLOOR = 1e8
"""The least sum in units of atol * sum |dr/dx_j|: a residual that `atol` accounts for is no reason for a warning."""
LARGEST_ATOL = 1e-9
"""A larger `atol` does not make the check any looser."""
MOST_ENDS = 256
"""Ends of runs off the constraints that a model remembers."""
_ENSEMBLES = 8
"""Ensembles whose ends a model remembers while they live."""


@dataclass(frozen=True, eq=False)
class Accepted:
    """A state (n,) that a run has begun with before: it is not checked again."""

    y: Array


def check_start(model: InitialStates, t0: float, x0: Array, p: Array, controls: Inputs, atol: float) -> None:
    """Refuse or warn about a state (n,) at which a run would begin."""
    _check_assumed("initial", model, model.states, x0)
    _check_assumed("parameters", model, model.parameters, p)
    if not model.checked_at_start:
        return
    u = model._start(t0, x0, controls)
    _check(model, t0, x0[:, None], p[:, None], u[:, None], atol, None)


def check_ensemble(
    model: InitialStates, t0: float, start: Start, x0: Array, controls: Inputs, atol: float
) -> None:
    """Refuse or warn about the states (n, N) at which the trajectories of an ensemble would begin."""
    if not start.plain:
        _check_assumed("initial", model, model.states, x0)
        _check_assumed("parameters", model, model.parameters, start.parameters)
    if not model.checked_at_start:
        return
    u = model._start(t0, x0, controls)
    u = u[:, None] if u.ndim == 1 else u
    wrong = model._inconsistent(t0, x0, start.parameters, u, atol)
    if wrong.size:
        p = _columns(start.parameters, wrong)
        _check(model, t0, x0[:, wrong], p, u[:, wrong] if u.shape[1] > 1 else u, atol, (wrong, x0.shape[1]))


def note_end(model: InitialStates, t: float, y: Array, p: Array, controls: Inputs) -> None:
    """Remember the end of a run of a model in Python that has drifted off its constraints; compiled ones do it in C."""
    if model.checked_at_start:
        u = model._start(t, y, controls)
        rows = model._columns(
            "consistency", np.array([t]), y[:, None], p[:, None], u[:, None], None, strict=False
        )
        model.ends[np.ascontiguousarray(y).tobytes()] = float(np.abs(rows[0::3]).max())
        if len(model.ends) > MOST_ENDS:
            del model.ends[next(iter(model.ends))]


def remember(model: InitialStates, y: Array, t: Array, start: Start, controls: Inputs) -> None:
    """Note the ends of an ensemble, the last times of its array `y` (n, times, N), as long as the array lives."""
    if model.checked_at_start and y.shape[1]:
        alive = [entry for entry in model._ensembles if entry[0]() is not None]
        model._ensembles = [*alive[1 - _ENSEMBLES :], (weakref.ref(y), t, start, controls)]


def _check_assumed(kind: str, model: InitialStates, names: tuple[str, ...], rows: Any) -> None:
    assumptions.check_rows(kind, names, [model.variables[name].flags for name in names], rows)


def _check(
    model: InitialStates,
    t0: float,
    x0: Array,
    p: Array,
    u: Array,
    atol: float,
    of: tuple[NDArray[np.intp], int] | None,
) -> None:
    """The residuals of columns that may be wrong; `of` has their numbers in the ensemble and its size."""
    rows = model._columns("consistency", np.array([t0]), x0, p, u, None, strict=False)
    r, terms, slopes = np.abs(rows[0::3]), rows[1::3], rows[2::3]
    with np.errstate(all="ignore"):
        share = r / np.maximum(terms, FLOOR * min(atol, LARGEST_ATOL) * slopes)
    share = np.where(r == 0, 0.0, np.where(np.isnan(share), np.inf, share))
    suspect = np.flatnonzero((share > WARN).any(axis=0))
    suspect = suspect[~_known(model, x0[:, suspect], r[:, suspect].max(axis=0, initial=0.0))]
    if not suspect.size:
        return
    names = model.checked_at_start
    residual = np.array([name in model.residuals for name in names])
    refused = (share > REFUSE) & residual[:, None]
    for wrong, fatal in ((refused, True), (share > WARN, False)):
        columns = suspect[wrong[:, suspect].any(axis=0)]
        if not columns.size:
            continue
        j = columns[0] if fatal else columns[np.argmax(share[:, columns].max(axis=0))]
        k = int(np.argmax(np.where(wrong[:, j], share[:, j], -1.0)))
        value, size = float(rows[3 * k, j]), float(terms[k, j])
        text = f"initial: {_text(names[k], bool(residual[k]), value, size)}"
        if of is not None:
            numbers, count = of
            which = "the first is" if fatal else "the worst is"
            text += f" ({columns.size} of {count} trajectories; {which} number {numbers[j]})"
        if fatal:
            raise ArgumentError(text)
        warnings.warn(text, ConsistencyWarning, stacklevel=4)
        return


def _text(name: str, residual: bool, value: float, size: float) -> str:
    if not residual:
        return (
            f"{name} = {value:.6g} at the start, where its terms amount to {size:.6g}: it is constant in every motion "
            "and zero at the example point; the coordinates are not on that level, as where a quaternion is not a "
            "unit quaternion"
        )
    return (
        f"the residual {name} = {value:.6g} at the start, where its terms amount to {size:.6g}; it must be zero: the "
        "coordinates and velocities contradict the constraints"
    )


def _known(model: InitialStates, x: Array, largest: Array) -> NDArray[np.bool_]:
    """Which columns are ends of earlier runs, with residuals no larger than there."""
    found = np.zeros(x.shape[1], dtype=bool)
    if not x.shape[1]:
        return found
    allowed = largest * (1.0 - 1e-12)
    if model.ends:
        for j, column in enumerate(np.ascontiguousarray(x.T)):
            found[j] = model.ends.get(column.tobytes(), -1.0) >= allowed[j]
    prints = _fingerprints(x)
    for reference, t, start, controls in model._ensembles:
        y = reference()
        if y is None or found.all():
            continue
        known = _fingerprints(y[:, -1])
        order = np.argsort(known)
        place = order[np.minimum(np.searchsorted(known, prints, sorter=order), len(order) - 1)]
        same = ~found & (y[:, -1, place] == x).all(axis=0)
        if same.any():
            place = place[same]
            at = t[place]
            u = controls.at(at, y[:, -1, place]) if len(controls.names) else np.empty((0, 1))
            rows = model._columns(
                "consistency", at, y[:, -1, place], _columns(start.parameters, place), u, None, strict=False
            )
            found[same] = np.abs(rows[0::3]).max(axis=0) >= allowed[same]
    return found


def _columns(rows: list[Array], numbers: NDArray[np.intp]) -> Array:
    """Parameters, a row (1,) or (N,) each, as the columns of some trajectories."""
    p = np.empty((len(rows), len(numbers)))
    for row, given in zip(p, rows):
        row[:] = given[numbers] if len(given) > 1 else given
    return p


def _fingerprints(x: Array) -> NDArray[np.uint64]:
    """A number for each column (n, N), the same for the same bits."""
    total = np.zeros(x.shape[1], dtype=np.uint64)
    for row in np.ascontiguousarray(x).view(np.uint64):
        total = (total ^ row) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total

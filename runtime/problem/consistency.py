"""Checks that a run begins where its equations hold: on its constraints and on the levels of its kinematic invariants.

A residual r (a holonomic equation, or a constraint if every velocity is a state) must be zero at the start. It is
compared with the sum of the magnitudes of its terms, so that units do not matter: a ratio above 1e-8 gives a
`ConsistencyWarning`, above 1e-4 an `ArgumentError`, unless the tolerances of the run explain it, see `Accuracy`. A
residual with a single term, w = 0, always has the ratio 1, however small it is; so the sum is taken to be at least
FLOOR * atol * sum |dr/dx_j| (with atol at most LARGEST_ATOL), which ignores residuals below `atol`. The quaternion of a
joint must have length 1: its residual is |q|^2 - 1. Other invariants of the kinematics, with a level given by the
example, only cause warnings.

A start is judged by its numbers alone, wherever they come from. The end of a run starts the next one of the same
options because it is as near to the constraints as these options keep a run. Snapshots are not checked.

A value that is given although it follows from the others, such as a dependent velocity or an energy, is checked against
the same limits: the residual is then given - found, and its terms are the contributions of the velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError, ConsistencyWarning, warn_caller

from ..interface import assumptions
from ..interface.arguments import Array, wide
from ..interface.base_model import BaseModel
from ..interface.limits import EXPECTED, FLOOR, LARGEST_ATOL, REFUSE, WARN
from .inputs import Inputs
from .options import RunOptions, corrects

STRETCH = 16384
"""Columns handled together: few enough for the CPU cache, so that memory does not grow with their number, and many
enough to keep Python's overhead small."""
_MOST = 100.0
"""Tolerances that the errors of a run's steps add up to, without an error; see `EXPECTED`."""
_LOOSE = 1e-3, 1e6 * LARGEST_ATOL
"""The tolerances by which runs are judged that have none."""


class Accuracy(NamedTuple):
    """How near to its constraints a run of certain options stays, so that its end can start the next one.

    The errors of steps add up. A residual of up to 10 tolerances causes no warning and one of up to 100 no error, where
    a tolerance is `rtol` times the sum of the magnitudes of its terms, or `atol` sum |dr/dx_j| if that is more. Fixed
    steps that are not moved back have no tolerance, and are judged as with 1e-3. With ``project=None`` a deviation
    grows as long as the run lasts: it causes warnings as always, but is refused as with 1e-3.
    Those of the lengths of quaternions are `of_lengths`.
    """

    rtol: float = 0.0
    atol: float = LARGEST_ATOL
    drifts: bool = False
    fixed: bool = False

    @classmethod
    def of(cls, model: Any, how: RunOptions) -> Accuracy:
        """That of options that have been checked, whose smallest `atol` counts; `STRICT` if nothing is judged by it."""
        if not (model._quaternions or model.checked_at_start):
            return STRICT
        kept = model.methods[how.method].adaptive or corrects(model, how.project) is not None
        return cls(how.rtol, how.smallest_atol, how.project is None, not kept)

    @property
    def of_lengths(self) -> Accuracy:
        """That of the lengths of quaternions, which only ``project="all"`` moves back: as with None.

        The components have sizes up to 1, so that both tolerances are relative ones. Fixed steps keep lengths well, so
        that they warn as from REFUSE on.
        """
        least = REFUSE / EXPECTED if self.fixed else 0.0
        return self._replace(rtol=max(self.rtol, self.atol, least), atol=0.0, drifts=True, fixed=False)

    @property
    def used(self) -> Accuracy:
        """With the tolerances that count."""
        return self.loose if self.fixed else self

    @property
    def loose(self) -> Accuracy:
        """With tolerances of at least 1e-3, where the user's `atol` does not say that the states are small."""
        rtol, atol = _LOOSE
        return self._replace(
            rtol=max(self.rtol, rtol),
            atol=max(self.atol, atol * min(1.0, self.atol / LARGEST_ATOL)),
            fixed=False,
        )

    def off(self, residual: Array, terms: Array, slopes: Array) -> tuple[Array, Array]:
        """Ratios as of `share` that deserve a warning, and those that deserve an error; 0 for what is explained."""
        used = self.used
        off = share(residual, terms, slopes, min(used.atol, LARGEST_ATOL))
        refusing = used.loose if self.drifts else used
        return (
            np.where((off > WARN) & used._beyond(EXPECTED, residual, terms, slopes), off, 0.0),
            np.where((off > REFUSE) & refusing._beyond(_MOST, residual, terms, slopes), off, 0.0),
        )

    def _beyond(self, count: float, residual: Array, terms: Array, slopes: Array) -> Any:
        """Whether residuals are more than so many tolerances; NaN is."""
        with np.errstate(all="ignore"):
            return ~(np.abs(residual) <= count * np.maximum(self.rtol * terms, self.atol * slopes))


STRICT = Accuracy()
"""Where no run is to follow."""


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
    """Issue a warning at the line that called the package, unless warnings are held."""
    texts = _held.get()
    if texts is not None:
        texts.append(text)
        return
    warn_caller(text, category)


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
        self, model: Any, t0: float, parameters: Any, controls: Inputs, accuracy: Accuracy
    ) -> tuple[Array, Array]:
        """State (n,) and parameters (np,) of the run."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Accepted(DecidedStart):
    """A state (n,) that a previous run started from: it is not checked again. `past`: see `past_of`."""

    y: Array
    past: tuple[float, ...] = ()

    def begin(
        self, model: Any, t0: float, parameters: Any, controls: Inputs, accuracy: Accuracy
    ) -> tuple[Array, Array]:
        found: tuple[Array, Array] = model._initial(t0, self.y, parameters, controls, None)
        return found


def check_start(
    model: Any,
    t0: float,
    x0: Array,
    p: Any,
    controls: Inputs,
    accuracy: Accuracy,
    count: int | None = None,
    assumed: bool = False,
) -> None:
    """Raise an error or warn if the initial state (n,) of a run is off the constraints, or with `count` one of (n, N).

    `p` (np,), or a row (1,) or (N,) for each parameter; `assumed`: assumptions about both have been checked.
    """
    if not assumed:
        _check_assumed("initial", model, model.states, x0)
        _check_assumed("parameters", model, model.parameters, p)
    if not (model._quaternions or model.checked_at_start):
        return
    u = wide(controls.first(t0, x0))
    wrong = np.zeros(1, np.intp) if count is None else model._inconsistent(t0, x0, p, u, accuracy.used.atol)
    if not wrong.size:
        return
    told = bool(model._quaternions) and _check_quaternions(model, wide(x0)[:, wrong], wrong, accuracy, count)
    residual, report = _are_residuals(model), _Report(accuracy, count)
    for first in range(0, wrong.size if model.checked_at_start else 0, STRETCH):
        part = wrong[first : first + STRETCH]
        columns = wide(x0)[:, part], _columns(p, part), u[:, part] if u.shape[1] > 1 else u
        rows = model._columns("consistency", np.array([t0]), *columns, None, strict=False)

        def text(k: int, j: int, rows: Array = rows) -> str:
            return _text(model.checked_at_start[k], bool(residual[k]), rows[3 * k, j], rows[3 * k + 1, j])

        # After a warning about quaternions the invariants of the coordinates would repeat it.
        report.add(rows, part, text, residual if told else True, residual)
    report.say()


def _check_assumed(kind: str, model: BaseModel, names: tuple[str, ...], rows: Any) -> None:
    assumptions.check_rows(kind, names, [model.variables[name].flags for name in names], rows)


def _check_quaternions(
    model: BaseModel, x0: Array, numbers: NDArray[np.intp], accuracy: Accuracy, count: int | None
) -> bool:
    """Check the lengths of quaternions in columns of these numbers (n, k). Returns whether any caused a warning."""
    found = [x0[i : i + 4] for i in model._quaternions]
    squares = np.array([np.einsum("ij,ij->j", q, q) for q in found])
    rows = np.empty((3 * len(found), len(numbers)))
    rows[0::3], rows[1::3] = squares - 1.0, squares + 1.0
    rows[2::3] = [2.0 * np.abs(q).sum(axis=0) for q in found]

    def text(k: int, j: int) -> str:
        first = model._quaternions[k]
        advice = ", or start from model.consistent(...)" if squares[k, j] else ""
        return assumptions.not_of_unit_length(model.states[first : first + 4], float(squares[k, j])) + advice

    report = _Report(accuracy.of_lengths, count)
    report.add(rows, numbers, text)
    report.say()
    return report.warned > 0


class _Report:
    """The findings for the start of a run, or for the `count` trajectories of an ensemble, added in blocks."""

    def __init__(self, accuracy: Accuracy, count: int | None) -> None:
        self.accuracy, self.count = accuracy, count
        self.refused = self.warned = 0
        self.first = self.worst = ""
        self.largest = 0.0

    def add(
        self,
        rows: Array,
        numbers: NDArray[np.intp],
        text: Callable[[int, int], str],
        counts: Any = True,
        refuses: Any = True,
    ) -> None:
        """Judge residuals of columns with these numbers: `rows` has each, its terms and its slopes.

        `counts` and `refuses` (k,) say which residuals count, and which can refuse a start; `text(k, j)` tells of one.
        """
        off, fatal = self.accuracy.off(rows[0::3], rows[1::3], rows[2::3])
        off = np.where(np.reshape(counts, (-1, 1)), off, 0.0)
        fatal = np.where(np.reshape(refuses, (-1, 1)), fatal, 0.0)
        refused = np.flatnonzero(fatal.any(axis=0))
        if refused.size and not self.refused:
            self.first = self._text(text, fatal, int(refused[0]), numbers)
        self.refused += refused.size
        warned = np.flatnonzero(off.any(axis=0))
        if warned.size and off.max() > self.largest:
            j = int(np.argmax(off.max(axis=0)))
            self.largest, self.worst = float(off.max()), self._text(text, off, j, numbers)
        self.warned += warned.size

    def say(self) -> None:
        """Raise an error for an inconsistent start, or warn about one that is slightly off."""
        if self.refused:
            raise ArgumentError(
                self.first.replace("HOW_MANY", f"{self.refused} of {self.count} trajectories; the first")
            )
        if self.warned:
            warn(self.worst.replace("HOW_MANY", f"{self.warned} of {self.count} trajectories; the worst"))

    def _text(self, text: Callable[[int, int], str], off: Array, j: int, numbers: NDArray[np.intp]) -> str:
        said = f"initial: {text(int(np.argmax(off[:, j])), j)}"
        return said if self.count is None else f"{said} (HOW_MANY is number {numbers[j]})"


def _text(name: str, residual: bool, value: float, size: float) -> str:
    if not residual:
        return (
            f"{name} = {value:.6g} at the start, with terms of magnitude {size:.6g}: it is constant in every motion "
            "and zero at the example point, but not for these coordinates (is a quaternion not normalized?)"
        )
    return (
        f"the residual {name} = {value:.6g} at the start, with terms of magnitude {size:.6g}; it must be zero: the "
        "coordinates and velocities violate the constraints; model.consistent gives the nearest start that does not"
    )


def _are_residuals(model: BaseModel) -> NDArray[np.bool_]:
    """Which of what the kernel `consistency` gives must be zero; the others are invariants."""
    return np.array([name in model.residuals for name in model.checked_at_start], dtype=np.bool_)


def drift(model: BaseModel, t: Array, y: Array, p: Array, u: Array, how: RunOptions) -> str:
    """What to say of a run that has left a constraint by more than its tolerances explain; nothing if it has not.

    t (2,), y (n, 2), u (nu, 2): its start, which may have been off already, and its end.
    """
    if not np.isfinite(y).all():
        return ""
    accuracy = Accuracy.of(model, how)
    rows = model._columns("consistency", t, y, p[:, None], u, None, strict=False)
    began, off = accuracy.off(rows[0::3], rows[1::3], rows[2::3])[0].T
    residual, terms, slopes = rows[0::3, 1], rows[1::3, 1], rows[2::3, 1]
    off = np.where(_are_residuals(model), off, 0.0)
    if began.any() or not off.any():
        return ""
    k = int(np.argmax(off))
    tolerances = abs(residual[k]) / max(accuracy.rtol * terms[k], accuracy.atol * slopes[k])
    left = how.project is None and corrects(model, "constraints") is not None
    return (
        f"at {model.independent} = {t[1]:.6g} {model.checked_at_start[k]} = {residual[k]:.3g}, which must be zero, is "
        f"{tolerances:.0f} tolerances off, since errors of steps add up; make rtol and atol smaller"
        + (", or leave project as it is" if left else "")
        + (f", or take a form other than {model.form}" if model.form == "multipliers" else "")
    )


def _columns(rows: Any, numbers: NDArray[np.intp]) -> Array:
    """Parameters, given as numbers or rows (1,) or (N,), as the columns of some trajectories."""
    p = np.empty((len(rows), len(numbers)))
    for row, given in zip(p, rows):
        row[:] = given[numbers] if np.size(given) > 1 else given
    return p

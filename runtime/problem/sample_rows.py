"""Samples of an input with a row of values for each trajectory, which are read where they are, a block at a time."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import EVEN, INTEGER, ODD, holds
from ..interface.scalars import is_masked
from .polynomials import KINDS, Polynomial, joined, samples_of, spline_slopes

KEPT = 1 << 24
"""Arrays of a caller up to this many bytes are copied, so that they may change; larger ones are referenced."""
BLOCK = 1 << 14
"""Numbers that are read at a time: they stay in the cache."""
RELEASED = 256
"""Blocks after which the memory of a mapped file is given back: 32 MB."""


def are_rows(values: object) -> bool:
    """Whether the values of samples have two axes, as a table of rows has; they are not read."""
    shape = getattr(values, "shape", None)
    if shape is None and isinstance(values, (list, tuple)) and len(values):
        shape = (getattr(values[0], "shape", ()) or isinstance(values[0], (list, tuple))) and (len(values), 0)
    return isinstance(shape, tuple) and len(shape) == 2


def by_rows(times: object, values: Any) -> Any:
    """The values of samples with a row for each trajectory; of arrays with named axes that of the times is the last."""
    along = getattr(times, "dims", None)
    return values.transpose(..., along[0]) if along and along[0] in getattr(values, "dims", ()) else values


@dataclass(frozen=True, eq=False)
class SampleRows:
    """The input of many trajectories, trajectory j by the samples ``values[j]``; as each of them is a `Polynomial`.

    `times` (k,), `values` (N, k): an array, or whatever gives arrays of its rows, as a table of pandas or xarray does.
    `order`: how often it is differentiated, as for the rate of an input. `within`: see `Polynomial`. `which` (n,): the
    rows that n trajectories have; None for one after the other. `begin`: the number of the first trajectory.
    """

    times: Array
    values: Any
    kind: str
    order: int = 0
    name: str = ""
    within: tuple[float, float] = (-np.inf, np.inf)
    which: NDArray[np.generic] | None = None
    begin: int = 0

    @classmethod
    def given_as(cls, name: str, spec: object, count: int | None) -> SampleRows | None:
        """The samples of `count` trajectories, or of any number of them for 0, if those that are given have rows."""
        if isinstance(spec, SampleRows):
            if len(spec) != count:
                raise ArgumentError(f"inputs: {name} has {len(spec)} rows; {count} are needed")
            return spec
        if not isinstance(spec, (tuple, list)) or len(spec) < 2 or not are_rows(spec[1]):
            return None
        times, values, kind = samples_of(name, spec)
        moments, values = arguments.array(f"inputs: times of {name}", times), by_rows(times, values)
        if isinstance(values, (list, tuple)):
            values = arguments.array(f"inputs: values of {name}", values)
        n, k = values.shape
        if count is None:
            raise ArgumentError(
                f"inputs: {name} has values of shape {(n, k)}, a row for each of {n} trajectories, and this is one "
                "run; give one row"
            )
        if n != (count or n) or moments.shape != (k,):
            raise ArgumentError(
                f"inputs: {name} has times of shape {moments.shape} and values of shape {(n, k)}; values of shape "
                f"({moments.size},), or ({count or n}, {moments.size}) with a row for each trajectory, are needed"
            )
        joined(f"inputs: {name}", kind, moments, np.zeros(k))  # checks the times
        small = isinstance(values, np.ndarray) and values.nbytes <= KEPT
        rows = cls(moments, np.array(values, subok=True) if small else values, kind, name=name)
        for first, last in rows.blocks():
            block = rows._read(first, last)
            finite = np.isfinite(block)
            if not finite.all():
                j, i = np.argwhere(~finite)[0]
                raise ArgumentError(
                    f"inputs: {name} of trajectory {first + j} is {block[j, i]} at t = {moments[i]:.17g}; it must be "
                    "finite"
                )
        return rows

    @property
    def given(self) -> Any:
        """What the caller gave; None for a rate, which follows from it."""
        return (
            self if self.which is not None else None if self.order else (self.times, self.values, self.kind)
        )

    @property
    def n_powers(self) -> int:
        """The coefficients of a piece."""
        return KINDS[self.kind]

    def __len__(self) -> int:
        return len(self.values) if self.which is None else len(self.which)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of trajectories whose rows are read at a time; what a file has mapped into memory is given back."""
        step = max(1, BLOCK // len(self.times))
        for i, first in enumerate(range(0, len(self), step)):
            yield first, min(first + step, len(self))
            if i % RELEASED == RELEASED - 1:
                self.release()
        self.release()

    def digest(self) -> str:
        """What it is, for a manifest: equal for equal samples, whatever has them."""
        found = hashlib.sha256(self.times.tobytes())
        for first, last in self.blocks():
            found.update(self._read(first, last).tobytes())
        return f"{self.kind} {(len(self), len(self.times))} {found.hexdigest()[:16]}"

    def _rows(self, first: int, last: int) -> Any:
        """The rows of some trajectories, as whatever has them gives them."""
        rows = self.values.iloc if hasattr(type(self.values), "iloc") else self.values
        if self.which is None:
            return rows[first:last]
        places = self.which[first:last].astype(np.int64)
        if isinstance(rows, np.ndarray) or rows is not self.values:
            return rows[places]
        return [np.asarray(rows[i : i + 1])[0] for i in places.tolist()]

    def _read(self, first: int, last: int) -> Array:
        """The values of some trajectories, (last - first, k); contiguous arrays of float64 are not copied."""
        try:
            rows = self._rows(first, last)
            kind = getattr(getattr(rows, "dtype", None), "kind", "f")
            if is_masked(rows) or kind not in "biufO":
                raise TypeError(
                    "they have masked entries" if kind in "biufO" else f"their type is {rows.dtype}"
                )
            found = np.ascontiguousarray(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"inputs: values of {self.name} are not an array of real numbers: {error}"
            ) from error
        if found.shape != (last - first, len(self.times)):
            raise ArgumentError(
                f"inputs: values of {self.name} from row {first} to {last} have shape {found.shape}; "
                f"{(last - first, len(self.times))} is needed"
            )
        return found

    def coefficients(self, first: int, last: int) -> Array:
        """What C reads of rows, see `cg_signal_t`: the values, or (last - first, k, 2) with the slopes of splines."""
        values = self._read(first, last)
        if self.kind != "cubic":
            return values
        found = np.empty((*values.shape, 2))
        found[..., 0] = values
        for begin, end in self.part(first, last).blocks():
            found[begin:end, :, 1] = spline_slopes(self.times, values[begin:end])
        return found

    def release(self) -> None:
        """Give back the memory into which rows of a file were mapped."""
        pages: Any = getattr(self.values, "_mmap", None)
        if getattr(self.values, "mode", None) in ("r", "r+") and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)

    def block(self, first: int, last: int) -> Polynomial:
        """The polynomials of some rows."""
        return self._of(self._read(first, last))

    def column(self, j: int) -> Polynomial:
        """The polynomial of trajectory j, as a single run has it."""
        return self._of(self._read(j, j + 1)[0])

    def _of(self, values: Array) -> Polynomial:
        found = replace(joined("", self.kind, self.times, values), name=self.name, within=self.within)
        for _ in range(self.order):
            found = replace(found.rate, ends=True)
        return found

    def part(self, first: int, last: int) -> SampleRows:
        """The samples of trajectories first <= j < last."""
        if self.which is not None:
            return replace(self, which=self.which[first:last], begin=self.begin + first)
        return replace(self, values=self._rows(first, last), begin=self.begin + first)

    def at(self, t: Array, of: Array | None = None, side: str = "right") -> Array:
        """Values at times t (N,), one of each trajectory; see `Polynomial.at`."""
        found = np.empty(len(t))
        for first, last in self.blocks():
            place = None if of is None else of[first:last]
            found[first:last] = self.block(first, last).at(t[first:last], place, side)
        return found

    def slopes(self, t: Array, direction: float) -> Array:
        """The derivatives by the time at times t (N,); see `Polynomial.slopes`."""
        return replace(self, order=self.order + 1).at(t, side="left" if direction > 0 else "right")

    def with_rates(self, names: Sequence[str]) -> list[SampleRows]:
        """An input and its rates, by their names. Raises ArgumentError if one jumps whose rate is needed."""
        within = self.within
        for first, last in self.blocks() if len(names) > 1 else ():
            given = replace(self.block(first, last), given=(self.times, None, self.kind))
            low, high = given.with_rates(names)[0].within
            within = max(within[0], low), min(within[1], high)
        return [replace(self, order=i, name=names[0], within=within) for i in range(len(names))]

    def check(self, name: str, flags: int, span: tuple[float, float] | None = None) -> None:
        """Raise ArgumentError if values are not as assumed: samples, or with `span` those between two times."""
        wrong: list[int] = []
        if span is None:
            for first, last in self.blocks():
                right = holds(flags, self.block(first, last).rows[..., 0]).all(axis=-1)
                wrong += (first + np.flatnonzero(~right)[:1]).tolist()
        elif self.n_powers > 2 or flags & (INTEGER | EVEN | ODD):
            wrong = list(range(len(self)))
        for j in wrong:
            self.column(j).check(name, flags, span, f" in trajectory {self.begin + j}")

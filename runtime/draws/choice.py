"""Rows of samples of which each trajectory draws one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface.arguments import Array, short
from ..problem.sample_rows import SampleRows, are_rows


@dataclass(frozen=True, eq=False)
class Choice:
    """Rows of which each trajectory draws one; made by `choice`."""

    rows: Any


def choice(rows: Any) -> Choice:
    """Samples of an input of which each trajectory draws a row, in ensembles and studies.

    rows : (m, k), the values of m series at k times; whatever samples with a row for each trajectory can be, as an
    array, also a memory-mapped one, or a table of pandas or xarray.

    It stands in the place of values, ``inputs={"F": (times, cg.choice(rows), "linear")}``. Each row is as likely as any
    other; which one trajectory i has follows from the seed, the sampling and i, as the other quantities that are drawn,
    and is ``ens.draws["F"]``. Raises `ArgumentError` if `rows` has no two axes.

    >>> import numpy as np
    >>> import chaplygin as cg
    >>> x, F = cg.coordinates("x"), cg.inputs("F")
    >>> pushed = cg.System("chosen", coordinates=[x], kinetic=cg.rate(x)**2/2, forces={cg.rate(x): F})
    >>> model = pushed.compile()
    >>> rows = np.array([[0, 0], [2, 2]])    # x = 0, or t^2
    >>> start = {"x": 0, "x_dot": 0}
    >>> ens = cg.ensemble(model, (0, 3), start, inputs={"F": ([0, 3], cg.choice(rows))}, n=8, seed=1)
    >>> (ens["x"].round(9) == 9 * ens.draws["F"]).all()
    np.True_
    """
    if not are_rows(rows) or not len(rows):
        raise ArgumentError(f"choice: {short(rows)} is not a table (m, k), with a row for each of m series")
    return Choice(rows)


def is_chosen(entry: object) -> bool:
    """Whether an input is samples with a `Choice`."""
    return isinstance(entry, tuple) and len(entry) > 1 and isinstance(entry[1], Choice)


@dataclass(frozen=True, eq=False)
class Pick:
    """The number of one of the rows, each as likely as any other."""

    rows: SampleRows
    dimensions = 1

    @classmethod
    def of(cls, name: str, entry: Any) -> Pick:
        """What draws a row of samples. Raises ArgumentError naming what is wrong with them."""
        found = SampleRows.given_as(name, (entry[0], entry[1].rows, *entry[2:]), 0)
        assert found is not None
        return cls(found)

    def draw(self, u: Array) -> Array:
        count = len(self.rows)
        return np.floor(np.minimum(u * count, count - 1))

    def taken(self, which: Array) -> SampleRows:
        """The samples of trajectories that have drawn these rows."""
        return replace(self.rows, which=which)

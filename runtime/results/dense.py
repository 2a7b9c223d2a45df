"""The interpolants of the steps of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface.arguments import Array, array


def interpolated(coef: Array, step: Any, theta: Any) -> Array:
    """States (n, N) at fractions theta (N,) of the steps step (N,), whose interpolants are coef (steps, rows, n).

    The form of the interpolants is that of cg_dense_evaluate, see cg_driver.h.
    """
    rows = coef[step].transpose(1, 2, 0)
    total = rows[-1]
    for j in range(len(rows) - 2, -1, -1):
        total = rows[j] + (theta if j % 2 == 0 else 1.0 - theta) * total
    return np.asarray(total)


class Dense:
    """The interpolant of a run: ``sol.sol(t)``, with the dense-output order of the method.

    A number t gives the state (n,), an array (N,) gives (n, N). Times outside the run raise `ArgumentError`.
    """

    __slots__ = ("_coef", "_interpolated", "_y0", "t_max", "t_min", "ts")

    def __init__(
        self,
        spans: Array,
        coef: Array,
        t0: float,
        y0: Array,
        interpolated: Callable[[Array, Any, Any], Array] = interpolated,
    ) -> None:
        # spans (steps, 2); coef (steps, rows, n); `interpolated`: by the arithmetic of the run's own output times
        self._coef, self._interpolated = coef, interpolated
        self.ts: Array = np.concatenate([[t0], spans[:, 1]])
        self._y0 = y0
        self.t_min, self.t_max = float(self.ts.min()), float(self.ts.max())

    @classmethod
    def of_states(cls, dense: Dense, n: int) -> Dense:
        """The interpolant of the first n states."""
        spans = np.stack([dense.ts[:-1], dense.ts[1:]], axis=1)
        coef = np.ascontiguousarray(dense._coef[:, :, :n])
        return cls(spans, coef, dense.ts[0], dense._y0[:n], dense._interpolated)

    def starts(self, first: int, last: int) -> Array:
        """The states at the start of steps first <= i < last, (n, last - first)."""
        return np.ascontiguousarray(self._coef[first:last, 0, :].T)

    def inside(self, step: NDArray[np.int64], theta: Array) -> Array:
        """The states at fractions theta (N,) of the steps step (N,), (n, N)."""
        return np.asarray(self._interpolated(self._coef, step, theta))

    def __call__(self, t: Any) -> Array:
        moments = array("t", t)
        if moments.ndim > 1:
            raise ArgumentError(f"t has shape {moments.shape}; a number or a 1-D array is needed")
        flat = np.atleast_1d(moments)
        if not ((flat >= self.t_min) & (flat <= self.t_max)).all():
            raise ArgumentError(f"t must lie inside the run, [{self.t_min:.17g}, {self.t_max:.17g}]")
        if len(self.ts) < 2:
            result = np.repeat(self._y0[:, None], len(flat), axis=1)
            return result[:, 0] if moments.ndim == 0 else result
        forward = self.ts[-1] >= self.ts[0]
        sign = 1.0 if forward else -1.0
        step = np.clip(np.searchsorted(sign * self.ts, sign * flat, side="left") - 1, 0, len(self._coef) - 1)
        begin, end = self.ts[step], self.ts[step + 1]
        total = self._interpolated(self._coef, step, (flat - begin) / (end - begin))
        return total[:, 0] if moments.ndim == 0 else total

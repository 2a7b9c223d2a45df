"""Missing states, computed from declared velocities that were given instead.

In equations with independent parameters theta (a parametrization), or with independent velocities, the declared
velocities are functions eta_p = beta_p(t, x, theta). If a caller gives eta instead of theta, theta is found by
Gauss-Newton least squares; the remaining beta(theta) - eta is checked against the limits of `consistency`. For an
affine beta one step is exact. A nonlinear beta can have several solutions: the one found is near the example point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface.arguments import Array
from ..interface.limits import WARN
from .consistency import judge, share

_ITERATIONS = 50
_SMALL = 6e-6
"""Relative step of central differences, about the cube root of the spacing of float64 at 1."""


def solve(
    unknown: Sequence[str],
    guess: Sequence[float],
    given: Mapping[str, Array],
    values: Callable[[Array], Array],
    width: int,
) -> Array:
    """The unknowns (k, N) for which `values` (k, N) -> (d, N) is nearest to the given rows, each (1,) or (N,).

    `guess` has their values at the example point, NaN if the example gives none; `width` is N. Raises `ArgumentError`
    if the given values do not determine the unknowns, or contradict one another.
    """
    wanted = np.array([np.broadcast_to(row, (width,)) for row in given.values()])
    names = f"{', '.join(given)} do not determine {', '.join(unknown)}"
    if len(given) < len(unknown):
        raise ArgumentError(f"initial: missing {', '.join(unknown)}; {names}")
    best = np.full((len(unknown), width), np.nan)
    left, off = np.full(wanted.shape, np.nan), np.full(wanted.shape, np.inf)
    slopes = np.full((len(wanted), len(unknown), width), np.nan)
    for start in _starts(guess):
        theta, there = _least_squares(np.repeat(start[:, None], width, axis=1), wanted, values)
        now = values(theta)
        rest = now - wanted
        ratio = share(rest, np.abs(wanted) + np.abs(now) + np.abs(there * theta).sum(axis=1))
        better = ratio.max(axis=0) < off.max(axis=0)
        best, slopes = np.where(better, theta, best), np.where(better, there, slopes)
        left, off = np.where(better, rest, left), np.where(better, ratio, off)
        if not (off > WARN).any():
            break
    known = np.isfinite(best).all() and np.isfinite(slopes).all()
    if not known or (width and np.linalg.matrix_rank(_stacked(slopes)).min() < len(unknown)):
        raise ArgumentError(f"initial: {names}")

    def text(j: int) -> str:
        k = int(np.argmax(off[:, j]))
        return (
            f"initial: {list(given)[k]} = {wanted[k, j]:.6g} contradicts the other velocities: the nearest permitted "
            f"value is {wanted[k, j] + left[k, j]:.6g}"
        )

    judge(off.max(axis=0), text)
    return best


def terms(theta: Array, values: Callable[[Array], Array]) -> Array:
    """Sums of the magnitudes of the contributions of theta (k, N) to `values` (k, N) -> (d, N); NaN counts as 0."""
    return np.asarray(np.nansum(np.abs(_slopes(theta, values, True) * theta), axis=1))


def _starts(guess: Sequence[float]) -> list[Array]:
    example = np.array(guess, dtype=np.float64)
    return [np.where(np.isnan(example), fill, example) for fill in (0.0, 1.0, 0.3)] + [
        np.full(len(example), 1.0),
        np.full(len(example), -0.7),
    ]


def _least_squares(theta: Array, wanted: Array, values: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Gauss-Newton steps from theta (k, N); returns the result and the slopes (d, k, N) there.

    The result for one column does not depend on the others, so that a single trajectory can be rerun by itself.
    """
    slopes = _slopes(theta, values, True)
    moving = np.ones(theta.shape[1], dtype=bool)
    with np.errstate(all="ignore"):
        for i in range(_ITERATIONS):
            left = values(theta) - wanted
            moving &= np.isfinite(slopes).all(axis=(0, 1)) & np.isfinite(left).all(axis=0)
            if not moving.any():
                break
            inverse = np.linalg.pinv(_stacked(np.where(moving, slopes, 0.0)))
            step = np.zeros_like(theta)
            for d in range(len(left)):
                step += np.where(moving, inverse[:, :, d].T * left[d], 0.0)
            theta = theta - step
            moving &= (np.abs(step) > 4e-16 * (1.0 + np.abs(theta))).any(axis=0)
            # For affine values the first slopes are exact, so the next step is zero.
            if i > 0 and moving.any():
                slopes = np.where(moving, _slopes(theta, values, False), slopes)
    return theta, slopes


def _slopes(theta: Array, values: Callable[[Array], Array], wide: bool) -> Array:
    """d values / d theta (d, k, N) by central differences; for affine values a wide step is just as exact."""
    columns = []
    for i in range(len(theta)):
        h = np.ones_like(theta[i]) if wide else _SMALL * (1.0 + np.abs(theta[i]))
        above, below = theta.copy(), theta.copy()
        above[i] += h
        below[i] -= h
        columns.append((values(above) - values(below)) / (above[i] - below[i]))
    return np.stack(columns, axis=1)


def _stacked(slopes: Array) -> Array:
    return np.moveaxis(slopes, -1, 0)

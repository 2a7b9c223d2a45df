"""A start that satisfies every constraint, near one that does not.

Positions: the coordinates x nearest to those given, min |x - x^|^2 / 2 with f(t, x) = 0 and some x_i held, by the
Gauss-Newton iteration x <- x^ + J^+ (J (x - x^) - f), J = df/dx. Velocities: those nearest in the metric of the kinetic
energy, min (eta - eta^) M (eta - eta^) / 2 with A eta + A_0 = 0 and some eta_a held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import arguments, inputs as signals
from .arguments import Array
from .assumptions import check_rows
from .errors import ArgumentError

if TYPE_CHECKING:
    from .base_model import BaseModel

Mask = NDArray[np.bool_]

_STEPS = 100
_CLOSE = 1e-13
"""Relative size of a residual that counts as zero, and of a step that changes nothing any more."""


class Constraints:
    """The kernel `closure` of a model, taken apart."""

    def __init__(self, model: BaseModel, t: float, p: Array, u: Array) -> None:
        self.model, self.t, self.p, self.u = model, t, p, u
        kinds = [model.variables[name].kind for name in model.declared]
        self.n = n = kinds.count("coordinate")
        self.k = k = len(kinds) - n
        rest = model.kernels["closure"] - k * (k + 1) // 2
        self.closed = sum(name.startswith("holonomic_") for name in model.residuals)
        self.rows = (rest - self.closed * (1 + n)) // (k + 1)

    def at(self, x: Array, eta: Array) -> tuple[Array, Array, Array, Array, Array]:
        """f (h,), J (h, n), A (s, k), A_0 (s,), M (k, k)."""
        found = self.model.call("closure", self.t, np.concatenate([x, eta]), self.p, self.u)
        h, n, k, s = self.closed, self.n, self.k, self.rows
        f, slopes, rows, offsets, upper = np.split(found, np.cumsum([h, h * n, s * k, s]))
        mass = np.zeros((k, k))
        mass[np.triu_indices(k)] = upper
        mass = mass + np.triu(mass, 1).T
        return f, slopes.reshape(h, n), rows.reshape(s, k), offsets, mass


def consistent(
    model: BaseModel, initial: Any, parameters: Any, inputs: Any, keep: Sequence[str], t: float
) -> dict[str, float]:
    """See `BaseModel.consistent`."""
    if "closure" not in model.kernels:
        raise ArgumentError(f"{model.name} has no constraints; every start is consistent")
    names = model.declared
    given = arguments.named("initial", initial)
    if given is None:
        raise ArgumentError(
            f"initial = {arguments.short(initial)}: give values by name, a dict of {', '.join(names)}"
        )
    p = arguments.vector("parameters", parameters if parameters is not None else {}, model.parameters)
    flags = [model.variables[name].flags for name in model.parameters]
    check_rows("parameters", model.parameters, flags, p)
    u = signals.parse(inputs, model.inputs).values
    constraints = Constraints(model, t, p, u)
    velocities = names[constraints.n :]
    start = arguments.vector("initial", {**dict.fromkeys(velocities, 0.0), **given}, names)
    held = _held(names, arguments.plain_names("keep", keep))
    x = _positions(constraints, start, held[: constraints.n], names)
    eta = _velocities(constraints, x, start[constraints.n :], held[constraints.n :], velocities)
    return dict(zip(names, map(float, (*x, *eta)), strict=True))


def _held(names: Sequence[str], keep: Sequence[str]) -> Mask:
    for name in keep:
        if name not in names:
            raise arguments.unknown_entry("keep", [name], names)
    return np.array([name in keep for name in names])


def _with_held(names: Sequence[str], held: Mask) -> str:
    """What was held, for messages."""
    kept = ", ".join(name for name, fixed in zip(names, held) if fixed)
    return f" with {kept} held" if kept else ""


def _positions(constraints: Constraints, start: Array, held: Mask, names: Sequence[str]) -> Array:
    n = constraints.n
    wanted, eta, free = start[:n], start[n:], ~held
    x: Array = wanted.copy()
    f, slopes, *_ = constraints.at(x, eta)
    for _ in range(_STEPS):
        if not constraints.closed:
            break
        inside = slopes[:, free]
        move, *_ = np.linalg.lstsq(inside, inside @ (x - wanted)[free] - f, rcond=1e-10)
        after = wanted.copy()
        after[free] += move
        step, x = np.abs(after - x).max(), after
        f, slopes, *_ = constraints.at(x, eta)
        if not np.isfinite(f).all() or step <= _CLOSE * (1.0 + np.abs(x).max()):
            break
    size = np.abs(slopes) @ (1.0 + np.abs(x)) + 1e-300
    worst = int(np.argmax(np.abs(f) / size)) if len(f) else 0
    if len(f) and not abs(f[worst]) <= 1e3 * _CLOSE * size[worst]:
        fixed = _with_held(names, held)
        raise ArgumentError(
            f"initial: no coordinates near the given ones satisfy holonomic_{worst + 1}{fixed}: the residual is "
            f"{f[worst]:.6g}; start nearer to the constraints" + (" or keep less" if fixed else "")
        )
    return x


def _velocities(constraints: Constraints, x: Array, wanted: Array, held: Mask, names: Sequence[str]) -> Array:
    _, _, rows, offsets, mass = constraints.at(x, wanted)
    free = ~held
    off = rows @ wanted + offsets
    eta: Array = wanted.copy()
    if free.any():
        # In z = L^T (eta - eta^), with M = L L^T, the nearest is the shortest.
        lower = np.linalg.cholesky(mass[np.ix_(free, free)])
        z, *_ = np.linalg.lstsq(np.linalg.solve(lower, rows[:, free].T).T, -off, rcond=1e-10)
        eta[free] += np.linalg.solve(lower.T, z)
    off = rows @ eta + offsets
    size = np.abs(rows) @ np.abs(eta) + np.abs(offsets) + np.abs(rows) @ np.abs(wanted) + 1e-300
    worst = int(np.argmax(np.abs(off) / size))
    if abs(off[worst]) > 1e4 * _CLOSE * size[worst]:
        raise ArgumentError(
            f"initial: no velocities satisfy constraint_{worst + 1}{_with_held(names, held)}: the residual is "
            f"{off[worst]:.6g}; "
            + ("keep fewer" if held.any() else "the constraints contradict each other there")
        )
    return eta

"""The start nearest to a given one that satisfies every constraint, and the derivative of that move.

The metric is that of the kinetic energy at the given point x^, eta^. Coordinates move along the fields, x = x^ + B e,
B = xi(x^), by the shortest e, min e M e / 2 with f(t, x) = 0; where the coordinates are redundant, B has the gradients
of the invariants of the kinematics, too, which are held, at no cost. Then velocities, min (eta - eta^) M (eta - eta^)
/ 2 with A eta + A_0 = 0 at x. M only has to be positive on the moves that the constraints permit.

The derivative is that of the conditions of a minimum: with multipliers l, M e + B^T J^T l = 0 for J = df/dx.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import KernelError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.base_model import BaseModel
from ..interface.statuses import UNCLOSED
from ..problem.consistency import Accuracy, DecidedStart, check_start
from ..problem.inputs import Inputs
from ..problem.quaternions import normalised, slopes
from ..problem.start import InitialStates
from .derivatives import derivatives

Mask = NDArray[np.bool_]

_STEPS = 100
_CLOSE = 1e-13
"""Relative size of a residual that counts as zero, and of a step that changes nothing any more."""
_RANK = 1e-10
"""Singular values below this share of the largest belong to equations that repeat others."""


@dataclass(frozen=True)
class Parts:
    """The kernel `closure` taken apart, or its derivatives, with a last axis for what they are by.

    f (h,), J (h, n) and A (s, k), A_0 (s,) of the constraints, M (k, k); fields (n, m) with the gradients of the levels
    (m - k,), which are among f and J.
    """

    f: Array
    slopes: Array
    rows: Array
    offsets: Array
    mass: Array
    fields: Array


class Closure:
    """The constraints of a model at a time, with its parameters and inputs."""

    def __init__(self, model: BaseModel, t: float, p: Array, u: Array) -> None:
        self.model, self.t, self.p, self.u = model, t, p, u
        kinds = [model.variables[name].kind for name in model.declared]
        self.n = kinds.count("coordinate")
        self.k = len(kinds) - self.n
        self.closed = sum(name.startswith("holonomic_") for name in model.residuals)
        self.count = sum(name.startswith("constraint_") for name in model.residuals)

    def at(self, x: Array) -> Parts:
        """The constraints at coordinates (n,)."""
        return self._parts(self.model.call("closure", self.t, self._declared(x), self.p, self.u))

    def derivatives_at(self, x: Array) -> Parts:
        """Their derivatives by the coordinates, the parameters and the inputs."""
        found = derivatives(self.model).jacobian("closure", self.t, self._declared(x), self.p, self.u)
        return self._parts(np.delete(found, np.r_[0, 1 + self.n : 1 + self.n + self.k], axis=1))

    def _declared(self, x: Array) -> Array:
        return np.concatenate([x, np.zeros(self.k)])

    def _parts(self, found: Array) -> Parts:
        h, n, k, s = self.closed, self.n, self.k, self.count
        more = found.shape[1:]
        sizes = np.cumsum([h, h * n, s * k, s, k * (k + 1) // 2])
        f, slopes, rows, offsets, upper, rest = np.split(found, sizes)
        mass = np.zeros((k, k, *more))
        mass[np.triu_indices(k)] = upper
        mass[np.triu_indices(k)[::-1]] = upper
        slopes = slopes.reshape(h, n, *more)
        fields = np.zeros((n, k, *more))
        if len(rest):
            fields = np.moveaxis(rest[: n * k].reshape(k, n, *more), 0, 1)
            levels, gradients = np.split(rest[n * k :], [(len(rest) - n * k) // (1 + n)])
            gradients = gradients.reshape(len(levels), n, *more)
            f, slopes = np.concatenate([f, levels]), np.concatenate([slopes, gradients])
            fields = np.concatenate([fields, np.moveaxis(gradients, 0, 1)], axis=1)
        elif not more:
            fields = np.eye(n, k)
        return Parts(f, slopes, rows.reshape(s, k, *more), offsets, mass, fields)


def shortest(metric: Array, rows: Array, right: Array, pull: Array) -> tuple[Array, Array]:
    """e with rows e = right that makes e metric e / 2 + pull e least, and pinv(rows).

    Equations that repeat others are solved in the sense of least squares; `metric` has to be positive where rows e = 0.
    Both are made in units of e in which the metric's diagonal is 1, and for rows of size 1.
    """
    diagonal = np.diagonal(metric)
    sizes = np.where(diagonal > 0, diagonal, diagonal.max(initial=0.0) or 1.0)
    units = 1.0 / np.sqrt(sizes)
    scaled = rows * units
    lengths = np.linalg.norm(scaled, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    left, singular, across = np.linalg.svd(scaled / lengths[:, None])
    rank = int((singular > _RANK * singular.max(initial=0.0)).sum())
    inverse = units[:, None] * (across[:rank].T / singular[:rank]) @ left[:, :rank].T / lengths
    free = units[:, None] * across[rank:].T
    found = inverse @ right
    if free.shape[1]:
        found = found - free @ np.linalg.solve(free.T @ metric @ free, free.T @ (pull + metric @ found))
    return found, inverse


class NearestState:
    """The nearest start to given coordinates and velocities (n + k,), of which some are held; see above.

    Attributes
    ----------
    x, eta : its coordinates and velocities.
    """

    def __init__(self, closure: Closure, given: Array, held: Mask | None = None) -> None:
        n = closure.n
        self.closure, self._given = closure, given
        self._held = np.zeros(len(given), dtype=bool) if held is None else held
        self._first = closure.at(given[:n])
        self.x, self._moved = self._coordinates()
        self._here = closure.at(self.x)
        self.eta = self._velocities()

    def unmet(self) -> str | None:
        """Which constraint is not satisfied, with its residual; None if all are.

        A residual is compared with what the coordinates, and speeds of this kinetic energy, could make of its terms.
        """
        here, n, mass = self._here, self.closure.n, self._first.mass
        speeds = np.fmax(np.abs(self.eta), np.abs(self._given[n:]))
        energy = max(float(v @ mass @ v) for v in (self.eta, self._given[n:]))
        speeds = np.fmax(speeds, np.sqrt(np.fmax(energy, 0.0) / np.fmax(np.diagonal(mass), 1e-300)))
        for name, residual, size, limit in (
            (
                "holonomic",
                here.f - self._levels(),
                np.abs(here.slopes) @ (1.0 + np.abs(self.x)),
                1e3 * _CLOSE,
            ),
            (
                "constraint",
                self._affine(self.eta),
                np.abs(here.rows) @ speeds + np.abs(here.offsets),
                1e4 * _CLOSE,
            ),
        ):
            share = np.abs(residual) / (size + 1e-300)
            worst = int(np.argmax(share)) if len(share) else -1
            if len(share) and not share[worst] <= limit:
                return f"{name}_{worst + 1}: the residual is {residual[worst]:.6g}"
        return None

    def _levels(self) -> Array:
        """The values that f must have: zero, and the invariants of the kinematics those at the given point."""
        levels: Array = self._first.f.copy()
        levels[: self.closure.closed] = 0.0
        return levels

    def _affine(self, eta: Array) -> Array:
        return np.asarray(self._here.rows @ eta + self._here.offsets)

    def _coordinates(self) -> tuple[Array, Array]:
        """The coordinates and e, by steps of Newton's method for the constraints."""
        n, first = self.closure.n, self._first
        fields, metric = first.fields, _metric(first)
        wanted, held = self._given[:n], self._held[:n]
        x, e = wanted, np.zeros(fields.shape[1])
        if not self.closure.closed:
            return x, e
        for _ in range(_STEPS):
            here = self.closure.at(x)
            if not (np.isfinite(here.f).all() and np.isfinite(here.slopes).all()):
                break
            rows = here.slopes @ fields
            right = rows @ e - here.f + self._levels()
            e, _ = shortest(metric, *_holding(rows, right, fields[held]), np.zeros(len(e)))
            after = np.where(held, wanted, wanted + fields @ e)
            step, x = np.abs(after - x).max(), after
            if step <= _CLOSE * (1.0 + np.abs(x).max()):
                break
        return x, e

    def _velocities(self) -> Array:
        n, mass, rows = self.closure.n, self._first.mass, self._here.rows
        wanted, held = self._given[n:], self._held[n:]
        if not (np.isfinite(rows).all() and np.isfinite(mass).all()):
            return wanted
        unit = np.eye(len(wanted))[held]
        off, _ = shortest(mass, *_holding(rows, -self._affine(wanted), unit), np.zeros(len(wanted)))
        return np.asarray(np.where(held, wanted, wanted + off))

    def derivatives(self) -> Array:
        """d(x, eta) by the given coordinates and velocities, the parameters and the inputs: (n + k, n + k + others)."""
        closure, first, here = self.closure, self._first, self._here
        n, k, others = closure.n, closure.k, len(closure.p) + len(closure.u)
        of_first, of_here = closure.derivatives_at(self._given[:n]), closure.derivatives_at(self.x)
        by_x = np.eye(n, n + others)
        if closure.closed:
            by_x = self._of_coordinates(of_first, of_here, by_x)
        off = self.eta - self._given[n:]
        none = np.zeros(k)
        _, inverse = shortest(first.mass, here.rows, here.offsets, none)
        multipliers = -inverse.T @ (first.mass @ off)
        of_rows = _total(of_here.rows, by_x)
        right = -np.einsum("sk...,k->s...", of_rows, self.eta) - _total(of_here.offsets, by_x)
        pull = np.einsum("ab...,b->a...", of_first.mass, off) + np.einsum(
            "sa...,s->a...", of_rows, multipliers
        )
        by_rest, _ = shortest(first.mass, here.rows, right, pull)
        by_eta, _ = shortest(first.mass, here.rows, np.zeros((len(here.rows), k)), -first.mass)
        return np.block(
            [[by_x[:, :n], np.zeros((n, k)), by_x[:, n:]], [by_rest[:, :n], by_eta, by_rest[:, n:]]]
        )

    def _of_coordinates(self, of_first: Parts, of_here: Parts, given: Array) -> Array:
        """dx by the given coordinates, the parameters and the inputs."""
        first, here, e, k = self._first, self._here, self._moved, self.closure.k
        fields, metric, rows = first.fields, _metric(first), here.slopes @ first.fields
        _, inverse = shortest(metric, rows, here.f, np.zeros(len(e)))
        multipliers = -inverse.T @ (metric @ e)
        start = given + np.einsum("im...,m->i...", of_first.fields, e)  # dx at the same e
        right = -_total(of_here.f, start)
        right[self.closure.closed :] += of_first.f[self.closure.closed :]
        curved = np.einsum("hi...,h->i...", of_here.slopes, multipliers)
        pull = np.einsum("im...,i->m...", of_first.fields, here.slopes.T @ multipliers)
        pull += fields.T @ _total(curved, start)
        pull[:k] += np.einsum("ab...,b->a...", of_first.mass, e[:k])
        stiff = metric + fields.T @ curved[:, : len(fields)] @ fields
        found, _ = shortest(stiff, rows, right, pull)
        return np.asarray(start + fields @ found)


def _metric(parts: Parts) -> Array:
    """M of the moves along the fields; those along the gradients of the levels cost nothing."""
    k, m = len(parts.mass), parts.fields.shape[1]
    metric = np.zeros((m, m))
    metric[:k, :k] = parts.mass
    return metric


def _holding(rows: Array, right: Array, units: Array) -> tuple[Array, Array]:
    """Equations with those that hold some of the unknowns."""
    return np.concatenate([rows, units]), np.concatenate([right, np.zeros(len(units))])


def _total(part: Array, along: Array) -> Array:
    """The derivatives of something at x, from those by x, p and u, and those of x by the given coordinates, p and u."""
    n = len(along)
    found = part[..., :n] @ along
    found[..., n:] += part[..., n:]
    return np.asarray(found)


def moves(model: Any, given: Mapping[str, Any] | None) -> bool:
    """Whether a start can be off constraints that the equations keep as rates only, and is moved onto them.

    The states are then coordinates and declared velocities. Independent velocities are held, unless every declared one
    is given: `given` has the values by name, or is None.
    """
    if "closure" not in model._entries or model.has_initial or not set(model.states) <= set(model.declared):
        return False
    velocities = [name for name in model.declared if model.variables[name].kind != "coordinate"]
    if len(model.declared) - len(velocities) != model.n_coordinates:
        return False
    if any(name.startswith("holonomic_") for name in model.residuals):
        return True
    return set(velocities) <= (given or {}).keys() | set(model.states)


class Move:
    """The move of a start onto the constraints, from the values `before` it of `entries` to the states (n,) `after` it.

    The entries are the states; but all declared variables where only some of the velocities are states and every one is
    given.
    """

    def __init__(self, model: Any, t: float, x: Array, given: Mapping[str, Any], p: Array, u: Array) -> None:
        """From states x (n,) before the move, and the values that they were made from, by name.

        Raises `KernelError` if no state near the given one satisfies the constraints.
        """
        n = model.n_coordinates
        known = dict(zip(model.states, x)) | {s: given[s] for s in model.declared[n:] if s in given}
        complete = set(model.declared) <= known.keys()
        self.entries: tuple[str, ...] = model.declared if complete else model.states
        self._held = () if complete else model.states[n:]
        self._places = [model.declared.index(name) for name in model.states]
        self._columns = [model.declared.index(name) for name in self.entries]
        self.before = np.array([float(known.get(name, 0.0)) for name in self.entries])
        start = np.zeros(len(model.declared))
        start[self._columns] = self.before
        self._found = NearestState(Closure(model, t, p, u), start)
        if self._found.unmet() is not None:
            raise KernelError(
                f"initial: no start near the given one satisfies the constraints of {model.name} with these "
                "parameters",
                UNCLOSED,
            )
        self.after = np.concatenate([self._found.x, self._found.eta])[self._places]
        self.after[len(x) - len(self._held) :] = x[len(x) - len(self._held) :]

    @classmethod
    def of(
        cls, model: Any, t: float, x: Array, given: Mapping[str, Any] | None, p: Array, u: Array
    ) -> Move | None:
        """The move of a start; None if nothing is moved."""
        return cls(model, t, x, given or {}, p, u) if moves(model, given) else None

    @cached_property
    def _slopes(self) -> Array:
        """Those of the states after it, by the entries, the parameters and the inputs."""
        found = self._found.derivatives()
        others = range(found.shape[0], found.shape[1])
        slopes = found[self._places][:, [*self._columns, *others]]
        if self._held:
            first = len(self._places) - len(self._held)
            slopes[first:] = np.eye(*slopes.shape)[first:]
        return slopes

    def along(self, entries: Array, seeds: Array) -> Array:
        """The changes (n, k) of the states with those of the entries, and of parameters and inputs."""
        return np.asarray(self._slopes @ np.concatenate([entries, seeds]))

    def back(self, weights: Array) -> tuple[Array, Array]:
        """The derivatives of a function of the states by the entries, and by parameters and inputs."""
        found = weights @ self._slopes
        return found[: len(self.entries)], found[len(self.entries) :]


@dataclass(frozen=True, eq=False)
class Nearest(DecidedStart):
    """A start whose run begins at the nearest state that satisfies the constraints, with quaternions of length 1."""

    given: Any

    @classmethod
    def of(cls, model: Any, given: Any) -> Any:
        """The nearest start, where a start can be off at all; else what is given."""
        off = model._quaternions or moves(model, arguments.named("initial", given))
        return cls(given) if off else given

    def _named(self, model: Any) -> dict[str, Any] | None:
        """The values by name, if they are given so or have quaternions."""
        given = arguments.named("initial", self.given)
        if model._quaternions and given is None:
            given = dict(zip(model.states, arguments.vector("initial", self.given, model.states).tolist()))
        return given

    def by_name(self, model: Any) -> dict[str, Any] | None:
        """The same before the move onto the constraints, with quaternions of length 1."""
        given = self._named(model)
        return given if given is None else normalised(model, given)

    def states(self, model: InitialStates) -> Any:
        """The start without velocities that follow from the states."""
        given = self.by_name(model)
        if given is None:
            return self.given
        if given.keys() >= set(model.states):
            return {name: value for name, value in given.items() if not model._dependent(name)}
        return given

    def unit(self, model: Any, names: Sequence[str]) -> Array:
        """The derivatives of the values of `names` in `by_name` by those given."""
        return slopes(model, names, self._named(model) or {})

    def begin(
        self, model: InitialStates, t0: float, parameters: Any, controls: Inputs, accuracy: Accuracy
    ) -> tuple[Array, Array]:
        x0, p = model._initial(t0, self.states(model), parameters, controls, None)
        move = Move.of(model, t0, x0, self.by_name(model), p, controls.first(t0, x0))
        x0 = x0 if move is None else move.after
        check_start(model, t0, x0, p, controls, accuracy)
        return x0, p

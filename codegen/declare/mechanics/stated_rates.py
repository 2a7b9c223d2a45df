"""Whether the rates that a SymPy model states are those of its positions and velocities.

SymPy takes an acceleration that was set, by `set_acc` or `a2pt_theory`, in the place of the derivative of the velocity,
and its equations are wrong where the two differ: at the centre of a wheel, say, whose contact was taken as one point of
the wheel. It also takes an angular velocity that was set where it differentiates vectors of a frame, and the rotation
matrix where it converts them: an angular velocity that lacks a component makes the two contradict each other.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import RigidBody, dynamicsymbols

from ..symbols import DeclarationError
from .sources import Source
from .vectors import components

Expression = Any
_EXACT = 1e-8


def check_stated_rates(given: Source) -> None:
    """Raise DeclarationError, naming the point or frame, for a rate that contradicts what it is the rate of."""
    space = given.frame
    compared: set[frozenset[Any]] = set()
    for body in given.bodies:
        point, own = body.masscenter, body.frame if isinstance(body, RigidBody) else None
        velocity = point.vel(space)
        if space in point._acc_dict:
            difference = components(point.acc(space) - velocity.dt(space), space)
            _check_acceleration(given, f"acceleration of {point}", difference)
        if own is not None and space in own._ang_acc_dict:
            difference = components(own.ang_acc_in(space) - own.ang_vel_in(space).dt(space), space)
            _check_acceleration(given, f"angular acceleration of {own}", difference)
        frames = [frame for _, frame in velocity.args]
        for other in frames[1:]:
            path = frames[0]._dict_list(other, 0)
            compared |= {frozenset(pair) for pair in pairwise(path)}
    for pair in sorted(compared, key=lambda frames: sorted(map(str, frames))):
        _check_turning(given, *sorted(pair, key=lambda frame: len(frame._dict_list(space, 0))))


def _check_acceleration(given: Source, where: str, difference: list[Expression]) -> None:
    if not _vanishes(given, difference):
        raise DeclarationError(
            f"from_sympy: the {where} in {given.frame} was set to another vector than the rate of its velocity, as "
            "by a2pt_theory for points that are not fixed in one frame; omit it: it follows from the velocity"
        )


def _check_turning(given: Source, base: Any, frame: Any) -> None:
    """R' R^T = [w x] for the rotation of a frame in the one that it was oriented in."""
    rotation = base.dcm(frame)
    turned = rotation.diff(dynamicsymbols._t) * rotation.T
    rate = turned[2, 1] * base.x + turned[0, 2] * base.y + turned[1, 0] * base.z
    stated = frame.ang_vel_in(base)
    if not _vanishes(given, components(stated - rate, base)):
        raise DeclarationError(
            f"from_sympy: the angular velocity of {frame} in {base} was set to another vector than the rate of its "
            "orientation, so vectors with components in both frames have no definite rate; give every component of "
            "it, in speeds with the kinematics of these angles"
        )


def _vanishes(given: Source, found: list[Expression]) -> bool:
    """Whether components are zero at random motions."""
    if all(e == 0 for e in found):
        return True
    return all(np.abs(_Numbers(given, found, seed)(found)).max() <= _EXACT for seed in range(2))


class _Numbers:
    """Random values of everything in expressions that satisfy kinematics and constraints."""

    def __init__(self, given: Source, moving: list[Expression], seed: int) -> None:
        t, kinematics = dynamicsymbols._t, given.kinematics
        self.rates = {x.diff(t): e for x, e in kinematics.items()}
        self.second = {x.diff(t, t): e.diff(t) for x, e in kinematics.items()}
        still = [*given.auxiliary, *(v.diff(t) for v in given.auxiliary)]
        self.values: dict[Expression, float] = dict.fromkeys(still, 0.0)
        rows = [self._resolved(e) for e in given.velocity]
        turned = [self._resolved(e.diff(t)) for e in given.velocity]
        draw = np.random.default_rng(seed)
        every = [*map(self._resolved, moving), *rows, *turned]
        atoms = {a for e in every for a in e.atoms(sp.Symbol, AppliedUndef, sp.Derivative)} - {t}
        for a in sorted(atoms - self.values.keys(), key=str):
            self.values[a] = draw.uniform(0.3, 0.9)
        self.values[t] = draw.uniform(0.3, 0.9)
        accelerations = [v.diff(t) for v in given.u]
        for equations, unknown in ((rows, list(given.u)), (turned, accelerations)):
            self._satisfy(equations, unknown)

    def __call__(self, expressions: list[Expression]) -> Any:
        known = [self._resolved(sp.sympify(e)).xreplace(self.values) for e in expressions]
        return np.array([float(e) for e in known])

    def _resolved(self, e: Expression) -> Expression:
        return e.xreplace(self.second).xreplace(self.rates)

    def _satisfy(self, equations: list[Expression], unknown: list[Expression]) -> None:
        """Move the unknowns, in which the equations are linear, to the nearest solution."""
        if not equations:
            return
        rows = np.array([self([e.diff(v) for v in unknown]) for e in equations])
        for v, step in zip(unknown, np.linalg.lstsq(rows, self(equations), rcond=None)[0], strict=True):
            self.values[v] = self.values.get(v, 0.0) - step

"""Whether the accelerations that a SymPy model states are the rates of its velocities.

SymPy takes an acceleration that was set, by `set_acc` or `a2pt_theory`, in the place of the derivative of the velocity,
and its equations are wrong where the two differ: at the centre of a wheel, say, whose contact was taken as one point of
the wheel.
"""

from __future__ import annotations

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


def check_accelerations(given: Source) -> None:
    """Raise DeclarationError, naming the point or frame, for an acceleration that is not the rate of the velocity."""
    frame = given.frame
    for body in given.bodies:
        point, own = body.masscenter, body.frame if isinstance(body, RigidBody) else None
        if frame in point._acc_dict:
            _compare(given, f"acceleration of {point}", point.acc(frame) - point.vel(frame).dt(frame))
        if own is not None and frame in own._ang_acc_dict:
            rate = own.ang_vel_in(frame).dt(frame)
            _compare(given, f"angular acceleration of {own}", own.ang_acc_in(frame) - rate)


def _compare(given: Source, where: str, difference: Expression) -> None:
    moving = sp.Matrix(components(difference, given.frame))
    for seed in range(2):
        found = _Numbers(given, moving, seed)(moving)
        if np.abs(found).max() > _EXACT:
            raise DeclarationError(
                f"from_sympy: the {where} in {given.frame} was set to another vector than the rate of its velocity, as "
                "by a2pt_theory for points that are not fixed in one frame; omit it: it follows from the velocity"
            )


class _Numbers:
    """Random values of everything in an expression that satisfy kinematics and constraints."""

    def __init__(self, given: Source, moving: Expression, seed: int) -> None:
        t, kinematics = dynamicsymbols._t, given.kinematics
        self.rates = {x.diff(t): e for x, e in kinematics.items()}
        self.second = {x.diff(t, t): e.diff(t) for x, e in kinematics.items()}
        still = [*given.auxiliary, *(v.diff(t) for v in given.auxiliary)]
        self.values: dict[Expression, float] = dict.fromkeys(still, 0.0)
        rows = [self._resolved(e) for e in given.velocity]
        turned = [self._resolved(e.diff(t)) for e in given.velocity]
        draw = np.random.default_rng(seed)
        every = [self._resolved(moving), *rows, *turned]
        atoms = {a for e in every for a in e.atoms(sp.Symbol, AppliedUndef, sp.Derivative)} - {t}
        for a in sorted(atoms - self.values.keys(), key=str):
            self.values[a] = draw.uniform(0.3, 0.9)
        self.values[t] = draw.uniform(0.3, 0.9)
        accelerations = [v.diff(t) for v in given.u]
        for equations, unknown in ((rows, list(given.u)), (turned, accelerations)):
            self._satisfy(equations, unknown)

    def __call__(self, e: Expression) -> Any:
        found = self._resolved(e).xreplace(self.values)
        return np.array(found.evalf() if found.is_Matrix else sp.Matrix([found]).evalf(), float).ravel()

    def _resolved(self, e: Expression) -> Expression:
        return e.xreplace(self.second).xreplace(self.rates)

    def _satisfy(self, equations: list[Expression], unknown: list[Expression]) -> None:
        """Move the unknowns, in which the equations are linear, to the nearest solution."""
        if not equations:
            return
        rows = np.array([self(sp.Matrix([e.diff(v) for v in unknown])) for e in equations])
        left = np.array([self(e)[0] for e in equations])
        for v, step in zip(unknown, np.linalg.lstsq(rows, left, rcond=None)[0], strict=True):
            self.values[v] = self.values.get(v, 0.0) - step

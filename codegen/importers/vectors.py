"""Vectors of `sympy.physics.vector` as components in one frame each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.physics.mechanics import Particle, Point, ReferenceFrame, RigidBody, Vector

from ..declare.given_dynamics import GivenLoad, GivenMotion
from ..symbols.symbols import DeclarationError
from .names import Names


def components(vector: Vector, frame: Any) -> list[Any]:
    """The components of a vector along the axes of a frame, multiplied out no further than the rotations need."""
    total = sp.zeros(3, 1)
    for part, own in vector.args if vector != 0 else ():
        if not isinstance(part, sp.MatrixBase):  # SymPy multiplies a vector by nan
            raise DeclarationError(f"from_sympy: a vector has the components {part} in {own}")
        try:
            total += part if own == frame else frame.dcm(own) * part
        except ValueError:
            raise DeclarationError(
                f"from_sympy: the orientation of {own} in {frame}, in which a vector is needed, is not known"
            ) from None
    return list(total)


def hub(vector: Vector, inertial: Any) -> Any:
    """The frame in which a vector has the shortest components: the fewest rotations away from its parts."""
    frames = [frame for _, frame in vector.args] if vector != 0 else []
    if len(frames) == 1:
        return frames[0]
    return min([inertial, *frames], key=lambda f: sum(len(f._dict_list(g, 0)) for g in frames))


class Motions:
    """The velocities of points and the angular velocities of frames, as motions in declared symbols."""

    def __init__(self, names: Names, inertial: Any) -> None:
        self.names, self.inertial = names, inertial
        self._turning: dict[Any, tuple[Any, ...]] = {}

    def of_bodies(self, bodies: Sequence[Any]) -> list[GivenMotion]:
        """Those of bodies with their inertia, one of a particle, two of a rigid body, without those at rest."""
        for body in bodies:
            if not isinstance(body, (Particle, RigidBody)):
                raise DeclarationError(
                    f"from_sympy: {body} is {type(body).__name__}; give bodies as RigidBody or Particle objects"
                )
        names = [body.name for body in bodies]
        labels = [f"{name} {i + 1}" if names.count(name) > 1 else name for i, name in enumerate(names)]
        found = [m for label, body in zip(labels, bodies, strict=True) for m in self._of_body(label, body)]
        return [m for m in found if any(e != 0 for e in m.vector)]

    def _of_body(self, label: str, body: Any) -> list[GivenMotion]:
        mass = self.names(f"mass of {label}", body.mass)
        found = [self._translation(label, body, sp.diag(mass, mass, mass))]
        return [*found, self._rotation(label, body)] if isinstance(body, RigidBody) else found

    def of_load(self, given: Any) -> GivenLoad:
        """The motion of the point or frame on which a load acts, and the load in the same axes."""
        place, load = given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, None)
        if not isinstance(place, (Point, ReferenceFrame)) or not (load == 0 or isinstance(load, Vector)):
            raise DeclarationError(
                f"from_sympy: the load {given} is not a Force, a Torque, (Point, Vector) or (ReferenceFrame, Vector)"
            )
        where = f"load on {place}"
        try:
            turns = isinstance(place, ReferenceFrame)
            vector = place.ang_vel_in(self.inertial) if turns else place.vel(self.inertial)
        except (ValueError, AttributeError) as error:
            raise DeclarationError(
                f"from_sympy: {where}: its velocity is not known: {str(error).strip()}"
            ) from None
        frame = hub(vector, self.inertial)
        name = f"{'angular velocity' if turns else 'velocity'} of {place}"
        motion = GivenMotion(name, self.names.listed(name, components(vector, frame)))
        return GivenLoad(where, motion, self.names.listed(where, components(load, frame)))

    def _translation(self, label: str, body: Any, tensor: Any) -> GivenMotion:
        name = f"velocity of {label}"
        try:
            vector = body.masscenter.vel(self.inertial)
        except ValueError as error:
            raise DeclarationError(f"from_sympy: the {name} is not known: {str(error).strip()}") from None
        return self._motion(name, vector, hub(vector, self.inertial), tensor)

    def _rotation(self, label: str, body: Any) -> GivenMotion:
        name, inertia = f"angular velocity of {label}", body.central_inertia
        frames = {v.args[0][1] for _, *pair in (inertia.args if inertia != 0 else ()) for v in pair}
        frame = frames.pop() if len(frames) == 1 else body.frame  # its own axes keep an inertia constant
        tensor = inertia.to_matrix(frame) if inertia != 0 else sp.zeros(3, 3)
        tensor = tensor.applyfunc(lambda e: self.names(f"inertia of {label}", e))
        try:
            vector = body.frame.ang_vel_in(self.inertial)
        except ValueError as error:
            raise DeclarationError(f"from_sympy: the {name} is not known: {str(error).strip()}") from None
        return self._motion(name, vector, frame, tensor, spin=True)

    def _motion(self, name: str, vector: Vector, frame: Any, tensor: Any, spin: bool = False) -> GivenMotion:
        rows = tuple(tuple(tensor[i, j] for j in range(3)) for i in range(3))
        found = self.names.listed(name, components(vector, frame))
        return GivenMotion(name, found, self._axes(frame), rows, spin)

    def _axes(self, frame: Any) -> tuple[Any, ...]:
        if frame not in self._turning:
            turning = 0 if frame == self.inertial else frame.ang_vel_in(self.inertial)
            given = components(turning, frame) if turning != 0 else [sp.Integer(0)] * 3
            self._turning[frame] = self.names.listed(f"angular velocity of {frame}", given)
        return self._turning[frame]


def kinetic_energy(motions: Sequence[GivenMotion]) -> Any:
    """T as half the sum of v . (tensor v), by components."""
    total = []
    for m in motions:
        for i in range(3):
            row = [m.tensor[i][j] * m.vector[j] for j in range(3) if m.tensor[i][j] != 0]
            total.append(m.vector[i] * sp.Add(*row) / 2)
    return sp.Add(*total)


def generalised_forces(
    loads: Sequence[GivenLoad],
    velocities: Sequence[sp.Symbol],
    rates: Mapping[sp.Symbol, Any],
) -> dict[sp.Symbol, Any]:
    """Q_a = sum of load . dv/d eta_a, where `rates` of coordinates in v mean their kinematics."""
    total: dict[sp.Symbol, list[Any]] = {v: [] for v in velocities}
    for load in loads:
        for v, force in zip(load.motion.vector, load.components, strict=True):
            if force == 0 or v == 0:
                continue
            moved = v.xreplace(rates)
            for eta in velocities:
                if moved.has(eta):
                    total[eta].append(force * moved.diff(eta))
    return {eta: sp.Add(*terms) for eta, terms in total.items() if terms}

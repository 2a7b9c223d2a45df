"""Systems from URDF files: a tree of links with masses and inertias, joined by joints.

Source: the URDF specification of ROS, elements `robot`, `link`, `inertial`, `joint`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

from chaplygin.errors import warn_caller
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.interface.messages import short

from ..mechanics import joint
from ..mechanics.bodies import turn
from ..mechanics.interactions import Weight
from ..mechanics.joint import Link
from ..symbols import symbols
from ..symbols.symbols import DeclarationError, coordinates, inputs
from ..system.body_checks import impossible_moments
from ..system.checked_system import CheckedSystem
from ..system.points import sample
from ..system.regularity import mass_at
from .urdf_file import HINGES, UrdfFile, UrdfMotion, motions, rotors

_POSES = 4
"""At so many random poses the mass matrix must be positive, if links have inertias that no body has."""


def robot(
    path: str | Path, *, base: str | None, motors: bool, friction: str, parameters: str
) -> CheckedSystem:
    """See `chaplygin.from_urdf`. Warnings point at what calls its caller."""
    for word, value, known in (
        ("base", "fixed" if base is None else base, ("fixed", "free")),
        ("friction", friction, ("refuse", "ignore")),
        ("parameters", parameters, ("numbers", "symbolic")),
    ):
        if not isinstance(value, str) or value not in known:
            raise DeclarationError(f"from_urdf: {word} is {short(value)}; give {known[0]!r} or {known[1]!r}")
    if not isinstance(motors, bool):
        raise DeclarationError(f"from_urdf: motors is {short(motors)}; give True or False")
    if not isinstance(path, (str, os.PathLike)):
        raise DeclarationError(f"from_urdf: path is {short(path)}; give the path of a file")
    file = arguments.path("from_urdf: path", path)
    if file.is_dir():
        raise DeclarationError(
            f"from_urdf: {short(os.fspath(file))} is a folder; give the path of a URDF file"
        )
    made = _Robot(UrdfFile(file), base, motors, friction == "ignore", parameters == "symbolic")
    system = made.system()
    for note in made.notes:
        warn_caller(f"{made.where}: {note}")
    return system


class _Robot:
    """The links made of a file."""

    def __init__(
        self, file: UrdfFile, base: str | None, motors: bool, friction: bool, symbolic: bool
    ) -> None:
        self.file, self.where = file, file.where
        self.floating, self.motors, self.friction, self.symbolic = base == "free", motors, friction, symbolic
        self.notes: list[str] = []
        """What is to be said of the file by warnings."""
        self.made: dict[str, Link] = {}
        self.poses: dict[str, tuple[Link, Any, Any]] = {}
        """Of each link: the link with which it moves, and its position and rotation in the frame of that one."""
        self.impossible: list[str] = []
        """Moving links with an inertia that no body has."""
        self.example: dict[sp.Symbol, float] = {}
        self.inertials = {link: file.inertial(link) for link in file.links}
        heavy = [link for link, found in self.inertials.items() if not found.is_massless]
        self.motions, self.still = motions(file, heavy)
        self.moving = self._moving()
        self.rotors = self._rotors()
        if base is None:
            self._say_where_it_stands()
        if self.still:
            self.notes.append(
                f"nothing with a mass is moved by {_words('joint', self.still)}: fixed where the coordinate is zero"
            )

    def _moving(self) -> set[str]:
        """The links that move."""
        found: set[str] = set()
        for link in self.file.outward:
            carrier = self.file.carrier(link)
            if carrier is None:
                moves = self.floating
            else:
                moves = carrier in found or self.motions[self.file.above[link]].leader is not None
            found |= {link} if moves else set()
        return found

    def _rotors(self) -> dict[str, Any]:
        """The inertia of rotors on the rate of each joint that has a coordinate of its own."""
        given, left = rotors(self.file)
        total: dict[str, Any] = {}
        strange = [name for name in given if self.file.joints[name].get("type") in ("planar", "floating")]
        for what, names in (("joint", strange), ("transmission", left)):
            if names:
                self.notes.append(
                    f"the inertia of rotors is left out of {_words(what, names)}, which tie no rotor to one angle or "
                    "travel of a joint; add it by armature= of chaplygin.joint or kinetic= of System"
                )
        for name, inertia in given.items():
            motion = self.motions[name]
            if motion.leader is not None and name not in strange:
                own = (
                    self._parameter(f"armature_{self.file.plain('joint', name)}", inertia)
                    if self.symbolic
                    else inertia
                )
                total[motion.leader] = total.get(motion.leader, 0) + motion.factor**2 * own
        return total

    def _say_where_it_stands(self) -> None:
        """The root stands on the ground, if only by default: it has a mass and is not called the world."""
        root, standing = self.file.outward[0], [link for link in self.file.links if link not in self.moving]
        if root != "world" and any(self.inertials[link].mass for link in standing):
            self.notes.append(
                f"the root link {root!r} has a mass, and no joint to a world: it stands on the ground; say so by "
                'base="fixed", or let it float by base="free"'
            )

    def system(self) -> CheckedSystem:
        for name in self.file.outward:
            self.made[name] = self._link(name)
        if not any(link.coordinates for link in self.made.values()):
            raise DeclarationError(
                f"{self.where}: nothing moves: it has no joint but fixed ones"
                + (f" and {_words('joint', self.still)}, with no mass to move" if self.still else "")
                + ('; pass base="free" to let it float' if not self.floating else "")
            )
        forces: dict[sp.Symbol, Any] = {}
        for name in self.file.joints:
            for v, force in self._forces(name):
                forces[v] = forces.get(v, 0) + force
        system = CheckedSystem(
            self.file.name,
            bodies=[self.made[name] for name in self.file.links],
            forces=forces,
            interactions=[Weight(symbols.parameters("g"))],
            units={s: unit for link in self.made.values() for s, unit in link.units.items()},
            example=self.example,
        )
        if self.impossible:
            self._check_mass_matrix(system)
            self.notes.append(
                "inertias that no body has (a principal moment is negative, or larger than the sum of the two others) "
                f"are taken as they are: those of {_words('link', self.impossible)}"
            )
        return system

    def _check_mass_matrix(self, system: CheckedSystem) -> None:
        """Inertias that no body has do no harm if what moves with them makes the mass matrix positive."""
        graph = system.nodes.graph.copy()
        # Quaternions must have unit length.
        upright = {q: v for link in self.made.values() if link.quaternion for q, v in link.rest.items()}
        for seed in range(1, 1 + _POSES):
            point = {**sample(system.nodes, seed), **upright}
            if not np.linalg.eigvalsh(mass_at(system.nodes, graph, point))[0] > 0:
                raise DeclarationError(
                    f"{self.where}: the mass matrix is not positive, by inertias that no body has: those of "
                    f"{_words('link', self.impossible)}"
                )

    # -- links ------------------------------------------------------------------------------------------------------
    def _body(self, name: str) -> dict[str, Any]:
        """Mass, inertia and mass centre of a link; parameters for the first two, if they are asked for and matter."""
        found, plain = self.inertials[name], self.file.plain("link", name)
        if found.is_massless:
            return {}
        mass, moments = found.mass, found.moments
        if name in self.moving:
            if impossible_moments(np.array(moments, dtype=float)):
                self.impossible.append(name)
            if self.symbolic:
                mass = self._parameter(f"m_{plain}", mass, positive=True)
                moments = sp.Matrix(
                    3,
                    3,
                    lambda i, j: self._parameter(
                        f"I{'xyz'[min(i, j)]}{'xyz'[max(i, j)]}_{plain}", moments[i, j]
                    ),
                )
        inertia = found.turned * moments * found.turned.T
        return {"mass": mass, "center": found.center, "inertia": (inertia + inertia.T) / 2}

    def _parameter(self, name: str, value: Any, **assumptions: bool) -> Any:
        """A parameter that is `value` in the example; zero stays."""
        if value == 0:
            return value
        symbol = symbols.parameters(name, **assumptions)
        self.example[symbol] = float(value)
        return symbol

    def _link(self, name: str) -> Link:
        """A link, of which those that carry it are made."""
        above = self.file.carrier(name)
        if above is None:
            make = joint.free if self.floating else joint.fixed
            found = make(None, name=self.file.plain("link", name), **self._body(name))
            self.poses[name] = found, sp.zeros(3, 1), sp.eye(3)
        else:
            found = self._joined(name, self.file.above[name], above)
        found.as_measured = True
        return found

    def _joined(self, name: str, carried: str, inner: str) -> Link:
        """A link on the joint that carries it.

        Links that are fixed to one another are placed in the frame of the one that moves with them: their poses are
        numbers, which are rounded, while the graph of a chain of frames would multiply them exactly.
        """
        element, where = self.file.joints[carried], f"joint {carried!r}"
        kind, motion = element.get("type"), self.motions[carried]
        own = motion.leader == carried
        place, turned = self.file.origin(where, element)
        parent, at, attitude = self.poses[inner]
        place, turned = at + attitude * sp.Matrix(place), attitude * turned
        axis = sp.Matrix(self.file.numbers(where, element, "axis", "xyz", 3, "1 0 0"))
        if kind not in ("fixed", "floating") and axis.is_zero_matrix:
            raise DeclarationError(f"{self.where}: {where}: its axis is zero")
        if not own and (value := self._value(motion)):
            along = axis / axis.norm()
            if kind in HINGES:
                turned = turned * turn(along, value)
            else:
                place = place + turned * along * value
        given = {
            "name": self.file.plain("link", name),
            "joint": self.file.plain("joint", carried),
            "at": place,
            "turned": turned,
            "armature": self.rotors.get(carried, 0) if own else 0,
            **self._body(name),
        }
        if motion.leader is None:
            self.poses[name] = parent, place, turned
            return joint.fixed(parent, **given)
        if not own:
            found = joint.fixed(parent, **given)
        elif kind in HINGES:
            found = joint.revolute(parent, axis, **given)
        elif kind == "prismatic":
            found = joint.prismatic(parent, axis, **given)
        elif kind == "planar":
            found = joint.planar(parent, axis, **given)
        else:
            found = joint.free(parent, **given)
        self.poses[name] = found, sp.zeros(3, 1), sp.eye(3)
        return found

    def _value(self, motion: UrdfMotion) -> Any:
        """The angle or travel of a joint that has no coordinate of its own."""
        if motion.leader is None:
            return motion.offset
        return motion.factor * coordinates(self.file.plain("joint", motion.leader)) + motion.offset

    # -- forces -----------------------------------------------------------------------------------------------------
    def _forces(self, name: str) -> Iterator[tuple[sp.Symbol, Any]]:
        """The forces of damping and motor of a joint on each velocity that moves it."""
        where, element, motion = f"joint {name!r}", self.file.joints[name], self.motions[name]
        ((damping,), (dry,)) = (
            self.file.numbers(where, element, "dynamics", key, 1, "0") for key in ("damping", "friction")
        )
        if motion.leader is None:
            return
        if dry and not self.friction:
            raise DeclarationError(
                f"{self.where}: {where} has friction = {float(dry):g}, which is not taken over; pass "
                'friction="ignore" to leave it out, or declare a Coulomb contact'
            )
        moved = self.made[self.file.end(motion.leader, "child")].velocities
        if self.motors and motion.leader == name and len(moved) == 1:
            yield moved[0], inputs(f"tau_{self.file.plain('joint', name)}")
        if damping:
            for v in moved:
                yield v, -damping * motion.factor**2 * v


def _words(what: str, names: Sequence[str]) -> str:
    """The joint 'a'; the joints 'a', 'b'."""
    return f"the {what}{'s'[: len(names) > 1]} {', '.join(map(repr, names))}"

"""Systems from URDF files: a tree of links with masses and inertias, joined by joints.

Source: the URDF specification of ROS, elements `robot`, `link`, `inertial`, `joint`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import sympy as sp

from chaplygin.runtime.interface.messages import listed, short

from ..mechanics import joint
from ..mechanics.bodies import turn
from ..mechanics.interactions import Weight
from ..mechanics.joint import Link
from ..symbols.symbols import DeclarationError, check_name, inputs, parameters
from ..system.checked_system import CheckedSystem, checked_system

Element = ElementTree.Element
_KINDS = ("revolute", "continuous", "prismatic", "planar", "floating", "fixed")


def robot(path: str | Path, *, base: str, motors: bool, friction: str) -> CheckedSystem:
    """See `chaplygin.from_urdf`."""
    if base not in ("fixed", "free"):
        raise DeclarationError(f"from_urdf: base is {short(base)}; give 'fixed' or 'free'")
    if friction not in ("refuse", "ignore"):
        raise DeclarationError(f"from_urdf: friction is {short(friction)}; give 'refuse' or 'ignore'")
    if not isinstance(motors, bool):
        raise DeclarationError(f"from_urdf: motors is {short(motors)}; give True or False")
    if not isinstance(path, (str, os.PathLike)):
        raise DeclarationError(f"from_urdf: path is {short(path)}; give the path of a file")
    return _Robot(Path(path)).system(base == "free", motors, friction == "ignore")


class _Robot:
    """The elements of a file by name, and the links made of them."""

    def __init__(self, path: Path) -> None:
        self.where = f"from_urdf({path.name})"
        root = self._parsed(path.read_bytes())
        self.name = _plain(root.get("name") or path.stem)
        check_name(self.name, f"{self.where}: robot")
        self.links = self._named(root, "link")
        self.joints = self._named(root, "joint")
        if not self.links:
            raise DeclarationError(f"{self.where}: no link")
        self.made: dict[str, Link] = {}
        self.poses: dict[str, tuple[Link, Any, Any]] = {}
        """Of each link: the link with which it moves, and its position and rotation in the frame of that one."""
        self.above = self._tree()
        self.outward = self._outward()

    def _parsed(self, text: bytes) -> Element:
        """The root element. A document type is refused before anything is expanded."""

        def refuse(*_: Any) -> None:
            raise DeclarationError(
                f"{self.where}: it has a document type (<!DOCTYPE ...>) and may define entities; remove it"
            )

        scanner = expat.ParserCreate()
        scanner.StartDoctypeDeclHandler = refuse
        try:
            scanner.Parse(text, True)
            root = ElementTree.fromstring(text)
        except (expat.ExpatError, ElementTree.ParseError) as error:
            raise DeclarationError(f"{self.where}: it is not XML: {error}") from None
        except (LookupError, ValueError) as error:  # of the codec that the declaration names
            raise DeclarationError(
                f"{self.where}: its encoding cannot be read: {error}; save it as UTF-8"
            ) from None
        if root.tag != "robot":
            raise DeclarationError(f"{self.where}: its root element is <{root.tag}>; a URDF has <robot>")
        return root

    def _named(self, root: Element, tag: str) -> dict[str, Element]:
        found: dict[str, Element] = {}
        known: set[str] = set()
        for element in root.findall(tag):
            name = element.get("name")
            if not name:
                raise DeclarationError(f"{self.where}: a <{tag}> has no name")
            check_name(_plain(name), f"{self.where}: {tag}")
            if _plain(name) in known:
                raise DeclarationError(f"{self.where}: two {tag}s are named {name!r}")
            known.add(_plain(name))
            found[name] = element
        return found

    def _tree(self) -> dict[str, str]:
        """The joint that carries each link but the root."""
        above: dict[str, str] = {}
        for name in self.joints:
            for end in ("parent", "child"):
                link = self._end(name, end)
                if link not in self.links:
                    raise DeclarationError(
                        f"{self.where}: joint {name!r}: its {end} {link!r} is not a link of the file"
                    )
            child = self._end(name, "child")
            if child in above:
                raise DeclarationError(
                    f"{self.where}: link {child!r} is carried by two joints, {above[child]!r} and {name!r}; close "
                    "a loop by System(holonomic=[...])"
                )
            above[child] = name
        roots = [link for link in self.links if link not in above]
        if len(roots) > 1:
            raise DeclarationError(
                f"{self.where}: no joint carries the links {', '.join(map(repr, roots))}; only one can be the root"
            )
        return above

    def _outward(self) -> list[str]:
        """The links, each after the one that carries it."""
        found: dict[str, None] = {}
        for link in self.links:
            way = {link: None}  # inwards, as far as it is new
            while (inner := self._carrier(link)) is not None and inner not in found:
                if inner in way:
                    cycle = [*way][[*way].index(inner) :]
                    raise DeclarationError(
                        f"{self.where}: a cycle of links: {listed([*cycle, inner], 20, ' - ')}"
                    )
                way[inner] = None
                link = inner
            found |= dict.fromkeys(reversed(way))
        return list(found)

    def _carrier(self, link: str) -> str | None:
        """The link that carries a link; None for the root."""
        return self._end(self.above[link], "parent") if link in self.above else None

    def _end(self, name: str, end: str) -> str:
        element = self.joints[name].find(end)
        return self._text(f"joint {name!r}", element, "link", end)

    def _text(self, where: str, element: Element | None, attribute: str, what: str) -> str:
        value = None if element is None else element.get(attribute)
        if value is None:
            raise DeclarationError(f"{self.where}: {where}: <{what} {attribute}=...> is missing")
        return value

    def _numbers(
        self, where: str, owner: Element | None, tag: str, attribute: str, n: int, default: str | None = None
    ) -> list[Any]:
        element = None if owner is None else owner.find(tag)
        if default is None:
            text = self._text(where, element, attribute, tag)
        else:
            text = default if element is None else element.get(attribute, default)
        try:
            numbers = [float(word) for word in text.split()]
        except ValueError:
            numbers = []
        if len(numbers) != n or not all(abs(v) < float("inf") for v in numbers):
            raise DeclarationError(
                f"{self.where}: {where}: <{tag} {attribute}={text!r}>; give {n} finite number{'s'[: n > 1]}"
            )
        return [sp.Integer(int(v)) if v == int(v) else sp.Float(v) for v in numbers]  # 1 and 0 fold

    def _origin(self, where: str, element: Element | None) -> tuple[Any, Any]:
        """Position and rotation R = R_z(yaw) R_y(pitch) R_x(roll) of an <origin>."""
        place = self._numbers(where, element, "origin", "xyz", 3, "0 0 0")
        roll, pitch, yaw = self._numbers(where, element, "origin", "rpy", 3, "0 0 0")
        turned = sp.eye(3)
        for axis, angle in ((3, yaw), (2, pitch), (1, roll)):
            turned = turned * turn(axis, angle) if angle else turned
        return place, turned

    def _body(self, name: str) -> dict[str, Any]:
        """Mass, inertia and mass centre of a link."""
        element, where = self.links[name].find("inertial"), f"link {name!r}"
        if element is None:
            return {}
        (mass,) = self._numbers(where, element, "mass", "value", 1)
        center, turned = self._origin(where, element)
        moment = {
            key: self._numbers(where, element, "inertia", key, 1, None if key[1] == key[2] else "0")[0]
            for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        }
        own = sp.Matrix(3, 3, lambda i, j: moment["i" + "".join(sorted("xyz"[k] for k in (i, j)))])
        inertia = turned * own * turned.T
        return {"mass": mass, "center": center, "inertia": (inertia + inertia.T) / 2}

    def system(self, floating: bool, motors: bool, friction: bool) -> CheckedSystem:
        for name in self.outward:
            self.made[name] = self._link(name, floating)
        if not any(link.coordinates for link in self.made.values()):
            raise DeclarationError(
                f'{self.where}: nothing moves: it has no joint but fixed ones; pass base="free" to let it float'
            )
        forces = [pair for name in self.joints for pair in self._forces(name, motors, friction)]
        self._check_masses()
        return checked_system(
            self.name,
            bodies=[self.made[name] for name in self.links],
            forces=dict(forces),
            interactions=[Weight(parameters("g"))],
            units={s: unit for link in self.made.values() for s, unit in link.units.items()},
        )

    def _link(self, name: str, floating: bool) -> Link:
        """A link, of which those that carry it are made."""
        parent = self._carrier(name)
        if parent is not None:
            return self._joined(name, self.above[name], parent)
        found = (joint.free if floating else joint.fixed)(None, name=_plain(name), **self._body(name))
        self.poses[name] = found, sp.zeros(3, 1), sp.eye(3)
        return found

    def _joined(self, name: str, carried: str, inner: str) -> Link:
        """A link on the joint that carries it.

        Links that are fixed to one another are placed in the frame of the one that moves with them: their poses are
        numbers, which are rounded, while the graph of a chain of frames would multiply them exactly.
        """
        element, where = self.joints[carried], f"{self.where}: joint {carried!r}"
        place, turned = self._origin(f"joint {carried!r}", element)
        parent, at, attitude = self.poses[inner]
        place, turned = at + attitude * sp.Matrix(place), attitude * turned
        found = self._moved(name, carried, element, where, parent, place, turned)
        rigid = element.get("type") == "fixed"
        self.poses[name] = (parent, place, turned) if rigid else (found, sp.zeros(3, 1), sp.eye(3))
        return found

    def _moved(
        self, name: str, carried: str, element: Element, where: str, parent: Link, place: Any, turned: Any
    ) -> Link:
        given = {"joint": _plain(carried), "at": place, "turned": turned, **self._body(name)}
        kind, own = element.get("type"), _plain(name)
        axis = self._numbers(f"joint {carried!r}", element, "axis", "xyz", 3, "1 0 0")
        if element.find("mimic") is not None:
            raise DeclarationError(
                f"{where} mimics another; remove <mimic> and declare a System with its relation"
            )
        if kind in ("revolute", "continuous", "prismatic") and not any(axis):
            raise DeclarationError(f"{where}: its axis is zero")
        if kind in ("revolute", "continuous"):
            return joint.revolute(parent, axis, name=own, **given)
        if kind == "prismatic":
            return joint.prismatic(parent, axis, name=own, **given)
        if kind == "planar":
            if sorted(axis) != [0, 0, 1]:
                raise DeclarationError(f"{where} is planar; its axis must be 1 0 0, 0 1 0 or 0 0 1")
            return joint.planar(parent, "xyz"[axis.index(1)], name=own, **given)
        if kind == "floating":
            return joint.free(parent, name=own, **given)
        if kind == "fixed":
            return joint.fixed(parent, name=own, **given)
        raise DeclarationError(f"{where} has the type {kind!r}; give one of {', '.join(_KINDS)}")

    def _forces(self, name: str, motors: bool, friction: bool) -> list[tuple[sp.Symbol, Any]]:
        """The force of damping and motor on each velocity of a joint."""
        where, element = f"joint {name!r}", self.joints[name]
        moved = self.made[self._end(name, "child")].velocities
        ((damping,), (dry,)) = (
            self._numbers(where, element, "dynamics", key, 1, "0") for key in ("damping", "friction")
        )
        if dry and moved and not friction:
            raise DeclarationError(
                f"{self.where}: {where} has friction = {float(dry):g}, which is not taken over; pass "
                'friction="ignore" to leave it out, or declare a Coulomb contact'
            )
        driven = motors and len(moved) == 1
        motor = inputs(f"tau_{_plain(name)}") if driven else sp.Integer(0)
        return [(v, motor - damping * v) for v in moved if driven or damping]

    def _check_masses(self) -> None:
        """A joint that moves nothing but massless links has no equation of motion."""
        heavy: set[str] = set()
        for name in reversed(self.outward):
            inner = self._carrier(name)
            if self.made[name].mass != 0:
                heavy.add(name)
            if name in heavy and inner is not None:
                heavy.add(inner)
        for name in self.joints:
            child = self._end(name, "child")
            if self.made[child].velocities and child not in heavy:
                raise DeclarationError(
                    f"{self.where}: joint {name!r} carries no mass; give its link {self.made[child].name!r} an "
                    "<inertial>, or make the joint fixed"
                )


def _plain(name: str) -> str:
    """A name as an identifier."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)

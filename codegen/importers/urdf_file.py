"""The elements of a URDF file: links and joints by name, the tree that they form, their numbers, and what moves them.

Source: the URDF specification of ROS, elements `robot`, `link`, `inertial`, `joint`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import sympy as sp

from chaplygin.runtime.interface.messages import listed

from ..mechanics.bodies import turn
from ..symbols.symbols import DeclarationError, check_name

Element = ElementTree.Element
HINGES, SLIDES = ("revolute", "continuous"), ("prismatic",)
_KINDS = (*HINGES, *SLIDES, "planar", "floating", "fixed")
_INERTIAS, _RATIOS = ("rotor_inertia", "rotorInertia", "motorInertia"), ("gear_ratio", "mechanicalReduction")
"""The names of both without prefixes; of several the first counts."""


@dataclass(frozen=True)
class Inertial:
    """What an <inertial> says, in its own axes: the mass centre and `turned` are in the frame of the link."""

    mass: Any = sp.S.Zero
    moments: Any = field(default_factory=lambda: sp.zeros(3))
    center: Any = (0, 0, 0)
    turned: Any = field(default_factory=lambda: sp.eye(3))

    @property
    def is_massless(self) -> bool:
        return not self.mass and bool(self.moments.is_zero_matrix)


class UrdfFile:
    """The links and joints of a file by name, and their numbers. Raises DeclarationError, naming the element."""

    def __init__(self, path: Path) -> None:
        self.where = f"from_urdf({path.name})"
        root = self._parsed(path.read_bytes())
        self.name = self.plain("robot", root.get("name") or path.stem)
        self.links = self._named(root, "link")
        self.joints = self._named(root, "joint")
        self.transmissions = root.findall("transmission")
        if "world" not in self.links and any(self.end(name, "parent") == "world" for name in self.joints):
            self.links = {"world": Element("link"), **self.links}
        if not self.links:
            raise DeclarationError(f"{self.where}: no link")
        self.above = self._tree()
        """Of each link but the root: the joint that carries it."""
        self.outward = self._outward()
        """The links, each after the one that carries it."""

    def _parsed(self, text: bytes) -> Element:
        """The root element. A document type is refused before anything is expanded; prefixes stay in the tags."""

        def refuse(*_: Any) -> None:
            raise DeclarationError(
                f"{self.where}: it has a document type (<!DOCTYPE ...>) and may define entities; remove it"
            )

        scanner, made = expat.ParserCreate(), ElementTree.TreeBuilder()
        scanner.StartDoctypeDeclHandler = refuse
        scanner.StartElementHandler, scanner.EndElementHandler = made.start, made.end
        scanner.CharacterDataHandler = made.data
        try:
            scanner.Parse(text, True)
            root = made.close()
        except expat.ExpatError as error:
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
            plain = self.plain(tag, name)
            if plain in known:
                raise DeclarationError(f"{self.where}: two {tag}s are named {name!r}")
            known.add(plain)
            found[name] = element
        return found

    def plain(self, tag: str, name: str) -> str:
        """A name as an identifier, behind `tag` where it cannot stand in code by itself."""
        plain, where = re.sub(r"\W", "_", name, flags=re.ASCII), f"{self.where}: {tag}"
        try:
            check_name(plain, where)
        except DeclarationError:
            if plain[0].isalpha() and len(plain) > 63:
                raise
            check_name(plain := f"{tag}_{plain}", where)
        return f"{tag}_g" if plain == "g" else plain  # g is the acceleration of gravity

    def _tree(self) -> dict[str, str]:
        """The joint that carries each link but the root."""
        above: dict[str, str] = {}
        for name in self.joints:
            for end in ("parent", "child"):
                link = self.end(name, end)
                if link not in self.links:
                    raise DeclarationError(
                        f"{self.where}: joint {name!r}: its {end} {link!r} is not a link of the file"
                    )
            child = self.end(name, "child")
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
            while (inner := self.carrier(link)) is not None and inner not in found:
                if inner in way:
                    cycle = [*way][[*way].index(inner) :]
                    raise DeclarationError(
                        f"{self.where}: a cycle of links: {listed([*cycle, inner], 20, ' - ')}"
                    )
                way[inner] = None
                link = inner
            found |= dict.fromkeys(reversed(way))
        return list(found)

    def carrier(self, link: str) -> str | None:
        """The link that carries a link; None for the root."""
        return self.end(self.above[link], "parent") if link in self.above else None

    def end(self, name: str, end: str) -> str:
        element = self.joints[name].find(end)
        return self.text(f"joint {name!r}", element, "link", end)

    def text(self, where: str, element: Element | None, attribute: str, what: str) -> str:
        value = None if element is None else element.get(attribute)
        if value is None:
            raise DeclarationError(f"{self.where}: {where}: <{what} {attribute}=...> is missing")
        return value

    def numbers(
        self, where: str, owner: Element | None, tag: str, attribute: str, n: int, default: str | None = None
    ) -> list[Any]:
        element = None if owner is None else owner.find(tag)
        if default is None:
            text = self.text(where, element, attribute, tag)
        else:
            text = default if element is None else element.get(attribute, default)
        return self.parsed(f"{where}: <{tag} {attribute}={text!r}>", text, n)

    def parsed(self, what: str, text: str, n: int) -> list[Any]:
        """The numbers in a text."""
        try:
            numbers = [float(word) for word in text.split()]
        except ValueError:
            numbers = []
        if len(numbers) != n or not all(abs(v) < float("inf") for v in numbers):
            raise DeclarationError(f"{self.where}: {what}; give {n} finite number{'s'[: n > 1]}")
        return [sp.Integer(int(v)) if v == int(v) else sp.Float(v) for v in numbers]  # 1 and 0 fold

    def origin(self, where: str, element: Element | None) -> tuple[Any, Any]:
        """Position and rotation R = R_z(yaw) R_y(pitch) R_x(roll) of an <origin>."""
        place = self.numbers(where, element, "origin", "xyz", 3, "0 0 0")
        roll, pitch, yaw = self.numbers(where, element, "origin", "rpy", 3, "0 0 0")
        turned = sp.eye(3)
        for axis, angle in ((3, yaw), (2, pitch), (1, roll)):
            turned = turned * turn(axis, angle) if angle else turned
        return place, turned

    def inertial(self, name: str) -> Inertial:
        """Mass, inertia and mass centre of a link."""
        element, where = self.links[name].find("inertial"), f"link {name!r}"
        if element is None:
            return Inertial()
        (mass,) = self.numbers(where, element, "mass", "value", 1)
        center, turned = self.origin(where, element)
        found = {
            key: self.numbers(where, element, "inertia", key, 1, None if key[1] == key[2] else "0")[0]
            for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        }
        moments = sp.Matrix(3, 3, lambda i, j: found["i" + "".join(sorted("xyz"[k] for k in (i, j)))])
        return Inertial(mass, moments, center, turned)


@dataclass(frozen=True)
class UrdfMotion:
    """The angle or travel of a joint is factor q + offset, with the coordinate q of `leader`; without a leader, offset.

    A joint with coordinates of its own is its own leader.
    """

    leader: str | None
    factor: Any = 1
    offset: Any = 0


def motions(file: UrdfFile, heavy: Iterable[str]) -> tuple[Mapping[str, UrdfMotion], list[str]]:
    """The motions of all joints, and the joints that are fixed because nothing in `heavy` moves with their coordinate.

    Such a coordinate has no equation of motion. Joints are fixed where it is zero.
    """
    found = {name: _motion(file, name) for name in file.joints}
    laden, moved = set(heavy), set[str | None]()
    for link in reversed(file.outward):
        if link in laden and link in file.above:
            moved.add(found[file.above[link]].leader)
            laden.add(file.end(file.above[link], "parent"))
    still = [name for name, motion in found.items() if motion.leader == name and name not in moved]
    return {
        name: UrdfMotion(None, 0, motion.offset) if motion.leader in still else motion
        for name, motion in found.items()
    }, still


def _motion(file: UrdfFile, name: str) -> UrdfMotion:
    """The motion of a joint, through all joints that it mimics one by way of another."""
    way, factor, offset = [name], sp.S.One, sp.S.Zero
    while (kind := _kind(file, at := way[-1])) != "fixed":
        mimic, where = file.joints[at].find("mimic"), f"joint {at!r}"
        if mimic is None and at == name:
            return UrdfMotion(name)
        if kind not in HINGES + SLIDES:
            raise DeclarationError(
                f"{file.where}: {where} is {kind}; joints that mimic or are mimicked have one coordinate"
            )
        if mimic is None:
            return UrdfMotion(at if factor else None, factor, offset)
        leader = file.text(where, mimic, "joint", "mimic")
        if leader not in file.joints:
            raise DeclarationError(
                f"{file.where}: {where} mimics {leader!r}, which is not a joint of the file"
            )
        if leader in way:
            cycle = [*way[way.index(leader) :], leader]
            raise DeclarationError(f"{file.where}: joints mimic one another: {listed(cycle, 20, ' - ')}")
        (times,), (plus,) = (
            file.numbers(where, file.joints[at], "mimic", key, 1, default)
            for key, default in (("multiplier", "1"), ("offset", "0"))
        )
        offset, factor = offset + factor * plus, factor * times
        way.append(leader)
    return UrdfMotion(None, 0, offset)


def _kind(file: UrdfFile, name: str) -> str:
    kind = file.joints[name].get("type")
    if kind not in _KINDS:
        raise DeclarationError(
            f"{file.where}: joint {name!r} has the type {kind!r}; give one of {', '.join(_KINDS)}"
        )
    return kind


def rotors(file: UrdfFile) -> tuple[dict[str, Any], list[str]]:
    """The inertia on the rate of each joint that has rotors, and transmissions whose rotors no single joint moves.

    N^2 I for the inertia I of a rotor behind gears of ratio N. Sources: the element <transmission> of ROS, with
    <mechanicalReduction> and <motorInertia> in its <actuator>; in their place <drake:gear_ratio> and
    <drake:rotor_inertia> of Drake; the attribute `rotor_inertia` of <dynamics> of RaiSim, which is that on the joint's
    rate, without a ratio.
    """
    found: dict[str, Any] = {}
    left: list[str] = []
    for name, element in file.joints.items():
        (inertia,) = file.numbers(f"joint {name!r}", element, "dynamics", "rotor_inertia", 1, "0")
        found |= {name: inertia} if inertia else {}
    for element in file.transmissions:
        name, joints = element.get("name", ""), [joint.get("name", "") for joint in element.findall("joint")]
        where, total = f"transmission {name!r}", 0
        for actuator in element.findall("actuator"):
            ratio = _number(file, where, actuator, _RATIOS) or _number(file, where, element, _RATIOS) or [1]
            total += ratio[0] ** 2 * (_number(file, where, actuator, _INERTIAS) or [0])[0]
        if total and len(joints) == 1 and joints[0] in file.joints:
            found[joints[0]] = found.get(joints[0], 0) + total
        elif total:
            left.append(name)
    return found, left


def _number(file: UrdfFile, where: str, owner: Element, names: tuple[str, ...]) -> list[Any]:
    """The number in the first of these children, as its attribute `value` or as text; none without such a child."""
    plain = {child.tag.rpartition(":")[2]: child for child in reversed(owner)}
    for child in (plain[name] for name in names if name in plain):
        text = child.get("value", child.text or "").strip()
        return file.parsed(f"{where}: <{child.tag}> is {text!r}", text, 1)
    return []

"""What moves the joints of a URDF file: their own coordinate, that of a joint which they mimic, or nothing; rotors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from chaplygin.runtime.interface.messages import listed

from ..symbols.symbols import DeclarationError
from .urdf_file import Element, UrdfFile

HINGES, SLIDES = ("revolute", "continuous"), ("prismatic",)
_KINDS = (*HINGES, *SLIDES, "planar", "floating", "fixed")
_INERTIAS, _RATIOS = ("rotor_inertia", "rotorInertia", "motorInertia"), ("gear_ratio", "mechanicalReduction")
"""The names of both without prefixes; of several the first counts."""


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

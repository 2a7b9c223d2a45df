"""Rotors of motors in a URDF file: N^2 I on the rate of a joint, for the inertia I behind gears of ratio N.

Sources: the element <transmission> of ROS, with <mechanicalReduction> and <motorInertia> in its <actuator>; in their
place <drake:gear_ratio> and <drake:rotor_inertia> of Drake; the attribute `rotor_inertia` of <dynamics> of RaiSim,
which is that on the joint's rate, without a ratio.
"""

from __future__ import annotations

from typing import Any

from .urdf_file import Element, UrdfFile

_INERTIAS, _RATIOS = ("rotor_inertia", "rotorInertia", "motorInertia"), ("gear_ratio", "mechanicalReduction")
"""The names of both without prefixes; of several the first counts."""


def rotors(file: UrdfFile) -> tuple[dict[str, Any], list[str]]:
    """The inertia on the rate of each joint that has rotors, and transmissions whose rotors no single joint moves."""
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

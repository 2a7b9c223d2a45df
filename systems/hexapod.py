"""A six-legged stand: a platform on six legs of three hinges, each foot held on the ground by a ball joint.

The platform is free in space, with six velocities; leg i starts at the platform's rim in the direction 60 i degrees and
has a coxa, turning about the vertical, a femur and a tibia, both turning about the horizontal. The tip of every tibia
stays at a fixed point of the ground: 18 holonomic equations for 24 velocities, none of them redundant, so the
platform keeps six degrees of freedom, as that of Gough and Stewart. Springs of stiffness k and dampers of coefficient
c at the hinges carry it. It starts at rest in the posture in which the springs are slack, and sinks.

Conserved: with c = 0, energy. At rest, the upward forces on the feet, lambda_3, lambda_6, ... lambda_18, add up to the
weight.

Source: own figures; D. Stewart, A platform with six degrees of freedom (1965).
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

RIM, COXA, FEMUR, TIBIA = 0.18, 0.05, 0.12, 0.2
"""The radius at which legs start, and the lengths of their bodies, in metres."""
MASSES = {"platform": 4.0, "coxa": 0.1, "femur": 0.25, "tibia": 0.2}
STANCE = {"coxa": 0.0, "femur": -0.5, "tibia": 1.6}
"""The angles of each leg; positive ones turn downward."""
HEIGHT = FEMUR * sin(STANCE["femur"]) + TIBIA * sin(STANCE["femur"] + STANCE["tibia"])
REACH = RIM + COXA + FEMUR * cos(STANCE["femur"]) + TIBIA * cos(STANCE["femur"] + STANCE["tibia"])
DIRECTIONS = tuple(pi * i / 3 for i in range(6))
FEET = tuple((round(REACH * cos(a), 15), round(REACH * sin(a), 15), 0.0) for a in DIRECTIONS)
"""Rounded, since sin(pi) is not 0 in floating point."""
PARAMETERS = {"k": 40.0, "c": 0.3, "g": 9.81}
INITIAL = {
    "platform_x": 0.0,
    "platform_y": 0.0,
    "platform_z": HEIGHT,
    "platform_q0": 1.0,
    "platform_q1": 0.0,
    "platform_q2": 0.0,
    "platform_q3": 0.0,
    **{f"platform_{kind}{axis}": 0.0 for kind in "vw" for axis in "xyz"},
    **{f"{part}{i}": angle for i in range(1, 7) for part, angle in STANCE.items()},
    **{f"{part}{i}_dot": 0.0 for i in range(1, 7) for part in STANCE},
}


def moments(part: str) -> tuple[float, float, float]:
    """The central moments: of a disk of the rim's radius, or of a rod along x as thick as a tenth of its length."""
    mass = MASSES[part]
    if part == "platform":
        return mass * RIM**2 / 4, mass * RIM**2 / 4, mass * RIM**2 / 2
    length = {"coxa": COXA, "femur": FEMUR, "tibia": TIBIA}[part]
    across = mass * length**2 / 12
    return across / 100, across, across


def system() -> cg.System:
    """The declaration; k in N m/rad, c in N m s/rad."""
    import sympy as sp

    k, c, g = parameters = cg.parameters("k c g", positive=True)

    def solid(part: str, name: str, center: float) -> dict[str, Any]:
        return {"name": name, "mass": MASSES[part], "inertia": moments(part), "center": (center, 0, 0)}

    def held(body: Any, point: Any, place: Any) -> list[Any]:
        """A point of a body, given relative to its mass centre, stays at a place."""
        return list(body.point(point) - sp.Matrix(place))

    platform = cg.joint.free(**solid("platform", "platform", 0))
    bodies, closed = [platform], []
    for i, foot in enumerate(FEET, 1):
        turned = cg.turn(3, sp.pi * (i - 1) / 3)
        hip = turned * sp.Matrix([RIM, 0, 0])
        coxa = cg.joint.revolute(platform, "z", at=hip, turned=turned, **solid("coxa", f"coxa{i}", COXA / 2))
        femur = cg.joint.revolute(coxa, "y", at=(COXA, 0, 0), **solid("femur", f"femur{i}", FEMUR / 2))
        tibia = cg.joint.revolute(femur, "y", at=(FEMUR, 0, 0), **solid("tibia", f"tibia{i}", TIBIA / 2))
        bodies += [coxa, femur, tibia]
        closed += held(tibia, sp.Matrix([TIBIA / 2, 0, 0]), foot)
    hinges = [body.coordinates[0] for body in bodies[1:]]
    stance = [STANCE[str(q)[:-1]] for q in hinges]
    symbols = [s for body in bodies for s in (*body.coordinates, *body.velocities)]
    return cg.System(
        "hexapod",
        bodies=bodies,
        potential=sum(k * (q - rest) ** 2 / 2 for q, rest in zip(hinges, stance, strict=True)),
        forces={cg.rate(q): -c * cg.rate(q) for q in hinges},
        interactions=[cg.Weight(g)],
        holonomic=closed,
        units={s: unit for body in bodies for s, unit in body.units.items()}
        | {k: "N m/rad", c: "N m s/rad", g: "m/s^2"},
        descriptions={k: "stiffness of each hinge", c: "damping of each hinge", g: "gravity"},
        example=by_symbol((*symbols, *parameters), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Platform on six legs, each foot fixed: six closed loops",
    source="own figures; Stewart (1965)",
    t_span=(0.0, 1.0),
    forms=("multipliers", "recursive"),
    large=True,
)

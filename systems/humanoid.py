"""A humanoid: a tree of 30 rigid bodies, the pelvis free in space, 29 hinges.

Three hinges in the waist, two in the neck, six in each arm and six in each leg; bodies are boxes of constant density,
with figures of a person of 1.8 m and 64 kg. At every hinge a spring of stiffness k and a damper of coefficient c
keep the posture, upright with hanging arms. There is no ground: it falls.

Conserved: with c = 0, energy. The mass centre falls with the acceleration g, whatever the joints do, and about it the
angular momentum is constant.

Source: own figures, after R. Featherstone, Rigid body dynamics algorithms (2008), section 10.4, on branched trees.
"""

from __future__ import annotations

from typing import NamedTuple

import chaplygin as cg

from .entry import Example, by_symbol

Triple = tuple[float, float, float]


class Bone(NamedTuple):
    """A body and the hinge that carries it: axis and place in the parent's axes, from the parent's hinge."""

    name: str
    parent: str
    axis: str
    at: Triple
    mass: float
    center: Triple
    box: Triple

    @property
    def inertia(self) -> Triple:
        """The central principal moments of a box of constant density."""
        a, b, c = (side * side * self.mass / 12 for side in self.box)
        return b + c, a + c, a + b


def _limb(side: str, sign: float) -> list[Bone]:
    """An arm and a leg; small bodies between the hinges of a shoulder, hip, wrist or ankle."""

    def part(name: str, parent: str, axis: str, at: Triple, mass: float, center: Triple, box: Triple) -> Bone:
        above = parent if parent in ("pelvis", "torso") else f"{side}_{parent}"
        return Bone(f"{side}_{name}", above, axis, at, mass, center, box)

    zero, knob = (0.0, 0.0, 0.0), (0.08, 0.08, 0.08)
    return [
        part("shoulder_pitch", "torso", "y", (0.0, sign * 0.2, 0.38), 0.5, zero, knob),
        part("shoulder_roll", "shoulder_pitch", "x", zero, 0.4, (0.0, sign * 0.01, 0.0), knob),
        part("upper_arm", "shoulder_roll", "z", zero, 1.6, (0.0, 0.0, -0.14), (0.08, 0.09, 0.28)),
        part("forearm", "upper_arm", "y", (0.0, 0.0, -0.28), 0.9, (0.005, 0.0, -0.1), (0.06, 0.07, 0.2)),
        part("wrist_yaw", "forearm", "z", (0.0, 0.0, -0.22), 0.2, (0.0, 0.0, -0.02), (0.05, 0.06, 0.04)),
        part("hand", "wrist_yaw", "x", (0.0, 0.0, -0.04), 0.4, (0.0, 0.0, -0.07), (0.03, 0.08, 0.14)),
        part("hip_yaw", "pelvis", "z", (0.0, sign * 0.1, -0.05), 0.8, zero, (0.1, 0.1, 0.1)),
        part("hip_roll", "hip_yaw", "x", zero, 0.7, (0.01, 0.0, 0.0), (0.1, 0.1, 0.1)),
        part("thigh", "hip_roll", "y", zero, 6.0, (0.0, 0.0, -0.19), (0.15, 0.14, 0.4)),
        part("shank", "thigh", "y", (0.0, 0.0, -0.4), 2.8, (0.005, 0.0, -0.18), (0.1, 0.1, 0.38)),
        part("ankle", "shank", "y", (0.0, 0.0, -0.4), 0.3, zero, (0.06, 0.06, 0.06)),
        part("foot", "ankle", "x", zero, 0.9, (0.05, 0.0, -0.05), (0.25, 0.09, 0.05)),
    ]


PARTS = (
    Bone("waist_yaw", "pelvis", "z", (0.0, 0.0, 0.1), 0.8, (0.0, 0.0, 0.02), (0.15, 0.2, 0.08)),
    Bone("waist_roll", "waist_yaw", "x", (0.0, 0.0, 0.04), 0.8, (0.0, 0.0, 0.01), (0.15, 0.2, 0.08)),
    Bone("torso", "waist_roll", "y", (0.0, 0.0, 0.04), 18.0, (0.01, 0.0, 0.2), (0.2, 0.32, 0.42)),
    Bone("neck", "torso", "z", (0.0, 0.0, 0.45), 0.6, (0.0, 0.0, 0.03), (0.1, 0.1, 0.08)),
    Bone("head", "neck", "y", (0.0, 0.0, 0.06), 4.2, (0.02, 0.0, 0.1), (0.19, 0.15, 0.22)),
    *_limb("left", 1.0),
    *_limb("right", -1.0),
)
"""The 29 bodies that hinges carry, parents first."""
PELVIS = Bone("pelvis", "", "", (0.0, 0.0, 0.0), 9.0, (-0.01, 0.0, 0.03), (0.22, 0.3, 0.2))
PARAMETERS = {"k": 8.0, "c": 0.03, "g": 9.81}
INITIAL = {
    "pelvis_x": 0.0,
    "pelvis_y": 0.0,
    "pelvis_z": 1.0,
    "pelvis_q0": 1.0,
    "pelvis_q1": 0.0,
    "pelvis_q2": 0.0,
    "pelvis_q3": 0.0,
    "pelvis_vx": 0.3,
    "pelvis_vy": 0.0,
    "pelvis_vz": 1.5,
    "pelvis_wx": 0.2,
    "pelvis_wy": -1.0,
    "pelvis_wz": 0.5,
    **{part.name: 0.25 if part.axis == "y" else 0.1 for part in PARTS},
    **{f"{part.name}_dot": 0.0 for part in PARTS},
}


def system() -> cg.System:
    """The declaration; k in N m/rad, c in N m s/rad."""
    k, c, g = parameters = cg.parameters("k c g", positive=True)
    pelvis = cg.joint.free(name="pelvis", mass=PELVIS.mass, inertia=PELVIS.inertia, center=PELVIS.center)
    bodies = {"pelvis": pelvis}
    for part in PARTS:
        bodies[part.name] = cg.joint.revolute(
            bodies[part.parent],
            part.axis,
            name=part.name,
            at=part.at,
            mass=part.mass,
            inertia=part.inertia,
            center=part.center,
        )
    hinges = [bodies[part.name].coordinates[0] for part in PARTS]
    symbols = [s for body in bodies.values() for s in (*body.coordinates, *body.velocities)]
    return cg.System(
        "humanoid",
        bodies=list(bodies.values()),
        potential=sum(k * q**2 / 2 for q in hinges),
        forces={cg.rate(q): -c * cg.rate(q) for q in hinges},
        interactions=[cg.Weight(g)],
        units={s: unit for body in bodies.values() for s, unit in body.units.items()}
        | {k: "N m/rad", c: "N m s/rad", g: "m/s^2"},
        descriptions={k: "stiffness of each hinge", c: "damping of each hinge", g: "gravity"},
        example=by_symbol((*symbols, *parameters), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Humanoid tree of 30 rigid bodies, falling freely",
    source="own figures; Featherstone (2008), section 10.4",
    t_span=(0.0, 1.0),
    forms=("recursive", "poincare"),
    large=True,
)

"""A chain of n equal rigid bodies in space, hanging from each other by joints of one kind.

Every body hangs from the end of the one above, at the distance l from its joint; its mass centre is halfway. The joints
are hinges about x and y in turn, universal joints about x and y, or ball joints with a quaternion and the angular
velocity relative to the body above, in body axes. With one ball joint it is the heavy top.

Conserved: energy.

Source: R. Featherstone, Rigid body dynamics algorithms (2008), chapter 7, for the articulated-body recursion.
"""

from __future__ import annotations

from math import cos, sin
from operator import index
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m": 1.2, "l": 0.5, "J1": 0.03, "J2": 0.025, "J3": 0.01, "g": 9.81}
JOINTS = {
    "revolute": {"": 0.4, "_dot": 0.0},
    "universal": {"_1": 0.4, "_2": 0.1, "_1_dot": 0.0, "_2_dot": 0.3},
    "ball": {
        "_q0": cos(0.2),
        "_q1": sin(0.2),
        "_q2": 0.0,
        "_q3": 0.0,
        "_wx": 0.0,
        "_wy": 0.3,
        "_wz": -0.2,
    },
}
"""The kinds of joints, each with the state of one joint at the start."""


def initial(n: int, joint: str) -> dict[str, float]:
    """All joints in the same state."""
    return {f"a{i}{suffix}": value for i in range(1, n + 1) for suffix, value in JOINTS[joint].items()}


def system(n: int = 3, joint: str = "revolute") -> cg.System:
    """The declaration for ``n`` >= 1 bodies; l in metres, moments about the mass centre in kg m^2."""
    m, length, j1, j2, j3, g = parameters = cg.parameters("m l J1 J2 J3 g", positive=True)
    bodies: list[cg.joint.Link] = []
    for i in range(1, n + 1):
        above = bodies[-1] if bodies else None
        body: dict[str, Any] = {"name": f"body{i}", "joint": f"a{i}", "at": (0, 0, -length if bodies else 0)}
        body |= {"mass": m, "inertia": (j1, j2, j3), "center": (0, 0, -length / 2)}
        if joint == "revolute":
            bodies.append(cg.joint.revolute(above, "yx"[i % 2], **body))
        elif joint == "universal":
            bodies.append(cg.joint.universal(above, "x", "y", **body))
        else:
            bodies.append(cg.joint.ball(above, **body))
    symbols = [s for body in bodies for s in (*body.coordinates, *body.velocities)]
    return cg.System(
        f"spatial_chain_{joint}_{n}",
        bodies=bodies,
        interactions=[cg.Weight(g)],
        units={s: unit for body in bodies for s, unit in body.units.items()}
        | {m: "kg", length: "m", g: "m/s^2"}
        | dict.fromkeys((j1, j2, j3), "kg m^2"),
        descriptions={
            m: "mass of each body",
            length: "distance of the joints",
            j1: "moment about the body's x axis",
            j2: "moment about the body's y axis",
            j3: "moment about the body's long axis",
            g: "gravity",
        },
        example=by_symbol((*symbols, *parameters), PARAMETERS | initial(n, joint)),
    )


def example(n: int = 3, joint: str = "revolute") -> Example:
    """The catalogue entry for ``n`` bodies and a kind of joint: "revolute", "universal" or "ball".

    Raises ValueError unless n >= 1 and the kind is one of these.
    """
    n = index(n)
    if n < 1:
        raise ValueError(f"example('spatial_chain'): n must be at least 1, not {n}")
    if joint not in JOINTS:
        raise ValueError(f"example('spatial_chain'): joint is {joint!r}; give one of {', '.join(JOINTS)}")
    return Example.of(
        __name__,
        description=f"Spatial chain of {n} rigid bodies on {joint} joints",
        source="Featherstone (2008), chapter 7",
        initial=initial(n, joint),
        t_span=(0.0, 5.0),
        forms=("poincare", "recursive") if joint == "ball" else ("lagrange", "poincare", "recursive"),
        build=lambda: system(n, joint),
        large=True,
    )

"""Chains of rigid bodies in space, by `bodies=`."""

from __future__ import annotations

from typing import Any

import sympy as sp

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import quaternion_rates, rotation

M, L, J1, J2, J3, G = cg.parameters("m l J1 J2 J3 g", positive=True)
NUMBERS = {M: 1.3, L: 0.5, J1: 0.1, J2: 0.2, J3: 0.25, G: 9.81}


def body_chain(n: int, joint: str) -> tuple[cg.System, list[cg.Body], dict[sp.Symbol, Any]]:
    """Bodies, each jointed at the previous body's centre of mass, with its own centre of mass L below the joint."""
    kinematics: dict[sp.Symbol, Any] = {}
    example: dict[sp.Symbol, float] = dict(NUMBERS)
    bodies: list[cg.Body] = []
    for i in range(n):
        if joint == "ball":
            q = cg.coordinates([f"q{i}_{k}" for k in range(4)])
            kinematics |= dict(
                zip(q, quaternion_rates(q, cg.velocities([f"w{i}_{k}" for k in range(3)])), strict=True)
            )
            turned = sp.Matrix(rotation(q))
            example |= dict(zip(q, (0.5, -0.5, 0.1, 0.7), strict=True))
        elif joint == "euler":
            q = cg.coordinates([f"q{i}_{k}" for k in range(3)])
            kinematics |= {x: cg.rate(x) for x in q}
            turned = cg.turn(3, q[0]) * cg.turn(1, q[1]) * cg.turn(3, q[2])
            example |= dict(zip(q, (0.1, 1.0, 0.3), strict=True))
        else:
            q = cg.coordinates([f"q{i}"])
            kinematics[q] = cg.rate(q)
            turned = cg.turn(1 + i % 3, q)
            example[q] = 0.3
        arm = turned * sp.Matrix([0, 0, -L])
        above = bodies[-1] if bodies else None
        start = sp.zeros(3, 1) if above is None else sp.Matrix([0, 0, -L])
        bodies.append(
            cg.Body(f"b{i}", mass=M, inertia=(J1, J2, J3), rotation=turned, center=start + arm, parent=above)
        )
    # The example's quaternions have to be normalized.
    for i in range(n if joint == "ball" else 0):
        names = [s for s in example if s.name.startswith(f"q{i}_")]
        size = sum(example[s] ** 2 for s in names) ** 0.5
        example |= {s: example[s] / size for s in names}
    rates = joint != "ball"
    given = {"coordinates": list(kinematics)} if rates else {"kinematics": kinematics}
    system = cg.System("chain", bodies=bodies, interactions=[cg.Weight(G)], example=example, **given)
    return system, bodies, kinematics

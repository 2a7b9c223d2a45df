"""Models of SymBRiM: bicycles and their riders."""

from __future__ import annotations

from typing import Any

import symbrim as brim
import sympy as sp


def bicycle() -> Any:
    """The Whipple bicycle without loads."""
    found = brim.WhippleBicycle("bike")
    found.front_frame, found.rear_frame = (
        brim.RigidFrontFrame("front_frame"),
        brim.RigidRearFrame("rear_frame"),
    )
    found.front_wheel, found.rear_wheel = (
        brim.KnifeEdgeWheel("front_wheel"),
        brim.KnifeEdgeWheel("rear_wheel"),
    )
    found.front_tire, found.rear_tire = (
        brim.NonHolonomicTire("front_tire"),
        brim.NonHolonomicTire("rear_tire"),
    )
    found.ground = brim.FlatGround("ground")
    return found


def heavy(model: Any, ridden: Any) -> Any:
    """The `System` of a model with weights."""
    model.define_all()
    system = model.to_system()
    system.apply_uniform_gravity(-sp.Symbol("g") * ridden.ground.get_normal(ridden.ground.origin))
    return system


def whipple() -> Any:
    bike = bicycle()
    system = heavy(bike, bike)
    system.q_ind, system.q_dep = [*bike.q[:4], *bike.q[5:]], [bike.q[4]]
    system.u_ind, system.u_dep = [bike.u[3], *bike.u[5:7]], [*bike.u[:3], bike.u[4], bike.u[7]]
    return system


def ridden() -> Any:
    """With a rider who leans, and whose hands stay on the handlebar: 17 coordinates and 14 constraints."""
    bike, rider = bicycle(), brim.Rider("rider")
    rider.pelvis, rider.torso = brim.PlanarPelvis("pelvis"), brim.PlanarTorso("torso")
    rider.left_arm, rider.right_arm = (
        brim.PinElbowStickLeftArm("left_arm"),
        brim.PinElbowStickRightArm("right_arm"),
    )
    rider.sacrum = brim.FixedSacrum("sacrum")
    rider.left_shoulder, rider.right_shoulder = (
        brim.SphericalLeftShoulder("ls"),
        brim.SphericalRightShoulder("rs"),
    )
    both = brim.BicycleRider("both")
    both.bicycle, both.rider = bike, rider
    both.seat, both.hand_grips = brim.SideLeanSeat("seat"), brim.HolonomicHandGrips("grips")
    system = heavy(both, bike)
    limbs = [rider.left_shoulder, rider.right_shoulder, rider.left_arm, rider.right_arm]
    system.q_ind = [*bike.q[:4], *bike.q[5:], *both.seat.q]
    system.q_dep = [bike.q[4], *(x for limb in limbs for x in limb.q)]
    system.u_ind = [bike.u[3], *bike.u[5:7], *both.seat.u]
    system.u_dep = [*bike.u[:3], bike.u[4], bike.u[7], *(v for limb in limbs for v in limb.u)]
    return system

"""Examples of SymPy's tutorials, written anew: each function builds its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp
import sympy.physics.mechanics as me
from sympy.physics import biomechanics

t = me.dynamicsymbols._t
symbols, dynamic = sp.symbols, me.dynamicsymbols


def atwood_machine() -> Any:
    """Two weights on a string over a pulley."""
    x, m, n, g, r, moment = dynamic("x"), *symbols("m1 m2 g r J", positive=True)
    rate = x.diff(t)
    kinetic = (m + n + moment / r**2) * rate**2 / 2
    return me.LagrangesMethod(kinetic + (m - n) * g * x, [x])


def bead_on_a_turning_hoop() -> Any:
    """A bead on a hoop that turns about its vertical diameter with a constant rate."""
    a, m, r, g, w = dynamic("a"), *symbols("m r g Omega")
    kinetic = m * r**2 * (a.diff(t) ** 2 + (w * sp.sin(a)) ** 2) / 2
    return me.LagrangesMethod(kinetic + m * g * r * sp.cos(a), [a])


def spring_on_a_cone() -> Any:
    """A particle inside a cone, on a spring from the apex."""
    s, phi = dynamic("s phi")
    m, g, k, rest, alpha = symbols("m g k L_0 alpha", positive=True)
    space, apex, point = me.ReferenceFrame("N"), me.Point("O"), me.Point("P")
    apex.set_vel(space, 0)
    outward = sp.cos(phi) * space.x + sp.sin(phi) * space.y
    point.set_pos(apex, s * (sp.sin(alpha) * outward - sp.cos(alpha) * space.z))
    point.set_vel(space, point.pos_from(apex).dt(space))
    body = me.Particle("bead", point, m)
    body.potential_energy = m * g * point.pos_from(apex).dot(space.z) + k * (s - rest) ** 2 / 2
    return me.LagrangesMethod(me.Lagrangian(space, body), [s, phi])


def muscle_over_a_bone() -> Any:
    """An elastic band from A over a moving point of a sphere to B, with the geodesic between the tangent points."""
    theta, phi = dynamic("theta phi")
    r, m, k, rest = symbols("R m k L_0", positive=True)
    ends = symbols("A_x A_y A_z"), symbols("B_x B_y B_z")
    space, centre, point = me.ReferenceFrame("N"), me.Point("O"), me.Point("P")
    centre.set_vel(space, 0)
    side = sp.cos(phi) * space.x + sp.sin(phi) * space.y
    point.set_pos(centre, r * (sp.sin(theta) * side + sp.cos(theta) * space.z))
    point.set_vel(space, point.pos_from(centre).dt(space))
    arms = [sum((x * e for x, e in zip(end, space, strict=True)), me.Vector(0)) for end in ends]
    length = sum((point.pos_from(centre) - arm).magnitude() for arm in arms)
    length += r * sp.acos(arms[0].normalize().dot(arms[1].normalize()))
    body = me.Particle("contact", point, m)
    body.potential_energy = k * (length - rest) ** 2 / 2
    return me.LagrangesMethod(me.Lagrangian(space, body), [theta, phi])


def duffing_pendulum() -> Any:
    """A block on a cubic spring with a damper, and a pendulum on the block."""
    x, a, u, w = dynamic("x a u w")
    m, n, ell, g, beta, alpha, delta, rest = symbols("m1 m2 l g beta alpha delta l_0")
    wall, block, bob = me.RigidBody("wall"), me.RigidBody("block", mass=m), me.Particle("bob", mass=n)
    rod = me.ReferenceFrame("R")
    model = me.System.from_newtonian(wall)
    slider = me.PrismaticJoint("slider", wall, block, x, u, joint_axis=wall.x)
    pin = me.PinJoint(
        "pin", block, bob, a, w, joint_axis=block.z, child_interframe=rod, child_point=ell * rod.y
    )
    model.add_joints(slider, pin)
    between = me.LinearPathway(block.masscenter, wall.masscenter)
    model.add_actuators(me.DuffingSpring(beta, alpha, between, rest), me.LinearDamper(delta, between))
    model.apply_uniform_gravity(-g * wall.y)
    return model


def block_and_pendulum() -> Any:
    """A block on a spring and a damper, a link hung on it and a bar on the link, with a couple between them."""
    q, u = dynamic("q1:4"), dynamic("u1:4")
    m, mb, mc, k, c, ell, g, inertia, kt = symbols("m_a m_b m_c k c l g I_c k_T")
    pull, couple = dynamic("F T")
    ground, block, bob = me.RigidBody("ground"), me.RigidBody("block", mass=m), me.Particle("bob", mass=mb)
    rod = me.ReferenceFrame("R")
    model = me.System.from_newtonian(ground)
    bar = me.RigidBody("bar", mass=mc)
    bar.inertia = (me.inertia(bar.frame, inertia, inertia, inertia), bar.masscenter)
    model.add_joints(
        me.PrismaticJoint("slider", ground, block, q[0], u[0], joint_axis=ground.x),
        me.PinJoint(
            "upper", block, bob, q[1], u[1], joint_axis=block.z, child_interframe=rod, child_point=ell * rod.y
        ),
        me.PinJoint("lower", bob, bar, q[2], u[2], joint_axis=rod.z, parent_interframe=rod,
                    child_point=ell * bar.y / 2),
    )  # fmt: skip
    model.apply_uniform_gravity(-g * ground.y)
    model.add_loads(
        me.Force(block, (pull - k * q[0] - c * u[0]) * ground.x),
        me.Torque(bar, (couple - kt * q[2]) * ground.z),
        me.Torque(rod, -(couple - kt * q[2]) * ground.z),
    )
    return model


def block_with_stribeck_friction() -> Any:
    """A block pulled along a line, with Coulomb, Stribeck and viscous friction."""
    x, u, pull = dynamic("x u F")
    m, g, mu, static, slow, sigma = symbols("m g mu_k mu_s v_s sigma", positive=True)
    space, fixed, point = me.ReferenceFrame("N"), me.Point("O"), me.Point("P")
    fixed.set_vel(space, 0)
    point.set_pos(fixed, x * space.x)
    point.set_vel(space, u * space.x)
    path = me.LinearPathway(fixed, point)
    friction = me.CoulombKineticFriction(mu, m * g, path, v_s=slow, sigma=sigma, mu_s=static)
    loads = [*friction.to_loads(), me.Force(point, pull * space.x)]
    return me.KanesMethod(
        space, [x], [u], kd_eqs=[x.diff(t) - u], bodies=[me.Particle("block", point, m)], forcelist=loads
    )


def arm_with_a_muscle() -> Any:
    """A forearm on a hinge, bent by a muscle with a rigid tendon whose activation is given."""
    a, w = dynamic("a w")
    m, inertia, ell, up, down, g = symbols("m I l p d g", positive=True)
    upper, lower = me.RigidBody("upper"), me.RigidBody("lower", mass=m)
    lower.inertia = (me.inertia(lower.frame, 0, 0, inertia), lower.masscenter)
    model = me.System.from_newtonian(upper)
    elbow = me.PinJoint("elbow", upper, lower, a, w, joint_axis=upper.z, child_point=-ell * lower.x)
    model.add_joints(elbow)
    origin = elbow.parent_point.locatenew("origin", up * upper.y)
    insertion = elbow.child_point.locatenew("insertion", down * lower.x)
    origin.set_vel(upper.frame, 0)
    insertion.set_vel(lower.frame, 0)
    origin.v2pt_theory(elbow.parent_point, upper.frame, upper.frame)
    insertion.v2pt_theory(elbow.parent_point, upper.frame, lower.frame)
    activation = biomechanics.FirstOrderActivationDeGroote2016.with_defaults("biceps")
    model.add_actuators(
        biomechanics.MusculotendonDeGroote2016.with_defaults(
            "biceps", me.LinearPathway(origin, insertion), activation,
            tendon_slack_length=sp.Rational(3, 10), optimal_fiber_length=sp.Rational(1, 2),
            peak_isometric_force=sp.Integer(100),
        )
    )  # fmt: skip
    model.apply_uniform_gravity(-g * upper.y)
    return model


def band_around_a_post() -> Any:
    """A bead on an elastic band that is wrapped around a cylinder and held at a fixed point of it."""
    a, x, w, v = dynamic("a x w v")
    r, m, k = symbols("r m k", positive=True)
    space, axis = me.ReferenceFrame("N"), me.Point("O")
    axis.set_vel(space, 0)
    start = axis.locatenew("A", r * space.x)
    start.set_vel(space, 0)
    moved = axis.locatenew("B", r * (sp.cos(a) * space.x + sp.sin(a) * space.y) + x * space.z)
    moved.set_vel(space, moved.pos_from(axis).dt(space).xreplace({a.diff(t): w, x.diff(t): v}))
    path = me.WrappingPathway(start, moved, me.WrappingCylinder(r, axis, space.z))
    loads = me.ForceActuator(-k * path.length, path).to_loads()
    kd = [a.diff(t) - w, x.diff(t) - v]
    body = me.Particle("bead", moved, m)
    return me.KanesMethod(space, [a, x], [w, v], kd_eqs=kd, bodies=[body], forcelist=loads)


class _OverTheElbow(me.PathwayBase):
    """From the upper to the lower arm over a pulley of radius r about the elbow, in the plane of both."""

    def __init__(self, ends: Any, elbow: Any, axis: Any, along: Any, radius: Any, angle: Any) -> None:
        super().__init__(*ends)
        self.elbow, self.radius, self.angle = elbow, radius, angle
        self.reaches = [elbow.pos_from(end).magnitude() for end in ends]
        self.turned = [sp.asin(radius / reach) for reach in self.reaches]
        sides = (along[0].cross(axis), axis.cross(along[1]))
        self.pulls = [
            -sp.cos(b) * e - sp.sin(b) * side for b, e, side in zip(self.turned, along, sides, strict=True)
        ]

    @property
    def length(self) -> Any:
        straight = (reach * sp.cos(b) for reach, b in zip(self.reaches, self.turned, strict=True))
        return sp.Add(*straight) + self.radius * (self.angle + sp.Add(*self.turned))

    @property
    def extension_velocity(self) -> Any:
        return self.radius * self.angle.diff(t)

    def to_loads(self, force: Any) -> list[Any]:
        """A positive force pushes the ends away from the pulley, as SymPy counts it."""
        loads = [me.Force(p, -force * e) for p, e in zip(self.attachments, self.pulls, strict=True)]
        return [*loads, me.Force(self.elbow, force * (self.pulls[0] + self.pulls[1]))]


LEVER = {
    "dx": 0.31, "dy": 0.15, "dz": -0.31, "l_A": 0.2, "l_C": 0.3, "l_D": 0.3, "m_A": 1.0, "m_C": 2.3, "m_D": 1.7,
    "g": 9.81, "k": 5.0, "c": 0.5, "r": 0.03, "F_M_max_biceps": 500.0, "l_M_opt_biceps": 0.18,
    "l_T_slack_biceps": 0.165, "F_M_max_triceps": 500.0, "l_M_opt_triceps": 0.18, "l_T_slack_triceps": 0.195,
}  # fmt: skip
"""The numbers of the tutorial for `arm_on_a_lever`."""


def arm_on_a_lever() -> Any:
    """An arm that moves a lever: shoulder, elbow, a hand held to the lever, and two muscles with activations."""
    q, u = dynamic("q1:5"), dynamic("u1:5")
    dx, dy, dz = symbols("dx dy dz")
    la, lc, ld, ma, mc, md, g, k, c, r = symbols("l_A l_C l_D m_A m_C m_D g k c r", positive=True)
    space, origin = me.ReferenceFrame("N"), me.Point("O")
    lever = space.orientnew("A", "Axis", [q[0], space.z])
    swung = space.orientnew("B", "Axis", [q[1], space.y])
    upper = swung.orientnew("C", "Axis", [q[2], swung.z])
    lower = upper.orientnew("D", "Axis", [q[3], upper.y])
    for frame, base, rate in (
        (lever, space, u[0] * space.z), (swung, space, u[1] * space.y), (upper, swung, u[2] * swung.z),
        (lower, upper, u[3] * upper.y),
    ):  # fmt: skip
        frame.set_ang_vel(base, rate)
    pivot, shoulder = (
        origin.locatenew("Ao", dx * space.x),
        origin.locatenew("P2", dy * space.y + dz * space.z),
    )
    for point in (origin, pivot, shoulder):
        point.set_vel(space, 0)
    elbow = shoulder.locatenew("P3", lc * upper.z)
    elbow.v2pt_theory(shoulder, space, upper)
    places = (
        ("P1", pivot, lever, la * lever.y), ("Co", shoulder, upper, lc / 2 * upper.z),
        ("Cm", shoulder, upper, lc / 3 * upper.z), ("Dm", elbow, lower, ld / 3 * lower.z),
        ("Do", elbow, lower, ld / 2 * lower.z), ("P4", elbow, lower, ld * lower.z),
    )  # fmt: skip
    grip, co, cm, dm, do, hand = (base.locatenew(name, arm) for name, base, _, arm in places)
    for point, (_, base, frame, _) in zip((grip, co, cm, dm, do, hand), places, strict=True):
        point.v2pt_theory(base, space, frame)
    model = me.System(space, origin)
    for name, point, frame, m, length, axis in (
        ("lever", pivot, lever, ma, la, 1), ("upper", co, upper, mc, lc, 2), ("lower", do, lower, md, ld, 2),
    ):  # fmt: skip
        moments = [m * length**2 / (2 if i == axis else 12) for i in range(3)]
        model.add_bodies(me.RigidBody(name, point, frame, m, (me.inertia(frame, *moments), point)))
    model.add_coordinates(*q[1:], independent=False)
    model.add_coordinates(q[0])
    model.add_speeds(*u[1:], independent=False)
    model.add_speeds(u[0])
    model.add_kdes(*(v - x.diff(t) for x, v in zip(q, u, strict=True)))
    model.add_holonomic_constraints(*((hand.pos_from(origin) - grip.pos_from(origin)).dot(e) for e in space))
    over = _OverTheElbow((cm, dm), elbow, swung.y, (-upper.z, lower.z), r, q[3])
    for name, path in (("biceps", me.LinearPathway(cm, dm)), ("triceps", over)):
        activation = biomechanics.FirstOrderActivationDeGroote2016.with_defaults(name)
        model.add_actuators(biomechanics.MusculotendonDeGroote2016.with_defaults(name, path, activation))
    model.add_loads(
        me.Torque(lever, (-k * q[0] - c * u[0]) * space.z),
        me.Force(co, mc * g * space.z),
        me.Force(do, md * g * space.z),
    )
    return model


TUTORIALS: tuple[Callable[[], Any], ...] = (
    atwood_machine,
    bead_on_a_turning_hoop,
    spring_on_a_cone,
    muscle_over_a_bone,
    duffing_pendulum,
    block_and_pendulum,
    block_with_stribeck_friction,
    arm_with_a_muscle,
    band_around_a_post,
)

"""Examples of SymPy's and PyDy's documentation, written anew: each function builds its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp
import sympy.physics.mechanics as me
from sympy.physics import biomechanics

t = me.dynamicsymbols._t
symbols, dynamic = sp.symbols, me.dynamicsymbols

# -- SymPy's tutorials --------------------------------------------------------------------------------------------


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


# -- PyDy ---------------------------------------------------------------------------------------------------------


def conical_pendulum() -> Any:
    """Three links on universal joints, each with a bob at its end."""
    q, u = dynamic("q1:7"), dynamic("u1:7")
    m, ell, g, inertia = symbols("m l g I")
    space, joint = me.ReferenceFrame("N"), me.Point("O")
    joint.set_vel(space, 0)
    before, bodies, loads = space, [], []
    for i in range(3):
        first, second = q[2 * i : 2 * i + 2]
        link = before.orientnew(f"L{i}", "Space", [first, second, 0], "123")
        turning = link.ang_vel_in(before).xreplace({x.diff(t): v for x, v in zip(q, u, strict=True)})
        link.set_ang_vel(before, turning)
        end = joint.locatenew(f"P{i}", -ell * link.z)
        end.v2pt_theory(joint, space, link)
        bodies.append(
            me.RigidBody(f"link{i}", end, link, m, (me.inertia(link, inertia, inertia, inertia), end))
        )
        loads.append((end, -m * g * space.z))
        joint, before = end, link
    kd = [x.diff(t) - v for x, v in zip(q, u, strict=True)]
    return me.KanesMethod(space, q, u, kd_eqs=kd, bodies=bodies, forcelist=loads)


def astrobee() -> Any:
    """A free body with the rates of its angles as speeds, driven by three forces and three torques."""
    q, u = dynamic("q1:4 x y z"), dynamic("u_1:4 u_x u_y u_z")
    forces, torques = dynamic("Fmag_x Fmag_y Fmag_z"), dynamic("Tmag_1:4")
    m, *moments = symbols("m I_x I_y I_z")
    space, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(space, 0)
    body = space.orientnew("B", "Body", q[:3], "xyz")
    centre = origin.locatenew("C", sum((x * e for x, e in zip(q[3:], space, strict=True)), me.Vector(0)))
    rates = {x.diff(t): v for x, v in zip(q, u, strict=True)}
    body.set_ang_vel(space, body.ang_vel_in(space).xreplace(rates))
    centre.set_vel(space, centre.pos_from(origin).dt(space).xreplace(rates))
    loads = [(centre, f * e) for f, e in zip(forces, space, strict=True)]
    loads += [(body, f * e) for f, e in zip(torques, body, strict=True)]
    craft = me.RigidBody("craft", centre, body, m, (me.inertia(body, *moments), centre))
    kd = [x - v for x, v in rates.items()]
    return me.KanesMethod(space, q, u, kd_eqs=kd, bodies=[craft], forcelist=loads)


def rattleback() -> Any:
    """Kane and Levinson's rattleback: an ellipsoid that rolls, its contact point a function of the attitude."""
    q, u = dynamic("q1:4"), dynamic("u1:4")
    m, g, a, b, c, h, ia, ib, ic, iab, drag = symbols("m g a b c h A B C D sigma", positive=True)
    space = me.ReferenceFrame("N")
    body = space.orientnew("R", "Body", q, "123")
    rates = body.ang_vel_in(space)
    body.set_ang_vel(space, sum((v * e for v, e in zip(u, body, strict=True)), me.Vector(0)))
    down = [space.z.dot(e) for e in body]
    size = sp.sqrt(sum((s * n) ** 2 for s, n in zip((a, b, c), down, strict=True)))
    reach = sum((-(s**2) * n / size * e for s, n, e in zip((a, b, c), down, body, strict=True)), me.Vector(0))
    centre = me.Point("C")
    centre.set_vel(space, body.ang_vel_in(space).cross(-h * body.z - reach))
    shell = me.RigidBody("shell", centre, body, m, (me.inertia(body, ia, ib, ic, iab), centre))
    loads = [(centre, -m * g * space.z), (body, -drag * body.ang_vel_in(space))]
    kd = [(rates - body.ang_vel_in(space)).dot(e) for e in body]
    return me.KanesMethod(space, q, u, kd_eqs=kd, bodies=[shell], forcelist=loads)


def colliding_pendulum() -> Any:
    """Two balls on rods with ball joints; they push each other apart where they overlap, by a Heaviside function."""
    q, u = dynamic("q1:7"), dynamic("u1:7")
    m, dot, g, r, ell, k, *moments = symbols("m m_1 g r l k I_x I_y I_z", positive=True)
    space, joint = me.ReferenceFrame("N"), me.Point("O")
    joint.set_vel(space, 0)
    before, centres, bodies, kd = space, [], [], []
    for i in range(2):
        rod = before.orientnew(f"A{i}", "Body", q[3 * i : 3 * i + 3], "123")
        rates = rod.ang_vel_in(space)
        turning = sum((v * e for v, e in zip(u[3 * i : 3 * i + 3], rod, strict=True)), me.Vector(0))
        rod.set_ang_vel(space, turning)
        kd += [(rates - turning).dot(e) for e in rod]
        centre = joint.locatenew(f"C{i}", ell * rod.y / 2)
        spot = centre.locatenew(f"S{i}", r * rod.z)
        end = joint.locatenew(f"P{i}", ell * rod.y)
        for point in (centre, spot, end):
            point.v2pt_theory(joint, space, rod)
        bodies += [
            me.RigidBody(f"ball{i}", centre, rod, m, (me.inertia(rod, *moments), centre)),
            me.Particle(f"spot{i}", spot, dot),
        ]
        centres.append(centre)
        joint, before = end, rod
    apart = centres[1].pos_from(centres[0])
    overlap = 2 * r - apart.magnitude()
    push = k * overlap * sp.Heaviside(overlap) * apart.normalize()
    loads = [(b.masscenter, -b.mass * g * space.y) for b in bodies]
    loads += [(centres[1], push), (centres[0], -push)]
    return me.KanesMethod(space, q, u, kd_eqs=kd, bodies=bodies, forcelist=loads)


def explorer() -> Any:
    """Explorer 1: a tube with elastic antennas on universal joints, which dissipate energy; no load holds it."""
    q, u = dynamic("x y z q1:4 q0x q0z q1x q1z"), dynamic("ux uy uz u1:4 u0x u0z u1x u1z")
    m, n, ix, iz, jr, long, far, shift, k, c = symbols("m_e m_a I_x I_z J L d s k mu", positive=True)
    space, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(space, 0)
    tube = space.orientnew("E", "Body", q[3:6], "XYZ")
    rates = tube.ang_vel_in(space)
    tube.set_ang_vel(space, sum((v * e for v, e in zip(u[3:6], tube, strict=True)), me.Vector(0)))
    kd = [x.diff(t) - v for x, v in zip(q[:3], u[:3], strict=True)]
    kd += [(rates - tube.ang_vel_in(space)).dot(e) for e in tube]
    centre = origin.locatenew("C", sum((x * e for x, e in zip(q[:3], space, strict=True)), me.Vector(0)))
    centre.set_vel(space, sum((v * e for v, e in zip(u[:3], space, strict=True)), me.Vector(0)))
    bodies = [me.RigidBody("tube", centre, tube, m, (me.inertia(tube, ix, ix, iz), centre))]
    loads = []
    for i, side in enumerate((1, -1)):
        (a, b), (v, w) = q[6 + 2 * i : 8 + 2 * i], u[6 + 2 * i : 8 + 2 * i]
        rod = me.ReferenceFrame(f"A{i}")
        rod.orient_body_fixed(tube, (a, 0, b), "XYZ")
        rates = rod.ang_vel_in(tube)
        kd += [a.diff(t) - v, b.diff(t) - w]
        rod.set_ang_vel(tube, rates.xreplace({a.diff(t): v, b.diff(t): w}))
        foot = centre.locatenew(f"P{i}", side * far * tube.y + shift * tube.z)
        foot.v2pt_theory(centre, space, tube)
        middle = foot.locatenew(f"M{i}", side * long / 2 * rod.y)
        middle.v2pt_theory(foot, space, rod)
        bodies.append(me.RigidBody(f"rod{i}", middle, rod, n, (me.inertia(rod, jr, 0, jr), middle)))
        torque = -(k * a + c * v) * rod.x - (k * b + c * w) * rod.z
        loads += [(rod, torque), (tube, -torque)]
    return me.KanesMethod(space, q, u, kd_eqs=kd, bodies=bodies, forcelist=loads)


def disk_on_a_wavy_street() -> Any:
    """A disk that rolls over a street y = f(x): x of its contact follows from its spin; auxiliary speeds."""
    a, x, u, sx, sy, fx, fy = dynamic("q x u s_x s_y f_x f_y")
    m, g, r, inertia, high, wave, drag = symbols("m g r I A k mu", positive=True)
    street = high * sp.sin(wave * x) / 9 + high * sp.sin(2 * wave * x) / 18
    slope, bend = street.diff(x), street.diff(x, 2)
    space, origin, contact = me.ReferenceFrame("N"), me.Point("O"), me.Point("C")
    origin.set_vel(space, 0)
    disk = space.orientnew("D", "Axis", [a, space.z])
    disk.set_ang_vel(space, u * space.z)
    contact.set_vel(space, sx * space.x + sy * space.y)
    centre = contact.locatenew("M", r * (space.y - slope * space.x) / sp.sqrt(1 + slope**2))
    centre.v2pt_theory(contact, space, disk)
    # The centre runs along the parallel curve of the street, at (1 - r curvature) times the speed of the contact.
    along = -r * u / (sp.sqrt(1 + slope**2) * (1 - r * bend / (1 + slope**2) ** sp.Rational(3, 2)))
    loads = [(centre, -m * g * space.y), (contact, fx * space.x + fy * space.y), (disk, -drag * u * space.z)]
    body = me.RigidBody("disk", centre, disk, m, (me.inertia(disk, 0, 0, inertia), centre))
    return me.KanesMethod(
        space, [a, x], [u], kd_eqs=[a.diff(t) - u, x.diff(t) - along], u_auxiliary=[sx, sy], bodies=[body],
        forcelist=loads,
    )  # fmt: skip


def differential_drive() -> Any:
    """A cart on two wheels that roll without slipping, each with a motor."""
    x, y, a, left, right = q = dynamic("x y theta phi_l phi_r")
    u = dynamic("u1:6")
    m, inertia, wheel, r, half, off = symbols("m I J r b d")
    torques = dynamic("tau_l tau_r")
    space, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(space, 0)
    cart = space.orientnew("A", "Axis", [a, space.z])
    cart.set_ang_vel(space, u[2] * space.z)
    axle = origin.locatenew("P", x * space.x + y * space.y)
    axle.set_vel(space, u[0] * space.x + u[1] * space.y)
    centre = axle.locatenew("C", off * cart.x)
    centre.v2pt_theory(axle, space, cart)
    bodies = [me.RigidBody("cart", centre, cart, m, (me.inertia(cart, 0, 0, inertia), centre))]
    loads, rolling = [], [axle.vel(space).dot(cart.y)]
    for name, angle, v, side, tau in zip("lr", (left, right), u[3:], (1, -1), torques, strict=True):
        frame = cart.orientnew(f"W{name}", "Axis", [angle, cart.y])
        frame.set_ang_vel(cart, v * cart.y)
        hub = axle.locatenew(f"H{name}", side * half * cart.y)
        hub.v2pt_theory(axle, space, cart)
        rolling.append(hub.vel(space).dot(cart.x) - r * v)
        bodies.append(
            me.RigidBody(f"wheel_{name}", hub, frame, wheel, (me.inertia(frame, 0, wheel * r**2 / 2, 0), hub))
        )
        loads += [(frame, tau * cart.y), (cart, -tau * cart.y)]
    kd = [z.diff(t) - v for z, v in zip(q, u, strict=True)]
    return me.KanesMethod(
        space, q, [u[3], u[4]], kd_eqs=kd, u_dependent=u[:3], velocity_constraints=rolling, bodies=bodies,
        forcelist=loads,
    )  # fmt: skip


def four_bars_with_a_driven_link() -> Any:
    """A four-bar linkage whose first link turns at a prescribed rate, by a motion constraint."""
    q, u, rate = dynamic("q1:4"), dynamic("u1:4"), symbols("Omega")
    lengths, m, g = symbols("l_a l_b l_c l_d"), symbols("m"), symbols("g")
    space, joint = me.ReferenceFrame("N"), me.Point("O")
    joint.set_vel(space, 0)
    start, before, bodies, loads = joint, space, [], []
    for i, (angle, v, length) in enumerate(zip(q, u, lengths, strict=False)):
        link = before.orientnew(f"L{i}", "Axis", [angle, space.z])
        link.set_ang_vel(before, v * space.z)
        end = joint.locatenew(f"P{i}", length * link.x)
        end.v2pt_theory(joint, space, link)
        bodies.append(me.Particle(f"bob{i}", end, m * (i + 1)))
        loads.append((end, -m * (i + 1) * g * space.y))
        joint, before = end, link
    loop = joint.pos_from(start) - lengths[3] * space.x
    closed = [loop.dot(space.x), loop.dot(space.y)]
    known = {x.diff(t): v for x, v in zip(q, u, strict=True)}
    rates = [e.diff(t).xreplace(known) for e in closed]
    return me.KanesMethod(
        space, [q[0]], [], kd_eqs=[x.diff(t) - v for x, v in zip(q, u, strict=True)], q_dependent=q[1:],
        u_dependent=u, configuration_constraints=closed, velocity_constraints=[u[0] - rate, *rates],
        bodies=bodies, forcelist=loads,
    )  # fmt: skip


def springy_pendulum() -> Any:
    """A pendulum whose rod is a spring, with its pivot driven along a prescribed line."""
    a, s, w, v, lift = dynamic("a s w v h")
    m, k, rest, g = symbols("m k L_0 g", positive=True)
    space, pivot = me.ReferenceFrame("N"), me.Point("O")
    pivot.set_vel(space, lift.diff(t) * space.y)
    rod = space.orientnew("R", "Axis", [a, space.z])
    rod.set_ang_vel(space, w * space.z)
    bob = pivot.locatenew("P", -s * rod.y)
    bob.set_vel(rod, -v * rod.y)
    bob.v1pt_theory(pivot, space, rod)
    loads = [(bob, -m * g * space.y + k * (s - rest) * rod.y)]
    kd = [a.diff(t) - w, s.diff(t) - v]
    return me.KanesMethod(
        space, [a, s], [w, v], kd_eqs=kd, bodies=[me.Particle("bob", bob, m)], forcelist=loads
    )


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
PYDY: tuple[Callable[[], Any], ...] = (
    conical_pendulum,
    astrobee,
    rattleback,
    colliding_pendulum,
    explorer,
    disk_on_a_wavy_street,
    differential_drive,
    springy_pendulum,
)

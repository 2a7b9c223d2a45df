"""Models of `sympy.physics.mechanics`, each a function that builds it anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
import sympy.physics.mechanics as me
from sympy.physics.mechanics import models

t = me.dynamicsymbols._t


def pulled_spring() -> Any:
    """A mass on a spring and a damper, pulled by a force that is an input."""
    x, v, pull = me.dynamicsymbols("x v pull")
    m, k, c = sp.symbols("m k c", positive=True)
    space, point = me.ReferenceFrame("N"), me.Point("P")
    point.set_vel(space, v * space.x)
    load = (point, (pull - k * x - c * v) * space.x)
    body = me.Particle("block", point, m)
    return me.KanesMethod(space, [x], [v], kd_eqs=[x.diff(t) - v], bodies=[body], forcelist=[load])


def spring(load: Any, bodies: bool = True) -> Any:
    """A particle with a load along a line, and with bodies or without."""
    x, v = me.dynamicsymbols("x v")
    space, point = me.ReferenceFrame("N"), me.Point("P")
    point.set_vel(space, v * space.x)
    body = [me.Particle("block", point, sp.Symbol("m"))]
    given_loads = [(point, load * space.x)]
    return me.KanesMethod(
        space,
        [x],
        [v],
        kd_eqs=[x.diff() - v],
        bodies=body if bodies else None,
        forcelist=given_loads if bodies else None,
    )


def spring_chain() -> Any:
    return models.multi_mass_spring_damper(3, apply_gravity=True, apply_external_forces=True)


def cart_and_links() -> Any:
    return models.n_link_pendulum_on_cart(3, cart_force=True, joint_torques=True)


def odd_speeds() -> Any:
    """A double pendulum whose speeds are combinations of the rates with factors that depend on the angles."""
    a, b, u, w = me.dynamicsymbols("a b u w")
    m, ell, g = sp.symbols("m l g")
    space = me.ReferenceFrame("N")
    upper, lower = space.orientnew("A", "Axis", [a, space.z]), space.orientnew("B", "Axis", [b, space.z])
    pivot = me.Point("O")
    pivot.set_vel(space, 0)
    first = pivot.locatenew("P", ell * upper.x)
    second = first.locatenew("Q", ell * lower.x)
    for point in (first, second):
        point.set_vel(space, point.pos_from(pivot).dt(space))
    kd = [a.diff(t) - u / (2 + sp.sin(b)), b.diff(t) - w - u * sp.cos(a)]
    bodies = [me.Particle("p", first, m), me.Particle("q", second, m)]
    loads = [(point, m * g * space.x) for point in (first, second)]
    return me.KanesMethod(space, [a, b], [u, w], kd_eqs=kd, bodies=bodies, forcelist=loads)


def _disk_frames(q1: Any, q2: Any, q3: Any) -> tuple[Any, ...]:
    space = me.ReferenceFrame("N")
    yaw = space.orientnew("Y", "Axis", [q1, space.z])
    lean = yaw.orientnew("L", "Axis", [q2, yaw.x])
    return space, yaw, lean, lean.orientnew("R", "Axis", [q3, lean.y])


def rolling_disk(auxiliary: bool = False, plate: Any = 0) -> Any:
    """A disk that rolls: the velocity of its centre is written with that of the contact substituted.

    `plate` is the velocity along x of what it rolls on.
    """
    q1, q2, q3, u1, u2, u3 = me.dynamicsymbols("q1:4 u1:4")
    u4, u5, f1, f2 = me.dynamicsymbols("u4 u5 f1 f2")
    r, m, g = sp.symbols("r m g")
    space, yaw, lean, disk = _disk_frames(q1, q2, q3)
    rates = disk.ang_vel_in(space)
    disk.set_ang_vel(space, u1 * lean.x + u2 * lean.y + u3 * lean.z)
    kd = [(rates - disk.ang_vel_in(space)).dot(axis) for axis in lean]
    contact = me.Point("C")
    contact.set_vel(space, u4 * lean.x + u5 * lean.y.cross(lean.x) if auxiliary else plate * space.x)
    centre = contact.locatenew("D", r * lean.z)
    centre.v2pt_theory(contact, space, disk)
    tensor = me.inertia(lean, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
    loads = [(centre, -m * g * yaw.z)]
    loads += [(contact, f1 * lean.x + f2 * lean.y.cross(lean.x))] if auxiliary else []
    return me.KanesMethod(
        space,
        [q1, q2, q3],
        [u1, u2, u3],
        kd_eqs=kd,
        u_auxiliary=[u4, u5] if auxiliary else None,
        bodies=[me.RigidBody("disk", centre, disk, m, (tensor, centre))],
        forcelist=loads,
    )


def rolling_disk_with_forces() -> Any:
    """The same with auxiliary speeds, which bring the forces at the contact into evidence."""
    return rolling_disk(auxiliary=True)


def constrained_disk() -> Any:
    """A rolling disk with the coordinates of its contact, and rolling as velocity constraints."""
    q, u = me.dynamicsymbols("q1:6"), me.dynamicsymbols("u1:6")
    r, m, g, tau = *sp.symbols("r m g"), me.dynamicsymbols("tau")
    space, _, lean, disk = _disk_frames(*q[:3])
    disk.set_ang_vel(space, u[0] * space.z + u[1] * lean.x + u[2] * lean.y)
    lean.set_ang_vel(space, u[0] * space.z + u[1] * lean.x)
    ground = me.Point("O")
    ground.set_vel(space, 0)
    moving = ground.locatenew("C", q[3] * space.x + q[4] * space.y)
    moving.set_vel(space, u[3] * space.x + u[4] * space.y)
    centre = moving.locatenew("D", r * lean.z)
    centre.v2pt_theory(moving, space, lean)
    touching = me.Point("T")
    touching.set_vel(space, centre.vel(space) + disk.ang_vel_in(space).cross(-r * lean.z))
    tensor = me.inertia(lean, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
    return me.KanesMethod(
        space,
        q,
        u[:3],
        kd_eqs=[a.diff(t) - b for a, b in zip(q, u, strict=True)],
        u_dependent=u[3:],
        velocity_constraints=[touching.vel(space).dot(axis) for axis in (space.x, space.y)],
        bodies=[me.RigidBody("disk", centre, disk, m, (tensor, centre))],
        forcelist=[(centre, -m * g * space.z), (disk, tau * lean.y)],
    )


def closed_pendulum() -> Any:
    """A pendulum in Cartesian coordinates: its length is a configuration constraint, given with its rate."""
    x, y, u, v = me.dynamicsymbols("x y u v")
    m, g, ell = sp.symbols("m g l")
    space, point = me.ReferenceFrame("N"), me.Point("P")
    point.set_vel(space, u * space.x + v * space.y)
    return me.KanesMethod(
        space,
        [x],
        [u],
        kd_eqs=[x.diff(t) - u, y.diff(t) - v],
        q_dependent=[y],
        configuration_constraints=[x**2 + y**2 - ell**2],
        u_dependent=[v],
        velocity_constraints=[x * u + y * v],
        bodies=[me.Particle("bob", point, m)],
        forcelist=[(point, -m * g * space.y)],
    )


def satellite() -> Any:
    """A free rigid body with body-fixed angles, body rates and velocities along its axes, driven by thrusters."""
    q, u = me.dynamicsymbols("phi theta psi x y z"), me.dynamicsymbols("p q_ r_ a b c")
    m, i1, i2, i3, i12 = sp.symbols("m I1 I2 I3 I12")
    f, torque = me.dynamicsymbols("thrust torque")
    space = me.ReferenceFrame("N")
    body = space.orientnew("B", "Body", q[:3], "123")
    rates = body.ang_vel_in(space)
    body.set_ang_vel(space, u[0] * body.x + u[1] * body.y + u[2] * body.z)
    origin = me.Point("O")
    origin.set_vel(space, 0)
    centre = origin.locatenew("S", q[3] * space.x + q[4] * space.y + q[5] * space.z)
    centre.set_vel(space, u[3] * body.x + u[4] * body.y + u[5] * body.z)
    path = q[3].diff(t) * space.x + q[4].diff(t) * space.y + q[5].diff(t) * space.z
    kd = [(rates - body.ang_vel_in(space)).dot(axis) for axis in body]
    kd += [(path - centre.vel(space)).dot(axis) for axis in space]
    tensor = me.inertia(body, i1, i2, i3, i12)
    return me.KanesMethod(
        space,
        q,
        u,
        kd_eqs=kd,
        bodies=[me.RigidBody("satellite", centre, body, m, (tensor, centre))],
        forcelist=[(centre, f * body.x), (body, torque * body.z)],
    )


def bicycle() -> Any:
    """Carvallo and Whipple's bicycle; its numbers are `BICYCLE`, the benchmark's of Meijaard et al. (2007)."""
    yaw, roll, pitch, steer = q = me.dynamicsymbols("yaw roll pitch steer")
    u1, u2, u3, u4, u5, u6 = me.dynamicsymbols("u1:7")
    rf, rr, tilt, d1, d2, d3, l1, l2, l3, l4, g = sp.symbols("r_f r_r tilt d1 d2 d3 l1 l2 l3 l4 g")
    mb, mh, mf, mr = sp.symbols("m_b m_h m_f m_r")
    space = me.ReferenceFrame("N")
    heading = space.orientnew("Y", "Axis", [yaw, space.z])
    leaning = heading.orientnew("R", "Axis", [roll, heading.x])
    frame = leaning.orientnew("F", "Axis", [pitch + tilt, leaning.y])
    fork = frame.orientnew("H", "Axis", [steer, frame.x])
    upright = [f.orientnew(f"{f}0", "Axis", [-tilt, f.y]) for f in (frame, fork)]
    rear, front = me.ReferenceFrame("WR"), me.ReferenceFrame("WF")
    turning = (
        (heading, space, u1 * heading.z),
        (leaning, heading, u2 * leaning.x),
        (frame, leaning, u4 * frame.y),
    )
    turning += ((rear, frame, u3 * frame.y), (fork, frame, u5 * fork.x), (front, fork, u6 * fork.y))
    for moved, base, rate in turning:
        moved.set_ang_vel(base, rate)
    ground = me.Point("G")
    ground.set_vel(space, 0)
    hub = ground.locatenew("R0", rr * leaning.z)
    head = hub.locatenew("S", d1 * frame.z)
    rider = hub.locatenew("B0", -l1 * frame.x + l2 * frame.z)
    bar = head.locatenew("H0", -l3 * fork.x + l4 * fork.z)
    axle = head.locatenew("F0", d2 * fork.x + d3 * fork.z)
    down = (fork.y.dot(heading.z) * fork.y - heading.z).normalize()
    contact = axle.locatenew("K", rf * down)
    for point, base, carrier in (
        (hub, ground, rear),
        (head, hub, frame),
        (rider, hub, frame),
        (bar, head, fork),
        (axle, head, fork),
        (contact, axle, front),
    ):
        point.v2pt_theory(base, space, carrier)
    inertia = me.inertia
    tensors = (
        (rider, frame, mb, inertia(upright[0], *sp.symbols("B11 B22 B33"), 0, 0, sp.Symbol("B31"))),
        (bar, fork, mh, inertia(upright[1], *sp.symbols("H11 H22 H33"), 0, 0, sp.Symbol("H31"))),
        (hub, rear, mr, inertia(frame, *sp.symbols("R11 R22 R11"))),
        (axle, front, mf, inertia(fork, *sp.symbols("F11 F22 F11"))),
    )
    bodies = [me.RigidBody(f"body_{p}", p, f, m, (tensor, p)) for p, f, m, tensor in tensors]
    return me.KanesMethod(
        space,
        [yaw, roll, steer],
        [u2, u3, u5],
        kd_eqs=[a.diff(t) - b for a, b in zip(q, (u1, u2, u4, u5), strict=True)],
        q_dependent=[pitch],
        configuration_constraints=[contact.pos_from(ground).dot(heading.z)],
        u_dependent=[u1, u4, u6],
        velocity_constraints=[contact.vel(space).dot(axis) for axis in heading],
        bodies=bodies,
        forcelist=[(b.masscenter, -b.mass * g * heading.z) for b in bodies],
        constraint_solver="CRAMER",
    )


def _benchmark() -> dict[str, float]:
    """The numbers of Table 1 of Meijaard et al. (2007), as lengths along the steering axis and across it."""
    tilt, wheelbase, trail, rr, rf = np.pi / 2 - np.pi / 10, 1.02, 0.08, 0.3, 0.35
    s, c = np.sin(tilt), np.cos(tilt)
    rake = rf * c - trail * s
    across = wheelbase * c - (rf - rr) * s
    high, ahead = 0.7 - rf, wheelbase - 0.9
    reach, angle = np.hypot(high, ahead), np.pi / 2 - tilt - np.arccos(high / np.hypot(high, ahead))
    numbers = {"r_r": rr, "r_f": rf, "tilt": tilt, "d1": wheelbase * s - rake + (rf - rr) * c, "d2": across}
    numbers |= {"d3": rake, "l1": (0.9 - rr - 0.3 / s * c) * s, "l2": 0.3 / s + (0.9 - rr - 0.3 / s * c) * c}
    numbers |= {"l3": reach * np.cos(angle) - across, "l4": rake + reach * np.sin(angle)}
    numbers |= {"R11": 0.0603, "R22": 0.12, "F11": 0.1405, "F22": 0.28, "g": 9.81}
    numbers |= {"H11": 0.05892, "H22": 0.06, "H33": 0.00708, "H31": 0.00756}
    numbers |= {
        "B11": 9.2,
        "B22": 11.0,
        "B33": 2.8,
        "B31": -2.4,
        "m_b": 85.0,
        "m_h": 4.0,
        "m_f": 3.0,
        "m_r": 2.0,
    }
    return {name: float(value) for name, value in numbers.items()}


BICYCLE = _benchmark()


def lagrange_double_pendulum() -> Any:
    """Two links by Lagrange, with friction in the joints and a couple."""
    a, b, tau = me.dynamicsymbols("a b tau")
    m, ell, g, c = sp.symbols("m l g c", positive=True)
    space = me.ReferenceFrame("N")
    upper, lower = space.orientnew("A", "Axis", [a, space.z]), space.orientnew("B", "Axis", [b, space.z])
    da, db = a.diff(t), b.diff(t)
    kinetic = m * ell**2 * (2 * da**2 + db**2 + 2 * da * db * sp.cos(a - b)) / 2
    potential = -m * g * ell * (2 * sp.cos(a) + sp.cos(b))
    loads = [(upper, (tau - c * da) * space.z), (lower, -c * db * space.z)]
    return me.LagrangesMethod(kinetic - potential, [a, b], forcelist=loads, frame=space)


def lagrange_closed() -> Any:
    """A bead on a hyperbola that turns: a holonomic constraint with the time in it."""
    x, y = me.dynamicsymbols("x y")
    m, g, w = sp.symbols("m g w")
    kinetic = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2
    return me.LagrangesMethod(kinetic - m * g * y, [x, y], hol_coneqs=[x * y - 1 - sp.sin(w * t) / 5])


def lagrange_skate() -> Any:
    """A skate on a slope: a nonholonomic constraint, one of Lagrange's multipliers."""
    x, y, phi = me.dynamicsymbols("x y phi")
    m, J, g = sp.symbols("m J g")
    kinetic = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + J * phi.diff(t) ** 2 / 2
    knife = x.diff(t) * sp.sin(phi) - y.diff(t) * sp.cos(phi)
    return me.LagrangesMethod(kinetic + m * g * x, [x, y, phi], nonhol_coneqs=[knife])


def jointed_arm() -> Any:
    """An arm of a ball joint and a hinge, with gravity and a motor."""
    space = me.System()
    base = me.RigidBody("base", frame=space.frame, masscenter=space.fixed_point)
    upper, lower = me.RigidBody("upper"), me.RigidBody("lower")
    q, u = me.dynamicsymbols("q0:4"), me.dynamicsymbols("u0:4")
    tau, ell = me.dynamicsymbols("tau"), sp.Symbol("l")
    shoulder = me.SphericalJoint("shoulder", base, upper, q[:3], u[:3], child_point=ell * upper.y)
    elbow = me.PinJoint("elbow", upper, lower, q[3], u[3], -ell * upper.y, ell * lower.y, joint_axis=upper.z)
    space.add_joints(shoulder, elbow)
    space.apply_uniform_gravity(-sp.Symbol("g") * space.y)
    space.add_actuators(me.TorqueActuator(tau, upper.z, lower.frame, upper.frame))
    return space


def four_bar() -> Any:
    """A linkage of four bars, closed by holonomic constraints, with a spring across it."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    ell, rho, k, g = sp.symbols("l rho k g", positive=True)
    lengths = (4 * ell, 2 * ell, 3 * ell, 3 * ell)
    links = []
    for i, length in enumerate(lengths):
        link = me.RigidBody(f"link{i + 1}", mass=rho * length)
        link.inertia = (me.inertia(link.frame, 0, 0, rho * length**3 / 12), link.masscenter)
        links.append(link)
    linkage = me.System.from_newtonian(links[0])
    for i in range(3):
        ends = (lengths[i] / 2 * links[i].x, -lengths[i + 1] / 2 * links[i + 1].x)
        linkage.add_joints(
            me.PinJoint(f"J{i + 1}", links[i], links[i + 1], q[i], u[i], *ends, joint_axis=links[0].z)
        )
    end = links[3].masscenter.locatenew("E", lengths[3] / 2 * links[3].x)
    start = links[0].masscenter.locatenew("S", -lengths[0] / 2 * links[0].x)
    loop = end.pos_from(start)
    linkage.add_holonomic_constraints(loop.dot(links[0].x), loop.dot(links[0].y))
    linkage.q_ind, linkage.q_dep, linkage.u_ind, linkage.u_dep = q[0], q[1:], u[0], u[1:]
    linkage.apply_uniform_gravity(-g * linkage.y)
    pathway = me.LinearPathway(links[1].masscenter, links[3].masscenter)
    linkage.add_actuators(me.LinearSpring(k, pathway, ell))
    return linkage


def chaos_pendulum() -> Any:
    """A plate on a swinging rod, turning about the rod's axis."""
    theta, phi, omega, alpha = me.dynamicsymbols("theta phi omega alpha")
    la, lb, ma, mb, g = sp.symbols("lA lB mA mB g")
    rod, plate = me.RigidBody("rod", mass=ma), me.RigidBody("plate", mass=mb)
    room = me.RigidBody("room")
    swinging = me.System.from_newtonian(room)
    swinging.add_joints(
        me.PinJoint("pivot", room, rod, theta, omega, child_point=la * rod.z, joint_axis=room.y),
        me.PinJoint("turn", rod, plate, phi, alpha, child_point=lb * plate.z, joint_axis=rod.z),
    )
    swinging.apply_uniform_gravity(-g * room.z)
    return swinging


def drawn_pendulum() -> Any:
    """A pendulum whose pivot is moved by hand: f(t) and its derivatives are inputs."""
    a, w, f = me.dynamicsymbols("a w f")
    m, ell, g = sp.symbols("m l g")
    space, pivot = me.ReferenceFrame("N"), me.Point("O")
    rod = space.orientnew("A", "Axis", [a, space.z])
    rod.set_ang_vel(space, w * space.z)
    pivot.set_vel(space, f.diff(t) * space.x)
    bob = pivot.locatenew("P", -ell * rod.y)
    bob.v2pt_theory(pivot, space, rod)
    return me.KanesMethod(
        space,
        [a],
        [w],
        kd_eqs=[a.diff(t) - w],
        bodies=[me.Particle("bob", bob, m)],
        forcelist=[(bob, -m * g * space.y)],
    )


def turned_hoop() -> Any:
    """A bead on a hoop by Lagrange, with the angle of the hoop prescribed: L holds f'."""
    a, f = me.dynamicsymbols("a f")
    m, r, g = sp.symbols("m r g")
    kinetic = m * r**2 * (a.diff(t) ** 2 + sp.sin(a + f / 5) ** 2 * f.diff(t) ** 2) / 2
    return me.LagrangesMethod(kinetic + m * g * r * sp.cos(a), [a])


MODELS: dict[str, Callable[[], Any]] = {
    f.__name__: f
    for f in (
        pulled_spring,
        spring_chain,
        cart_and_links,
        odd_speeds,
        rolling_disk,
        rolling_disk_with_forces,
        constrained_disk,
        closed_pendulum,
        satellite,
        lagrange_double_pendulum,
        lagrange_closed,
        lagrange_skate,
        jointed_arm,
        four_bar,
        chaos_pendulum,
        drawn_pendulum,
        turned_hoop,
        bicycle,
    )
}

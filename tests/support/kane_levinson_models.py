"""Systems of exercises in T. R. Kane, D. A. Levinson, Dynamics: Theory and Applications (1985) that PyDy works out.

Each function builds its model; the names of points, bodies and speeds are the book's where these are plain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp
import sympy.physics.mechanics as me

t = me.dynamicsymbols._t
symbols, dynamic = sp.symbols, me.dynamicsymbols


def _in_axes(values: Any, frame: Any) -> Any:
    return sum((v * e for v, e in zip(values, frame, strict=True)), me.Vector(0))


def sphere_in_a_cavity() -> Any:
    """Exercise 8.11: a body around a sphere in a viscous fluid, which brakes their relative turning."""
    q, u = dynamic("q1:4 x y z"), dynamic("u1:10")
    m, c, r, *moments = symbols("m c R I1 I2 I3", positive=True)
    inner, n = symbols("m_C J", positive=True)
    space, body, sphere = me.ReferenceFrame("A"), me.ReferenceFrame("B"), me.ReferenceFrame("C")
    body.orient_body_fixed(space, q[:3], "123")
    rates = body.ang_vel_in(space)
    body.set_ang_vel(space, _in_axes(u[:3], body))
    sphere.set_ang_vel(body, _in_axes(u[3:6], body) - body.ang_vel_in(space))
    origin = me.Point("O")
    origin.set_vel(space, 0)
    centre = origin.locatenew("C*", _in_axes(q[3:], space))
    centre.set_vel(space, _in_axes(u[6:], body))
    kd = [(rates - body.ang_vel_in(space)).dot(e) for e in body]
    kd += [(centre.pos_from(origin).dt(space) - centre.vel(space)).dot(e) for e in space]
    # -c times the velocity at each element of the surface: a torque of 8 pi c R^4 / 3 times the angular velocity
    torque = sp.Rational(8, 3) * sp.pi * c * r**4 * sphere.ang_vel_in(body)
    bodies = [
        me.RigidBody("body", centre, body, m, (me.inertia(body, *moments), centre)),
        me.RigidBody("sphere", centre, sphere, inner, (me.inertia(body, n, n, n), centre)),
    ]
    return me.KanesMethod(
        space, q, u, kd_eqs=kd, bodies=bodies, forcelist=[(body, torque), (sphere, -torque)]
    )


def satellite_of_a_particle() -> Any:
    """Exercise 9.10: a body near a particle that attracts it, to the second order in its size over the distance."""
    q, u = dynamic("q1:5"), dynamic("u1:5")
    gravity, far, m, *moments = symbols("G M m I1 I2 I3", positive=True)
    space, particle = me.ReferenceFrame("A"), me.Point("P")
    particle.set_vel(space, 0)
    body = space.orientnew("B", "Body", q[:3], "123")
    rates = body.ang_vel_in(space)
    body.set_ang_vel(space, _in_axes(u[:3], body))
    centre = particle.locatenew("B*", q[3] * space.x)
    centre.set_vel(space, u[3] * space.x)
    inertia = me.inertia(body, *moments)
    about = inertia.dot(space.x)
    distance = q[3]
    second = 3 / (m * distance**2) * ((sum(moments) - 3 * space.x.dot(about)) / 2 * space.x)
    force = -gravity * m * far / distance**2 * (space.x + second)
    torque = 3 * gravity * far / distance**3 * space.x.cross(about)
    kd = [(rates - body.ang_vel_in(space)).dot(e) for e in body] + [distance.diff(t) - u[3]]
    shell = me.RigidBody("satellite", centre, body, m, (inertia, centre))
    return me.KanesMethod(space, q, u, kd_eqs=kd, bodies=[shell], forcelist=[(centre, force), (body, torque)])


def blade_on_a_turntable() -> Any:
    """Exercise 10.14: two particles on a rod in a turning plane; a blade lets one of them move along the rod only."""
    q, u = dynamic("q1:4"), dynamic("u1:4")
    length, m1, m2, turning = symbols("L m1 m2 Omega", positive=True)
    space, hub = me.ReferenceFrame("A"), me.Point("O")
    hub.set_vel(space, 0)
    table = space.orientnew("B", "Axis", [turning * t, space.y])
    hub.set_vel(table, 0)
    rod = table.orientnew("E", "Axis", [q[2], table.z])
    rod.set_ang_vel(table, u[2] * table.z)
    first = hub.locatenew("P1", q[0] * table.x + q[1] * table.y)
    first.set_vel(table, u[0] * rod.x + u[1] * rod.y)
    first.v1pt_theory(hub, space, table)
    second = first.locatenew("P2", length * rod.x)
    second.set_vel(table, first.vel(table) + rod.ang_vel_in(table).cross(length * rod.x))
    second.v1pt_theory(hub, space, table)
    kd = [(first.pos_from(hub).dt(table) - first.vel(table)).dot(e) for e in (table.x, table.y)]
    return me.KanesMethod(
        space, q, u[:2], kd_eqs=[*kd, q[2].diff(t) - u[2]], u_dependent=u[2:],
        velocity_constraints=[second.vel(table).dot(rod.y)],
        bodies=[me.Particle("P1", first, m1), me.Particle("P2", second, m2)], forcelist=[],
    )  # fmt: skip


def book_disk() -> Any:
    """Exercise 11.5: a disk that rolls, with the coordinates of its contact in the plane."""
    q, u = dynamic("q1:6"), dynamic("u1:6")
    r, m, g = symbols("R m g", positive=True)
    space, origin = me.ReferenceFrame("A"), me.Point("O")
    origin.set_vel(space, 0)
    heading = space.orientnew("H", "Axis", [q[0], space.z])
    lean = heading.orientnew("B", "Axis", [sp.pi / 2 - q[1], heading.x])
    disk = lean.orientnew("C", "Axis", [q[2], lean.z])
    rates = disk.ang_vel_in(space)
    disk.set_ang_vel(space, _in_axes(u[:3], lean))
    carrier = lean.ang_vel_in(space)
    contact = origin.locatenew("R", q[3] * space.x + q[4] * space.y)
    contact.set_vel(space, u[3] * space.x + u[4] * space.y)
    centre = contact.locatenew("C*", r * lean.y)
    moved = {q[0].diff(t): u[1] / sp.cos(q[1]), q[1].diff(t): -u[0]}
    carrier = me.Vector([(part.xreplace(moved), frame) for part, frame in carrier.args])
    centre.set_vel(space, contact.vel(space) + carrier.cross(r * lean.y))
    touching = centre.vel(space) - disk.ang_vel_in(space).cross(r * lean.y)
    kd = [(rates - disk.ang_vel_in(space)).dot(e) for e in lean]
    tensor = me.inertia(lean, m * r**2 / 4, m * r**2 / 4, m * r**2 / 2)
    return me.KanesMethod(
        space, q, u[:3], kd_eqs=[*kd, q[3].diff(t) - u[3], q[4].diff(t) - u[4]], u_dependent=u[3:],
        velocity_constraints=[touching.dot(space.x), touching.dot(space.y)],
        bodies=[me.RigidBody("disk", centre, disk, m, (tensor, centre))], forcelist=[(centre, -m * g * space.z)],
    )  # fmt: skip


def robot_arm() -> Any:
    """Exercise 11.7: a post A that turns, an arm B on a hinge, a telescope C along B, and a load D held by C."""
    q, u = dynamic("q0:3"), dynamic("u1:4")
    la, lb, lp, g, *masses = symbols("L_A L_B L_P g m_A m_B m_C m_D", positive=True)
    offset = symbols("p1:4")
    post_motor, hinge_motor, slide_motor = dynamic("T_A T_B K_C")
    space, base = me.ReferenceFrame("E"), me.Point("O")
    base.set_vel(space, 0)
    post = space.orientnew("A", "Axis", [q[0], space.x])
    arm = post.orientnew("B", "Axis", [q[1], post.y])
    post.set_ang_vel(space, u[0] * post.x)
    arm.set_ang_vel(post, u[1] * arm.y)
    of_post, hinge = base.locatenew("A*", la * post.z), base.locatenew("P", lp * post.z)
    of_arm = hinge.locatenew("B*", lb * arm.z)
    for point, before, frame in ((of_post, base, post), (hinge, base, post), (of_arm, hinge, arm)):
        point.v2pt_theory(before, space, frame)
    points = [of_post, of_arm]
    for name, place in (("C*", me.Vector(0)), ("D*", _in_axes(offset, arm))):
        point = of_arm.locatenew(name, q[2] * arm.z + place)
        point.set_vel(arm, u[2] * arm.z)
        point.v1pt_theory(of_arm, space, arm)
        points.append(point)
    held = points[2]
    beside = me.Point("B^")  # of the arm, where the telescope is
    beside.set_vel(space, held.vel(space) - u[2] * arm.z)
    inertias = [me.inertia(post, *symbols("A1:4"))]
    inertias += [me.inertia(arm, *symbols(f"{name}1:4")) for name in "BC"]
    inertias.append(me.inertia(arm, *symbols("D11 D22 D33 D12 D23 D31")))
    bodies = [
        me.RigidBody(name, point, frame, mass, (tensor, point))
        for name, point, frame, mass, tensor in zip(
            "ABCD", points, (post, arm, arm, arm), masses, inertias, strict=True
        )
    ]
    loads = [(b.masscenter, -b.mass * g * space.x) for b in bodies]
    loads += [(post, post_motor * post.x - hinge_motor * arm.y), (arm, hinge_motor * arm.y)]
    loads += [(held, slide_motor * arm.z), (beside, -slide_motor * arm.z)]
    kd = [x.diff(t) - v for x, v in zip(q, u, strict=True)]
    return me.KanesMethod(space, q, u, kd_eqs=kd, bodies=bodies, forcelist=loads)


def piston_engine() -> Any:
    """Exercise 11.10: a crank with a counterweight, a rod and a piston, pushed by the gas and turned by a motor."""
    q, u, gas, motor = dynamic("q1:3"), dynamic("u1:4"), *dynamic("Q alpha")
    ma, mb, mc, ka, kb, a, away, b, near = symbols("m_A m_B m_C k_A k_B a a_s b b_s", positive=True)
    offset = symbols("c_s", positive=True)
    space, axle = me.ReferenceFrame("N"), me.Point("O")
    axle.set_vel(space, 0)
    crank = space.orientnew("A", "Axis", [q[0], space.y])
    rod = space.orientnew("B", "Axis", [q[1], -space.y])
    crank.set_ang_vel(space, u[0] * space.y)
    rod.set_ang_vel(space, u[1] * space.y)
    weight, pin = axle.locatenew("A*", -away * crank.z), axle.locatenew("P", a * crank.z)
    for point in (weight, pin):
        point.v2pt_theory(axle, space, crank)
    middle, end = pin.locatenew("B*", (b - near) * rod.z), pin.locatenew("Q", b * rod.z)
    for point in (middle, end):
        point.v2pt_theory(pin, space, rod)
    piston = end.locatenew("C*", offset * space.z)
    piston.set_vel(space, u[2] * space.z)
    bodies = [
        me.RigidBody("crank", weight, crank, ma, (me.inertia(crank, 0, ma * ka**2, 0), weight)),
        me.RigidBody("rod", middle, rod, mb, (me.inertia(rod, 0, mb * kb**2, 0), middle)),
        me.Particle("piston", piston, mc),
    ]
    return me.KanesMethod(
        space, q[:1], u[:1], kd_eqs=[q[0].diff(t) - u[0], q[1].diff(t) + u[1]], q_dependent=q[1:],
        u_dependent=u[1:], configuration_constraints=[end.pos_from(axle).dot(space.x)],
        velocity_constraints=[end.vel(space).dot(space.x), u[2] - end.vel(space).dot(space.z)],
        bodies=bodies, forcelist=[(piston, gas * space.z), (crank, motor * space.y)],
    )  # fmt: skip


def cart_on_a_slope() -> Any:
    """Exercise 11.14: a frame on two wheels that roll over an inclined plane, and on a foot that slides with friction.

    The force on the foot is known in the book from an auxiliary speed, at which the frame would tip over.
    """
    q, u = dynamic("q1:4"), dynamic("u1:3")
    r, m, g, e, f, slope, mu = symbols("R M g e f theta mu", positive=True)
    a, b, ma, mb, ia, spin, across = symbols("a b m_A m_B I_A J K", positive=True)
    space = me.ReferenceFrame("F")
    plane = space.orientnew("P", "Axis", [-slope, space.y])
    frame = plane.orientnew("A", "Axis", [q[0], plane.x])
    frame.set_ang_vel(space, u[0] * frame.x)
    axle = me.Point("D")
    axle.set_vel(space, u[1] * frame.y)
    whole, foot = axle.locatenew("S*", e * frame.y), axle.locatenew("Q", f * frame.y - r * frame.x)
    of_frame = axle.locatenew("A*", a * frame.y)
    for point in (whole, foot, of_frame):
        point.v2pt_theory(axle, space, frame)
    bodies = [me.RigidBody("frame", of_frame, frame, ma, (me.inertia(frame, ia, 0, 0), of_frame))]
    kd = [q[0].diff(t) - u[0]]
    for i, side in enumerate((1, -1)):
        wheel = frame.orientnew(f"W{i}", "Axis", [q[1 + i], frame.z])
        hub = axle.locatenew(f"H{i}", side * b * frame.z)
        hub.v2pt_theory(axle, space, frame)
        rolling = hub.vel(space).dot(frame.y) / r
        wheel.set_ang_vel(frame, rolling * frame.z)
        kd.append(q[1 + i].diff(t) - rolling)
        bodies.append(
            me.RigidBody(f"wheel{i}", hub, wheel, mb, (me.inertia(frame, across, across, spin), hub))
        )
    sliding = foot.vel(space)
    normal = e * m * g * sp.cos(slope) / (f - mu * r * u[1] / sp.sqrt(u[1] ** 2 + f**2 * u[0] ** 2))
    loads = [(whole, -m * g * space.x), (foot, normal * (frame.x - mu * sliding.normalize()))]
    return me.KanesMethod(space, q, u, kd_eqs=kd, bodies=bodies, forcelist=loads)


EXERCISES: tuple[Callable[[], Any], ...] = (
    sphere_in_a_cavity,
    satellite_of_a_particle,
    blade_on_a_turntable,
    book_disk,
    robot_arm,
    piston_engine,
    cart_on_a_slope,
)

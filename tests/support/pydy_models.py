"""Examples of PyDy, written anew: each function builds its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp
import sympy.physics.mechanics as me

t = me.dynamicsymbols._t
symbols, dynamic = sp.symbols, me.dynamicsymbols


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


def rocket_car() -> Any:
    """A car with a steered front axle and a rocket at the rear axle, whose mass decreases (Z. Ge, Y. Cheng, 1982).

    SymPy's particle of mass m has the inertia force -(m v)'; that of the matter which stays is -m v', and what leaves
    with the speed C pushes with -m' C.
    """
    q, u = dynamic("x y a b s1:5"), dynamic("w1:3 v1:3 u1:5")
    length, ahead, half, other, near, far = symbols("L l a_1 b_1 r_1 r_2", positive=True)
    m1, m2, mw, i1, i2, spin, across = symbols("M_1 M_2 M_w I_1 I_2 J K", positive=True)
    mass, exhaust = dynamic("m C")
    heading, steer, along, aside = u[:4]
    space, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(space, 0)
    chassis = space.orientnew("A", "Axis", [q[2], space.z])
    axle = chassis.orientnew("F", "Axis", [q[3], space.z])
    chassis.set_ang_vel(space, heading * space.z)
    axle.set_ang_vel(chassis, steer * space.z)
    front = origin.locatenew("Q", q[0] * space.x + q[1] * space.y)
    front.set_vel(space, along * axle.x + aside * axle.y)
    rear = front.locatenew("P", -length * chassis.x)
    centre = rear.locatenew("C", ahead * chassis.x)
    for point in (rear, centre):
        point.v2pt_theory(front, space, chassis)
    bodies = [
        me.RigidBody("axle", front, axle, m1, (me.inertia(axle, 0, 0, i1), front)),
        me.RigidBody("chassis", centre, chassis, m2, (me.inertia(chassis, 0, 0, i2), centre)),
        me.Particle("rocket", rear, mass),
    ]
    rolling = [aside, rear.vel(space).dot(chassis.y)]
    places = ((front, axle, half, near), (front, axle, -half, near), (rear, chassis, other, far))
    for i, (middle, carrier, side, r) in enumerate((*places, (rear, chassis, -other, far))):
        wheel = carrier.orientnew(f"W{i}", "Axis", [q[4 + i], carrier.y])
        wheel.set_ang_vel(carrier, u[4 + i] * carrier.y)
        hub = middle.locatenew(f"H{i}", side * carrier.y)
        hub.v2pt_theory(middle, space, carrier)
        rolling.append(hub.vel(space).dot(carrier.x) - r * u[4 + i])
        tensor = me.inertia(wheel, across, spin, across)
        bodies.append(me.RigidBody(f"wheel{i}", hub, wheel, mw, (tensor, hub)))
    path = (q[0].diff(t) * space.x + q[1].diff(t) * space.y) - front.vel(space)
    kd = [path.dot(axle.x), path.dot(axle.y), q[2].diff(t) - heading, q[3].diff(t) - steer]
    kd += [angle.diff(t) - v for angle, v in zip(q[4:], u[4:], strict=True)]
    thrust = (rear, mass.diff(t) * (rear.vel(space) - exhaust * chassis.x))
    return me.KanesMethod(
        space, q, [steer, along], kd_eqs=kd, u_dependent=[heading, aside, *u[4:]], velocity_constraints=rolling,
        bodies=bodies, forcelist=[thrust],
    )  # fmt: skip


def snakeboard() -> Any:
    """A board on two steered axles whose four wheels roll, with a mass on each wheel and friction in the bearings."""
    q, u = dynamic("x z q3:6 s1:5"), dynamic("u1:6 w1:5")
    m, dot, ma, mb, r, wide, long, g, drag = symbols("m m_o m_a m_b r l_1 l_2 g mu", positive=True)
    spin, across, ia, ib = symbols("J K I_a I_b", positive=True)
    away = symbols("alpha1:5"), symbols("beta1:5")
    space, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(space, 0)
    board = space.orientnew("B", "Axis", [q[2], space.y])
    board.set_ang_vel(space, u[2] * space.y)
    middle = origin.locatenew("M", q[0] * space.x + q[1] * space.z)
    middle.set_vel(space, u[0] * space.x + u[1] * space.z)
    bodies = [me.RigidBody("board", middle, board, mb, (me.inertia(board, 0, ib, 0), middle))]
    loads, sideways, rolling = [], [], []
    for i, end in enumerate((-1, 1)):
        axle = board.orientnew(f"A{i}", "Axis", [q[3 + i], board.y])
        axle.set_ang_vel(board, u[3 + i] * board.y)
        mount = middle.locatenew(f"P{i}", end * long / 2 * board.z)
        mount.v2pt_theory(middle, space, board)
        sideways.append(mount.vel(space).dot(axle.x))
        bodies.append(me.RigidBody(f"axle{i}", mount, axle, ma, (me.inertia(axle, 0, ia, 0), mount)))
        for j, side in enumerate((-1, 1)):
            n = 2 * i + j
            wheel = axle.orientnew(f"W{n}", "Axis", [q[5 + n], axle.x])
            wheel.set_ang_vel(axle, u[5 + n] * axle.x)
            hub = mount.locatenew(f"H{n}", side * wide / 2 * axle.x)
            hub.v2pt_theory(mount, space, axle)
            spot = hub.locatenew(f"S{n}", r * (away[0][n] * wheel.y + away[1][n] * wheel.z))
            spot.v2pt_theory(hub, space, wheel)
            rolling.append(hub.vel(space).dot(axle.z) - r * u[5 + n])
            tensor = me.inertia(wheel, spin, across, across)
            bodies += [
                me.RigidBody(f"wheel{n}", hub, wheel, m, (tensor, hub)),
                me.Particle(f"dot{n}", spot, dot),
            ]
            loads.append((wheel, -drag * u[5 + n] * axle.x))
    loads += [(b.masscenter, -b.mass * g * space.y) for b in bodies]
    return me.KanesMethod(
        space, q, u[2:5], kd_eqs=[x.diff(t) - v for x, v in zip(q, u, strict=True)],
        u_dependent=[*u[:2], *u[5:]], velocity_constraints=[*sideways, *rolling], bodies=bodies, forcelist=loads,
    )  # fmt: skip


def bicycle_with_slipping_tires() -> Any:
    """A body that leans over a steered track, held by lateral forces that grow with the slip angles of two tires."""
    q, u, steer = dynamic("x y yaw roll"), dynamic("u1:5"), dynamic("delta")
    h, a, b, g, m, i1, i2, i3, rear, front = symbols("h a b g m I1 I2 I3 C_r C_f", positive=True)
    space, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(space, 0)
    track = space.orientnew("A", "Axis", [q[2], space.z])
    body = track.orientnew("B", "Axis", [q[3], track.x])
    wheel = track.orientnew("F", "Axis", [steer, track.z])
    track.set_ang_vel(space, u[2] * space.z)
    body.set_ang_vel(track, u[3] * track.x)
    behind = origin.locatenew("P", q[0] * space.x + q[1] * space.y)
    behind.set_vel(space, u[0] * space.x + u[1] * space.y)
    below, before = behind.locatenew("Q", a * track.x), behind.locatenew("R", b * track.x)
    for point in (below, before):
        point.v2pt_theory(behind, space, track)
    centre = below.locatenew("S", h * body.z)
    centre.v2pt_theory(below, space, body)
    loads = [(centre, -m * g * space.z)]
    for point, frame, stiffness in ((behind, track, rear), (before, wheel, front)):
        slip = sp.atan(point.vel(space).dot(frame.y) / point.vel(space).dot(frame.x))
        loads.append((point, -stiffness * slip * frame.y))
    kd = [x.diff(t) - v for x, v in zip(q, u, strict=True)]
    shell = me.RigidBody("bicycle", centre, body, m, (me.inertia(body, i1, i2, i3), centre))
    return me.KanesMethod(space, q, u, kd_eqs=kd, bodies=[shell], forcelist=loads)


def chain_with_forces() -> Any:
    """Five particles on rods, each pushed in the axes of its rod, on a pivot that moves; auxiliary speeds."""
    n = 5
    q, u = dynamic(f"q1:{n + 1}"), dynamic(f"u1:{n + 1}")
    pushes = [dynamic(f"F{i}x F{i}y") for i in range(1, n + 1)]
    ux, uy, fx, fy = dynamic("u_x u_y f_x f_y")
    g, ell, m, drag, size = symbols("g l m mu k", positive=True)
    space, point = me.ReferenceFrame("N"), me.Point("P0")
    round_ = sp.pi * ell / 2
    drive = round_ * (sp.cos(sp.pi * t / 2) * space.x - sp.sin(sp.pi * t / 2) * space.y)
    point.set_vel(space, drive + ux * space.x + uy * space.y)
    bodies, loads = (
        [me.Particle("pivot", point, m)],
        [(point, -m * g * space.y + fx * space.x + fy * space.y)],
    )
    for i, (angle, v, push) in enumerate(zip(q, u, pushes, strict=True)):
        rod = space.orientnew(f"A{i}", "Axis", [angle, space.z])
        rod.set_ang_vel(space, v * space.z)
        end = point.locatenew(f"P{i + 1}", ell * (1 + sp.Rational(i, n)) * rod.y)
        end.v2pt_theory(point, space, rod)
        bodies.append(me.Particle(f"bob{i}", end, m))
        loads += [
            (end, -m * g * space.y + size * (push[0] * rod.x + push[1] * rod.y)),
            (rod, -drag * v * space.z),
        ]
        point = end
    kd = [x.diff(t) - v for x, v in zip(q, u, strict=True)]
    return me.KanesMethod(space, q, u, kd_eqs=kd, u_auxiliary=[ux, uy], bodies=bodies, forcelist=loads)


def sliding_ladder() -> Any:
    """A ladder between a smooth wall and a smooth floor."""
    a, w, m, ell, g, inertia = *dynamic("a w"), *symbols("m l g I", positive=True)
    space, corner = me.ReferenceFrame("N"), me.Point("O")
    corner.set_vel(space, 0)
    lean = space.orientnew("L", "Axis", [a, space.z])
    lean.set_ang_vel(space, w * space.z)
    centre = corner.locatenew("C", ell / 2 * (sp.sin(a) * space.y - sp.cos(a) * space.x))
    centre.set_vel(space, ell / 2 * w * (sp.sin(a) * space.x + sp.cos(a) * space.y))
    ladder = me.RigidBody("ladder", centre, lean, m, (me.inertia(lean, 0, 0, inertia), centre))
    loads = [(centre, -m * g * space.y)]
    return me.KanesMethod(space, [a], [w], kd_eqs=[a.diff(t) - w], bodies=[ladder], forcelist=loads)


PYDY: tuple[Callable[[], Any], ...] = (
    conical_pendulum,
    astrobee,
    rattleback,
    colliding_pendulum,
    explorer,
    disk_on_a_wavy_street,
    differential_drive,
    springy_pendulum,
    rocket_car,
    snakeboard,
    bicycle_with_slipping_tires,
    chain_with_forces,
    sliding_ladder,
)

"""The bicycle of Carvallo and Whipple: a frame with a rigid rider, a fork and two wheels that roll without slipping.

x points ahead, y to the left, z upward. The rear wheel touches the ground at (x, y) and has turned by `rear`; the plane
of the frame has the direction psi, leans to the right by phi and is pitched by theta about the rear axle. The
fork turns to the right by delta about the steering axis, which is inclined backward by lam and meets the ground at
the distance w + c from the rear contact of the upright bicycle. With the front axle e, |e| = 1, and the vertical k, the
front wheel's lowest point is at rF (e (e.k) - k) / sqrt(1 - (e.k)^2) from its centre. Its height is zero, a holonomic
equation that determines theta; both wheels roll, which is four more equations for eight velocities.

Conserved: energy. Rolling straight upright is asymptotically stable for speeds from 4.292 to 6.024 m/s.

Source: J. P. Meijaard, J. M. Papadopoulos, A. Ruina and A. L. Schwab, Linearized dynamics equations for the balance and
steer of a bicycle: a benchmark and review (2007); its parameters, with heights in place of its downward z, so that
products of inertia change sign.
"""

from __future__ import annotations

from math import pi
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {
    "w": 1.02,
    "c": 0.08,
    "lam": pi / 10,
    "g": 9.81,
    "rR": 0.3,
    "mR": 2.0,
    "IRxx": 0.0603,
    "IRyy": 0.12,
    "xB": 0.3,
    "zB": 0.9,
    "mB": 85.0,
    "IBxx": 9.2,
    "IBxz": -2.4,
    "IByy": 11.0,
    "IBzz": 2.8,
    "xH": 0.9,
    "zH": 0.7,
    "mH": 4.0,
    "IHxx": 0.05892,
    "IHxz": 0.00756,
    "IHyy": 0.06,
    "IHzz": 0.00708,
    "rF": 0.35,
    "mF": 3.0,
    "IFxx": 0.1405,
    "IFyy": 0.28,
}
SPEED = 4.6
INITIAL = {
    **dict.fromkeys(("x", "y", "psi", "phi", "theta", "rear", "delta", "front"), 0.0),
    "x_dot": SPEED,
    "y_dot": 0.0,
    "psi_dot": 0.0,
    "phi_dot": 0.5,
    "theta_dot": 0.0,
    "rear_dot": SPEED / PARAMETERS["rR"],
    "delta_dot": 0.0,
    "front_dot": SPEED / PARAMETERS["rF"],
}
"""Upright and straight ahead, with a rate of lean of 0.5 rad/s."""


def _bodies(p: Any, ground: Any) -> tuple[tuple[Any, ...], Any]:
    """Frame, rear wheel, fork and front wheel, and the front wheel's lowest point in space."""
    import sympy as sp

    def tensor(part: str) -> Any:
        xx, xz, yy, zz = (p(f"I{part}{axes}") for axes in ("xx", "xz", "yy", "zz"))
        return sp.Matrix([[xx, 0, xz], [0, yy, 0], [xz, 0, zz]])

    def disk(part: str) -> Any:
        return {"mass": p(f"m{part}"), "inertia": (p(f"I{part}xx"), p(f"I{part}yy"), p(f"I{part}xx"))}

    x, y, psi, phi, theta = ground
    leaning = cg.turn(3, psi) * cg.turn(1, phi)
    attitude = leaning * cg.turn(2, theta)
    hub = sp.Matrix([x, y, 0]) + leaning * sp.Matrix([0, 0, p("rR")])
    rider = sp.Matrix([p("xB"), 0, p("zB") - p("rR")])
    frame = cg.Body(
        "frame", mass=p("mB"), inertia=tensor("B"), rotation=attitude, center=hub + attitude * rider
    )
    rear = cg.joint.revolute(frame, "y", at=-rider, name="rear_wheel", joint="rear", **disk("R"))
    # The fork's frame has its origin where the steering axis of the upright bicycle meets the ground.
    axis = (sp.sin(p("lam")), 0, -sp.cos(p("lam")))
    head = sp.Matrix([p("w") + p("c") - p("xB"), 0, -p("zB")])
    forward = {"mass": p("mH"), "inertia": tensor("H"), "center": (p("xH") - p("w") - p("c"), 0, p("zH"))}
    fork = cg.joint.revolute(frame, axis, at=head, name="fork", joint="delta", **forward)
    at = sp.Matrix([-p("c"), 0, p("rF")])
    front = cg.joint.revolute(fork, "y", at=at, name="front_wheel", joint="front", **disk("F"))
    steered = attitude * fork.rotation
    axle, up = steered[:, 1], sp.Matrix([0, 0, 1])
    lowest = p("rF") * (axle * axle[2] - up) / sp.sqrt(1 - axle[2] ** 2)
    touching = hub + attitude * (rider + head) + steered * at + lowest
    return (frame, rear, fork, front), touching


def system() -> cg.System:
    """The declaration; lengths in metres, moments about mass centres in kg m^2, angles in rad."""
    import sympy as sp

    signed = ("IBxz", "IHxz")
    made = {s.name: s for s in cg.parameters([n for n in PARAMETERS if n not in signed], positive=True)}
    made |= {s.name: s for s in cg.parameters(list(signed))}
    p: Any = made.__getitem__

    x, y, psi, phi, theta = ground = cg.coordinates("x y psi phi theta")
    bodies, touching = _bodies(p, ground)
    _, rear, fork, front = bodies
    level = [(sp.cos(psi), sp.sin(psi), 0), (-sp.sin(psi), sp.cos(psi), 0)]
    angles = [body.coordinates[0] for body in (rear, fork, front)]
    symbols = [s for q in (*ground, *angles) for s in (q, cg.rate(q))]
    lengths = [p(name) for name in ("w", "c", "rR", "rF", "xB", "zB", "xH", "zH")]
    return cg.System(
        "bicycle",
        coordinates=ground,
        bodies=bodies,
        interactions=[cg.Weight(p("g"))],
        holonomic=[touching[2]],
        constraints=cg.rolling(rear, (x, y, 0)) + cg.rolling(front, touching, directions=level),
        units={
            **dict.fromkeys((x, y, *lengths), "m"),
            **dict.fromkeys((psi, phi, theta, *angles, p("lam")), "rad"),
            **{p(f"m{part}"): "kg" for part in "RBHF"},
            **{s: "kg m^2" for name, s in made.items() if name.startswith("I")},
            p("g"): "m/s^2",
        },
        descriptions={
            x: "rear contact",
            y: "rear contact",
            psi: "direction of the frame",
            phi: "lean to the right",
            theta: "pitch about the rear axle",
            **dict(zip(angles, ("turn of the rear wheel", "steer", "turn of the front wheel"), strict=True)),
            p("w"): "wheel base",
            p("c"): "trail",
            p("lam"): "inclination of the steering axis",
            p("g"): "gravity",
        },
        example=by_symbol((*symbols, *made.values()), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Bicycle of Carvallo and Whipple, rolling without slip",
    source="Meijaard, Papadopoulos, Ruina and Schwab (2007)",
    t_span=(0.0, 5.0),
    forms=("maggi", "multipliers", "recursive"),
    large=True,
    options={"maggi": {"independent": ("phi_dot", "rear_dot", "delta_dot")}},
)

"""Andrews' squeezer: seven rigid bodies in a plane, hinged without friction, in three closed loops, with a motor.

A crank (1) turns about the origin O by beta; a rod (2) is hinged to its end and turned back by theta, so that its far
end is the common point P of all loops,
    P = rr (cos beta, sin beta) - d (cos(beta + theta), sin(beta + theta)).
A triangle (3) turns about B by gamma, the pairs of bodies (4, 5) and (6, 7) connect P with A:
    P = B + ss (sin gamma, -cos gamma),
    P = A + zt (cos delta, sin delta) + e (sin(phi + delta), -cos(phi + delta)),
    P = A + u (sin epsilon, -cos epsilon) + zf (cos(Omega + epsilon), sin(Omega + epsilon)):
six equations for seven angles. A spring of stiffness c0 and length l0 pulls the triangle's corner
D = B + (sc sin gamma + sd cos gamma, sd sin gamma - sc cos gamma) towards C, and the couple `mom` drives the crank.
The mechanism lies still at the start, with accelerations of 1e4 rad/s^2; in 0.03 s the crank turns two and a half
times.

Conserved: energy less the work mom beta of the motor.

Source: G. C. Andrews and M. K. Ormrod (1986); W. Schiehlen (ed.), Multibody systems handbook (1990); E. Hairer and
G. Wanner, Solving ordinary differential equations II, section VII.7; test set for initial value problems of Bari.
"""

from __future__ import annotations

from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
MOMENTS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
LENGTHS = {
    "rr": 0.007,
    "ra": 0.00092,
    "d": 0.028,
    "da": 0.0115,
    "e": 0.02,
    "ea": 0.01421,
    "ss": 0.035,
    "sa": 0.01874,
    "sb": 0.01043,
    "sc": 0.018,
    "sd": 0.02,
    "ta": 0.02308,
    "tb": 0.00916,
    "zt": 0.04,
    "zf": 0.02,
    "fa": 0.01421,
    "u": 0.04,
    "ua": 0.01228,
    "ub": 0.00449,
    "l0": 0.07785,
}
POINTS = {"xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273, "xc": 0.014, "yc": 0.072}
PARAMETERS = {
    **{f"m{i}": m for i, m in enumerate(MASSES, 1)},
    **{f"I{i}": moment for i, moment in enumerate(MOMENTS, 1)},
    **LENGTHS,
    **POINTS,
    "c0": 4530.0,
    "mom": 0.033,
}
ANGLES = ("beta", "theta", "gamma", "phi", "delta", "Omega", "epsilon")
INITIAL = {
    "beta": -0.0617138900142764496358948458001,
    "theta": 0.0,
    "gamma": 0.455279819163070380255912382449,
    "phi": 0.222668390165885884674473185609,
    "delta": 0.487364979543842550225598953530,
    "Omega": -0.222668390165885884674473185609,
    "epsilon": 1.23054744454982119249735015568,
    **{f"{angle}_dot": 0.0 for angle in ANGLES},
}


def _bodies(p: Any) -> tuple[Any, ...]:
    """The bodies 1 to 7 in their order, with the parameters by name."""

    def hinged(parent: Any, angle: str, number: int, place: tuple[Any, Any], center: tuple[Any, Any]) -> Any:
        """A body on a hinge; only its moment about the hinge's axis matters."""
        moment = p(f"I{number}")
        return cg.joint.revolute(
            parent,
            "z",
            name=f"body{number}",
            joint=angle,
            at=(*place, 0),
            center=(*center, 0),
            mass=p(f"m{number}"),
            inertia=(moment / 2, moment / 2, moment),
        )

    fixed_a, fixed_b = ((p(f"x{n}"), p(f"y{n}")) for n in "ab")
    crank = hinged(None, "beta", 1, (0, 0), (p("ra"), 0))
    rod = hinged(crank, "theta", 2, (p("rr"), 0), (-p("da"), 0))
    triangle = hinged(None, "gamma", 3, fixed_b, (p("sa"), p("sb")))
    fork = hinged(None, "delta", 5, fixed_a, (p("ta"), -p("tb")))
    foot = hinged(fork, "phi", 4, (p("zt"), 0), (0, p("ea") - p("e")))
    arm = hinged(None, "epsilon", 7, fixed_a, (p("ua"), -p("ub")))
    hand = hinged(arm, "Omega", 6, (0, -p("u")), (p("zf") - p("fa"), 0))
    return crank, rod, triangle, foot, fork, hand, arm


def _loops(p: Any, angles: Any) -> tuple[Any, list[Any]]:
    """The point P, and its distances from the ends of the three pairs of bodies, each zero."""
    import sympy as sp

    beta, theta, gamma, phi, delta, omega, epsilon = angles
    fixed_a, fixed_b = (sp.Matrix([p(f"x{n}"), p(f"y{n}")]) for n in "ab")

    def turned(x: Any, y: Any, angle: Any) -> Any:
        c, s = sp.cos(angle), sp.sin(angle)
        return sp.Matrix([x * c - y * s, x * s + y * c])

    tip = turned(p("rr"), 0, beta) - turned(p("d"), 0, beta + theta)
    ends = (
        fixed_b + turned(0, -p("ss"), gamma),
        fixed_a + turned(p("zt"), 0, delta) + turned(0, -p("e"), phi + delta),
        fixed_a + turned(0, -p("u"), epsilon) + turned(p("zf"), 0, omega + epsilon),
    )
    return tip, [row for end in ends for row in tip - end]


def system() -> cg.System:
    """The declaration; masses in kg, lengths in metres, moments about the mass centres in kg m^2."""
    made = {s.name: s for s in cg.parameters([n for n in PARAMETERS if n not in POINTS], positive=True)}
    made |= {s.name: s for s in cg.parameters(list(POINTS))}
    p: Any = made.__getitem__

    bodies = _bodies(p)
    by_name = {q.name: q for body in bodies for q in body.coordinates}
    beta, theta, gamma, phi, delta, omega, epsilon = angles = [by_name[name] for name in ANGLES]
    tip, closed = _loops(p, angles)
    corner = (p("sd") - p("sa"), -p("sc") - p("sb"), 0)  # of the triangle, from its mass centre
    spring = cg.Spring((bodies[2], corner), (p("xc"), p("yc"), 0), stiffness=p("c0"), rest_length=p("l0"))
    lengths = [p(name) for name in (*LENGTHS, *POINTS)]
    return cg.System(
        "squeezer",
        bodies=bodies,
        interactions=[spring],
        forces={cg.rate(beta): p("mom")},
        holonomic=closed,
        outputs={"tip_x": tip[0], "tip_y": tip[1]},
        units={
            **dict.fromkeys(angles, "rad"),
            **dict.fromkeys(lengths, "m"),
            **{p(f"m{i}"): "kg" for i in range(1, 8)},
            **{p(f"I{i}"): "kg m^2" for i in range(1, 8)},
            p("c0"): "N/m",
            p("mom"): "N m",
        },
        descriptions={
            beta: "angle of the crank",
            theta: "angle of the rod from the crank",
            gamma: "angle of the triangle",
            phi: "angle of body 4 from body 5",
            delta: "angle of body 5",
            omega: "angle of body 6 from body 7",
            epsilon: "angle of body 7",
            p("c0"): "stiffness of the spring",
            p("l0"): "length of the spring without force",
            p("mom"): "couple of the motor",
        },
        example=by_symbol((*angles, *map(cg.rate, angles), *made.values()), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Andrews' squeezer: seven bodies in three closed loops",
    source="Andrews and Ormrod (1986); Hairer and Wanner, section VII.7",
    t_span=(0.0, 0.03),
    forms=("multipliers", "maggi", "recursive"),
    large=True,
)

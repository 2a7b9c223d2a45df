"""A sounding rocket: position and attitude, with thrust, air, drag and wind from tables, a rail and a parachute.

The mass centre is at x, y, z (east, north, up) with the velocity vx, vy, vz in space; the attitude is a quaternion,
the nose along the third body axis; w1, w2, w3 are body components of the angular velocity. The propellant burns about
the mass centre, fuel' = -power thrust(t) / exhaust, with
    m = dry + fuel,   T = m v^2 / 2 + ((I1 + k1 fuel) (w1^2 + w2^2) + (I3 + k3 fuel) w3^2) / 2.
With the velocity V through the air, drag is rho V^2 area cd(Mach) / 2 against the nose; nose and fins, at l from the
mass centre, add normal forces rho V^2 area slope sin(alpha) / 2, with V and alpha of their place. The gas, in steady
flow to the nozzle at l, adds the force 2 m' w x l and the moment m' (l^2 + r^2 / 4) w (jet damping). On the rail, in
the direction of the nose from the origin to ``rail_length``, only what acts along it counts. At the top a parachute
opens, whose drag on the area ``chute`` pulls at the nose. The wind is a table by height, and every run may have
values of its own; with ``gusts`` the inputs gust_east and gust_north are added to it.

Conserved: |q|^2 = 1.

Source: own figures; J. S. Barrowman, The practical calculation of the aerodynamic characteristics of slender finned
vehicles (1967); U.S. Standard Atmosphere (1976).
"""

from __future__ import annotations

from math import cos, radians, sin
from typing import TYPE_CHECKING

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import body_units, quaternion_rates, rotation

from .entry import Example, by_symbol

if TYPE_CHECKING:
    import sympy as sp

HEIGHTS = (0.0, 200.0, 1000.0, 4000.0)  # of the wind, in metres
_AIR, _MACH = (0, 1000, 2000, 3000, 4000, 6000, 8000, 10000), (0, 0.3, 0.6, 0.8, 0.9, 1.05, 1.2, 2)
TABLES = {
    "density": (_AIR, (1.225, 1.1116, 1.0065, 0.9091, 0.8191, 0.6597, 0.5252, 0.4127), "cubic"),
    "sound": (_AIR, (340.29, 336.43, 332.53, 328.58, 324.59, 316.43, 308.06, 299.46), "cubic"),
    "thrust": ((0, 0.2, 1.5, 2.8, 3.2), (1800, 2300, 2000, 1600, 0), "linear"),
    "cd": (_MACH, (0.46, 0.44, 0.43, 0.45, 0.52, 0.68, 0.66, 0.5), "pchip"),
    "lift": (_MACH, (9.6, 9.8, 10.5, 11.4, 12, 12.4, 11.6, 8.4), "pchip"),
}
"""Knots, values and kind: by height (density, sound), time (thrust), Mach number (drag, normal force of the fins)."""
PARAMETERS = {
    "dry": 17.0,
    "I1": 6.0,
    "I3": 0.04,
    "exhaust": 1955.0,
    "power": 1.0,
    "k1": 0.03,
    "k3": 0.0012,
    "l_nozzle": -1.1,
    "r_nozzle": 0.03,
    "area": 0.0123,
    "l_nose": 0.9,
    "l_fins": -0.8,
    "chute": 1.2,
    "rail_length": 5.0,
    "g": 9.81,
    **dict(zip((f"wind_east_at_{i}" for i in range(4)), (2.0, 4.0, 6.0, 10.0))),
    **dict(zip((f"wind_north_at_{i}" for i in range(4)), (0.0, 0.0, 1.0, 2.0))),
}
UNITS = "kg,kg m^2,kg m^2,m/s,1,m^2,m^2,m,m,m^2,m,m,m^2,m,m/s^2".split(",")
"""Of the parameters but the wind."""
TILT = radians(5.0) / 2
"""Half the angle between the rail and the vertical, towards the east."""
INITIAL = {
    **dict.fromkeys(("x", "y", "z"), 0.0),
    **dict(zip(("q0", "q1", "q2", "q3"), (cos(TILT), 0.0, sin(TILT), 0.0))),
    "fuel": 3.0,
    **dict.fromkeys(("vx", "vy", "vz", "w1", "w2", "w3"), 0.0),
}
SMALL = 1e-12
"""Added to squared speeds, m^2/s^2, so that directions have derivatives at rest."""


def _length(vector: sp.Matrix) -> sp.Expr:
    import sympy as sp

    return sp.sqrt(vector.dot(vector) + SMALL)


def _tables() -> list[cg.Interpolant]:
    """Those of `TABLES`, and the winds to the east and to the north."""
    known = [
        cg.Interpolant(name, {"at": at}, values, kind=kind) for name, (at, values, kind) in TABLES.items()
    ]
    winds = [cg.Interpolant(f"wind_{to}", {"h": HEIGHTS}, kind="linear") for to in ("east", "north")]
    return known + winds


def system(gusts: bool = False) -> cg.System:
    """The declaration; lengths in metres, masses in kg, the events are ``rail``, ``apogee`` and ``ground``."""
    import sympy as sp

    place, v = cg.coordinates("x y z"), cg.velocities("vx vy vz")
    q, w, fuel = cg.coordinates("q0 q1 q2 q3"), cg.velocities("w1 w2 w3"), cg.coordinates("fuel")
    own = [name for name in PARAMETERS if not name.startswith("wind")]
    numbers = cg.parameters(" ".join(own))
    dry, I1, I3, exhaust, power, k1, k3, nozzle, radius, area, nose, fins, chute, rail, g = numbers
    density, sound, thrust, cd, lift, *winds = _tables()
    turn, speeds, rates = sp.Matrix(rotation(q)), sp.Matrix(v), sp.Matrix(w)
    gust = cg.inputs("gust_east gust_north") if gusts else (0, 0)
    flow, mass = power * thrust(cg.time) / exhaust, dry + fuel

    def through_air(at: sp.Expr) -> sp.Matrix:
        """The velocity through the air of a point of the axis, in body axes."""
        height = place[2] + at * turn[2, 2]
        wind = sp.Matrix([table(height) + more for table, more in zip(winds, gust)] + [0])
        return turn.T * (speeds - wind) + rates.cross(sp.Matrix([0, 0, at]))

    air, half = through_air(sp.Integer(0)), density(place[2]) / 2
    number = _length(air) / sound(place[2])
    drag = half * area * _length(air) ** 2 * cd(number) * air[2] / _length(air[2:, :])
    force = sp.Matrix([0, 0, power * thrust(cg.time) - drag]) - 2 * flow * rates.cross(
        sp.Matrix([0, 0, nozzle])
    )
    moment = -flow * sp.diag(*2 * [nozzle**2 + radius**2 / 4], radius**2 / 2) * rates
    pushes = [(nose, -half * chute * sp.Piecewise((1, v[2] < 0), (0, True)) * _length(air) * air)]
    for at, slope in ((nose, 2), (fins, lift(number))):
        there = through_air(at)
        pushes.append((at, -half * area * slope * _length(there) * sp.diag(1, 1, 0) * there))
    for at, push in pushes:
        force += push
        moment += sp.Matrix([0, 0, at]).cross(push)

    squared = sum(s**2 for s in place)  # of the distance from the origin
    guided = sp.Piecewise((1, sp.And(squared < rail**2, v[2] >= 0)), (0, True))
    force += turn.T * sp.Matrix([0, 0, -mass * g])
    force = turn * sp.Matrix([(1 - guided) * force[0], (1 - guided) * force[1], force[2]])
    lost = -flow * speeds  # what the momentum m v loses with the gas, at the velocity of the rocket
    units, words = body_units(q, w)
    units |= {**dict.fromkeys(place, "m"), **dict.fromkeys(v, "m/s"), fuel: "kg", **dict(zip(numbers, UNITS))}
    return cg.System(
        "rocket",
        kinematics={**dict(zip(place, v)), **dict(zip(q, quaternion_rates(q, w))), fuel: -flow},
        kinetic=mass * speeds.dot(speeds) / 2
        + ((I1 + k1 * fuel) * (w[0] ** 2 + w[1] ** 2) + (I3 + k3 * fuel) * w[2] ** 2) / 2,
        forces={**dict(zip(v, force + lost)), **dict(zip(w, (1 - guided) * moment))},
        events=[
            cg.Event(squared - rail**2, direction=1, name="rail"),
            cg.Event(v[2], direction=-1, name="apogee"),
            cg.Event(place[2], direction=-1, terminal=True, name="ground"),
        ],
        outputs={"mach": number, "angle_of_attack": sp.atan2(sp.sqrt(air[0] ** 2 + air[1] ** 2), air[2])},
        units=units,
        descriptions={**words, fuel: "propellant", power: "factor of the thrust"},
        example=by_symbol((*place, *q, fuel, *v, *w, *numbers), PARAMETERS | INITIAL),
    )


def example(gusts: bool = False) -> Example:
    """The catalogue entry."""
    return Example.of(
        __name__,
        description="Sounding rocket with tables, rail and parachute" + ", in gusts" * gusts,
        source="own figures; Barrowman (1967); U.S. Standard Atmosphere (1976)",
        t_span=(0.0, 300.0),
        forms=("poincare", "chetaev", "nonholonomic"),
        build=lambda: system(gusts),
        large=True,
    )

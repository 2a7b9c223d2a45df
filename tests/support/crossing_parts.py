"""A system put together from independent parts, a coordinate or two each, whose motions are known in closed form.

A mass on a spring, masses driven by inputs, a bouncing ball (an event), a sliding block (a contact), a mass on a circle
(a closed loop), a skate (a nonholonomic constraint), a free mass (a cyclic coordinate), masses on springs whose
potentials are tables, with values compiled in and given at run time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from scipy.interpolate import PPoly

import chaplygin as cg

END = 1.0
NUMBERS = {"k": 4.0, "hold": 0.0, "g": 9.81, "e": 0.8, "mu": 0.2, "slope": 5.0}
ANGLE, TURNING = 0.5, 1.5
"""Of the mass on the circle: until END it keeps away from the x-axis, where cx_dot does not determine cy_dot."""
SPIN, SPEED, ACTION = 1.0, 1.0, 0.5

HELD = ([0.0, 0.25], [1.0, -1.0])
RAMP = ([0.0, 2.0], [0.0, 2.0])
CURVE = ([-1.0, 0.0, 1.0, 2.0], [-1.0, 0.0, 1.0, 8.0], "cubic")
"""Samples of t^3."""
SCALES = (1.0, 0.5, -1.0, 0.25)
"""Of each of several runs: how far the spring is stretched, and its row of samples."""
ROWS = (RAMP[0], [[0.0, 2.0 * scale] for scale in SCALES], "linear")
NOISE, SEED = cg.noise.ou(tau=0.5, sigma=1.0, dt=0.1), 7
LIFT = {"R": 0.0, "R_dot": 0.0, "R_ddot": 1.2}
_KNOTS = [-0.75, -0.125, 0.0, 0.25, 0.5, 1.0]
BENT = cg.Interpolant("bent", PPoly([[1 for k in _KNOTS[1:]], *([f(k) for k in _KNOTS[:-1]] for f in (
    lambda k: 3 * k + 2, lambda k: 3 * k**2 + 4 * k, lambda k: k**3 + 2 * k**2))], _KNOTS), outside="hold")  # fmt: skip
"""2 l^2 + l^3 around each knot; its edges are kinks."""
GIVEN = cg.Interpolant("given", {"m": _KNOTS}, kind="linear")
"""2 + m, by values at run time; its knots are kinks."""
NUMBERS |= {str(s): 2 + k for s, k in zip(GIVEN.values, _KNOTS, strict=True)}


@dataclass(frozen=True)
class Part:
    """Coordinates of unit mass: where they start, and where they are at t, by closed forms."""

    start: Mapping[str, float]
    motion: Callable[[float], Mapping[str, float]]


def _ball(t: float) -> dict[str, float]:
    g, e = NUMBERS["g"], NUMBERS["e"]
    first = math.sqrt(2 / g)
    height, speed, rest = 1.0, 0.0, t
    if t >= first:
        height, speed, rest = 0.0, e * g * first, t - first
        while rest > 2 * speed / g:
            rest, speed = rest - 2 * speed / g, e * speed
    return {"b": height + speed * rest - g * rest**2 / 2}


def _block(t: float) -> dict[str, float]:
    slowing = NUMBERS["mu"] * NUMBERS["g"]
    t = min(t, 1 / slowing)
    return {"s": t - slowing * t**2 / 2}


def _circle(t: float) -> dict[str, float]:
    angle = ANGLE + TURNING * t
    return {"cx": math.cos(angle), "cy": math.sin(angle)}


def _skate(t: float) -> dict[str, float]:
    w, g = SPIN, NUMBERS["slope"]
    return {"phi": w * t, "x": g * math.sin(w * t) ** 2 / (2 * w**2),
            "y": g * (w * t - math.sin(w * t) * math.cos(w * t)) / (2 * w**2)}  # fmt: skip


def _spring(t: float) -> dict[str, float]:
    return {"q": math.cos(2 * t)}


HOME = _circle(0.0)

PARTS = {
    "spring": Part({"q": 1.0, "q_dot": 0.0}, _spring),
    "drive": Part({"d": 0.0, "d_dot": 0.0}, lambda t: {}),
    "rated": Part({"r": 0.0, "r_dot": 0.0}, lambda t: {}),
    "action": Part({"a": 0.0, "a_dot": 0.0}, lambda t: {"a": ACTION * t**2 / 2}),
    "ball": Part({"b": 1.0, "b_dot": 0.0}, _ball),
    "block": Part({"s": 0.0, "s_dot": 1.0}, _block),
    "circle": Part({**HOME, "cx_dot": -TURNING * HOME["cy"], "cy_dot": TURNING * HOME["cx"]}, _circle),
    "skate": Part({"phi": 0.0, "x": 0.0, "y": 0.0, "omega": SPIN, "v": 0.0, "w": 0.0}, _skate),
    "free": Part({"c": 0.0, "c_dot": SPEED}, lambda t: {"c": t}),
    "tabled": Part({"l": 0.0, "l_dot": 1.0}, lambda t: {"l": math.sin(2 * t) / 2}),
    "given": Part({"m": 0.0, "m_dot": 1.0}, lambda t: {"m": math.sin(2 * t) / 2}),
}
"""By name, in the order in which they are declared."""


def declared(parts: frozenset[str], style: str = "masses") -> cg.System:
    """The system of these parts, with everything tied to a rest by `hold`.

    The style of "bodies": each mass is a body on a slide; "kinematics": its velocity is a coordinate of its own, and
    the system is declared by kinematics alone.
    """
    k, hold, g, e, mu, slope = cg.parameters("k hold g e mu slope")
    kinematics: dict[Any, Any] = {}
    links: list[Any] = []
    terms: dict[str, Any] = {"kinetic": sp.Integer(0), "potential": sp.Integer(0)}
    more: dict[str, Any] = {}

    def rate(q: Any) -> Any:
        return cg.coordinates(f"{q}_dot") if style == "kinematics" else cg.rate(q)

    def mass(name: str, home: float = 0.0) -> Any:
        q = cg.coordinates(name)
        if style == "bodies":
            links.append(cg.joint.prismatic(None, "x", name=name, mass=1))
        else:
            kinematics[q] = rate(q)
            terms["kinetic"] += rate(q) ** 2 / 2
        terms["potential"] += hold * (q - home) ** 2 / 2
        return q

    q = mass("q")
    terms["potential"] += k * q**2 / 2
    pushed = [
        (name, force) for part, name, force in (("drive", "d", "F"), ("action", "a", "A")) if part in parts
    ]
    forces = {rate(mass(name)): cg.inputs(force) for name, force in pushed}
    if "rated" in parts:  # as a mass on what an input moves: r'' = R''
        forces[rate(mass("r"))] = cg.rate(cg.rate(cg.inputs("R")))
    if forces:
        more["forces"] = forces
    if "tabled" in parts:
        stretch = mass("l")
        terms["potential"] += BENT(stretch) - stretch**3
    if "given" in parts:
        stretch = mass("m")
        terms["potential"] += stretch**2 * (GIVEN(stretch) - stretch)
    if "ball" in parts:
        b = mass("b", 1.0)
        terms["potential"] += g * b
        floor = cg.Event(b, direction=-1, reset={rate(b): -e * rate(b)}, name="floor")
        shelf = cg.Event(b - 0.5, direction=-1, reset={rate(b): -rate(b)}, name="shelf", when=rate(b) > 0)
        more["events"] = [floor, shelf]  # it falls through the second one
    if "block" in parts:
        more["contacts"] = [cg.Coulomb("table", slip=rate(mass("s")), normal=g, mu=mu)]
    if "circle" in parts:
        more["holonomic"] = [sum(mass(name, home) ** 2 for name, home in HOME.items()) - 1]
    if "free" in parts:
        c = mass("c")
        terms["potential"] -= hold * c**2 / 2  # it stays cyclic
    if "skate" in parts:
        phi, x, y = cg.coordinates("phi x y")
        omega, v, w = cg.velocities("omega v w")
        kinematics |= {phi: omega, x: v * sp.cos(phi) - w * sp.sin(phi), y: v * sp.sin(phi) + w * sp.cos(phi)}
        terms["kinetic"] += (omega**2 + v**2 + w**2) / 2
        terms["potential"] += hold * (phi**2 + x**2 + y**2) / 2 - slope * x
        more["constraints"] = [w]
    if style == "bodies":
        del terms["kinetic"]
        more["bodies"] = links
    else:
        more["kinematics"] = kinematics
    if style == "kinematics":
        forces, potential = more.pop("forces", {}), terms.pop("potential")
        for q, v in [*kinematics.items()]:
            kinematics[v] = forces.get(v, 0) - sp.diff(potential, q)
        del terms["kinetic"]
    return cg.System("_".join(("parts", *sorted(parts))), **terms, **more)


def moved(motion: Any, t: float) -> float:
    """Where a mass at rest is brought that has the acceleration of an input."""
    return t**3 if motion is CURVE else LIFT["R_ddot"] * t**2 / 2


def driven(force: Any, t: float, run: int = 0) -> float:
    """Where an input brings a unit mass from rest, in one of several runs: the second integral of F."""
    if force is ROWS:
        return SCALES[run] * t**3 / 6
    if force is NOISE:  # of lines between the times of its grid
        times, values, _ = force.path((0.0, t), seed=SEED, trajectory=run)
        h = np.diff(times)
        v = np.concatenate([[0.0], np.cumsum(h * (values[1:] + values[:-1]) / 2)])
        return float((h * v[:-1] + h**2 * (2 * values[:-1] + values[1:]) / 6).sum())
    if force is None:
        return 0.6 * t**2 / 2
    if force is HELD:
        return t**2 / 2 if t <= 0.25 else 0.25**2 / 2 + 0.25 * (t - 0.25) - (t - 0.25) ** 2 / 2
    return t**3 / 6  # F = t, as samples or as a function

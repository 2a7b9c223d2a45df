"""Systems whose equilibria, steady motions and linear equations are known in closed form."""

from __future__ import annotations

import sympy as sp

import chaplygin as cg

HOOP = {"m": 1.3, "R": 0.5, "g": 9.81, "Omega": 6.0}


def hoop(damped: bool = False) -> cg.System:
    """A bead on a hoop that turns about its vertical diameter: cos(theta) = g/(R Omega^2) or sin(theta) = 0."""
    theta = cg.coordinates("theta")
    m, radius, g, turn = cg.parameters("m R g Omega", positive=True)
    tau = cg.inputs("tau")
    rate = cg.rate(theta)
    c = cg.parameters("c") if damped else 0
    example = {theta: 0.3, m: 1.3, radius: 0.5, g: 9.81, turn: 6, tau: 0}
    return cg.System(
        "bead_on_hoop",
        coordinates=[theta],
        kinetic=m * radius**2 * (rate**2 + turn**2 * sp.sin(theta) ** 2) / 2,
        potential=-m * g * radius * sp.cos(theta),
        forces={rate: tau - c * rate},
        outputs={"height": -radius * sp.cos(theta), "push": tau * theta},
        example=example | ({c: 0.1} if damped else {}),
    )


TORUS = {"m": 1.7, "R": 0.6, "r": 0.15, "A": 0.4, "B": 0.7, "g": 9.81}


def torus() -> cg.System:
    """A torus that rolls on its tube of radius r; R is the radius of the circle of the tube's centres."""
    x, y, psi, alpha, theta = coordinates = cg.coordinates("x y psi alpha theta")
    m, big, r, a, b, g = numbers = cg.parameters("m R r A B g", positive=True)
    plane = cg.turn(3, psi) * cg.turn(1, alpha)
    body = cg.Body(
        "torus",
        mass=m,
        inertia=(a, b, a),
        rotation=plane * cg.turn(2, theta),
        center=(x, y, r + big * sp.cos(alpha)),
    )
    contact = sp.Matrix([x, y, big * sp.cos(alpha)]) - plane * sp.Matrix([0, 0, big])
    start = dict(zip(coordinates, (0, 0, 0.3, 0.2, 0), strict=True))
    return cg.System(
        "rolling_torus",
        coordinates=coordinates,
        bodies=[body],
        interactions=[cg.Weight(g)],
        constraints=cg.rolling(body, contact),
        example={**start, **{s: TORUS[s.name] for s in numbers}},
    )


def on_rails() -> cg.System:
    """A bead in the plane, on the line y = s x by a closed holonomic equation, with a spring and a force along x."""
    x, y = cg.coordinates("x y")
    m, k, s = cg.parameters("m k s", positive=True)
    f = cg.inputs("f")
    return cg.System(
        "bead_on_line",
        coordinates=[x, y],
        kinetic=m * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2,
        potential=k * (x**2 + y**2) / 2,
        forces={cg.rate(x): f},
        holonomic=[y - s * x],
        example={x: 1, y: 2, m: 1, k: 1, s: 2},
    )


def two_oscillators() -> cg.System:
    """Oscillators with dampings d (1 - 2 a) and e and frequencies that change with a, coupled by a force without V."""
    x, y = cg.coordinates("x y")
    a, d, e, second, shift, coupling = cg.parameters("a d e second shift coupling")
    vx, vy = cg.rate(x), cg.rate(y)
    return cg.System(
        "two_oscillators",
        coordinates=[x, y],
        kinetic=(vx**2 + vy**2) / 2,
        forces={
            vx: -((1 + shift * a) ** 2) * x - d * (1 - 2 * a) * vx - coupling * a * y,
            vy: -((second - shift * a) ** 2) * y - e * vy + coupling * a * x,
        },
    )

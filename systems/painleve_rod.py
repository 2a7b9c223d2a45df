"""The Painlevé rod: a rod whose tip slides on a rough plane.

The tip is at (x, y), the centre of mass at (x + a cos(phi), y + a sin(phi)), mass m, moment of inertia J about it. The
plane keeps y = 0 with the normal force N = lambda, and friction acts at the tip, T = -sigma mu |N|, sigma = sgn(x').
From y'' = 0, for N >= 0,
    p N / m = g - a phi'^2 sin(phi),   p = 1 + (m a^2 / J) cos(phi) (cos(phi) + sigma mu sin(phi)).
With p > 0 there is one solution. A tip that slides ahead of its rod (sigma = -1, 0 < phi < pi/2) can have p < 0 (for a
homogeneous rod, if mu > 4/3): then there are two solutions or none, Painlevé's paradox. The constraint is bilateral
here; where the rod would lift off, N changes sign.

Source: P. Painlevé, Sur les lois du frottement de glissement, Comptes rendus 121 (1895); F. Génot and B. Brogliato, New
results on Painlevé paradoxes, European Journal of Mechanics A 18 (1999).
"""

from __future__ import annotations

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m": 1.0, "J": 1.0 / 3.0, "a": 1.0, "g": 9.81, "mu": 0.6}
INITIAL = {"x": 0.0, "y": 0.0, "phi": 0.9, "x_dot": -2.0, "y_dot": 0.0, "phi_dot": 0.0}


def system(mu: float = 0.6) -> cg.System:
    """The declaration; the contact is named ``tip``, its normal force is lambda_1; the event ``flat`` ends a run."""
    import sympy as sp

    x, y, phi = cg.coordinates("x y phi")
    u, v, w = cg.rate(x), cg.rate(y), cg.rate(phi)
    m, J, a, g, friction = cg.parameters("m J a g mu", positive=True)
    normal = cg.multiplier(1)
    across, along = u - a * w * sp.sin(phi), v + a * w * sp.cos(phi)
    return cg.System(
        "painleve_rod",
        coordinates=[x, y, phi],
        kinetic=m * (across**2 + along**2) / 2 + J * w**2 / 2,
        potential=m * g * (y + a * sp.sin(phi)),
        holonomic=[y],
        contacts=[cg.Coulomb("tip", slip=u, normal=normal, mu=friction)],
        events=[cg.Event(sp.sin(phi), direction=-1, terminal=True, name="flat")],
        outputs={"p": 1 + m * a**2 / J * sp.cos(phi) * (sp.cos(phi) - friction * sp.sin(phi))},
        units={x: "m", y: "m", phi: "rad", m: "kg", J: "kg m^2", a: "m", g: "m/s^2"},
        descriptions={
            x: "tip along the plane",
            y: "tip above the plane",
            phi: "angle of the rod with the plane",
            m: "mass",
            J: "moment of inertia about the centre of mass",
            a: "distance from the tip to the centre of mass",
            g: "gravity",
            friction: "friction at the tip",
            "p": "coefficient of N for a tip that slides ahead of the rod",
        },
        example=by_symbol((x, y, phi, u, v, w, m, J, a, g, friction), PARAMETERS | INITIAL | {"mu": mu}),
    )


def example(mu: float = 0.6) -> Example:
    """The catalogue entry; with ``mu`` above 4/3 the rod can reach the paradox."""
    return Example.of(
        __name__,
        description="Rod whose tip slides on a rough plane: the normal force depends on friction",
        source="Painlevé (1895); Génot and Brogliato (1999)",
        parameters={**PARAMETERS, "mu": mu},
        t_span=(0.0, 0.3),
        forms=("multipliers",),
        build=lambda: system(mu),
    )

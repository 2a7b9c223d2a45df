"""The woodpecker toy: a bird on a spring, with a sleeve that slides down a pole in jerks.

The sleeve is at the height y and tilted by phiM; the bird, on a torsion spring c, is tilted by phiS (both small):
    T = (mM + mS) y'^2 / 2 + (JM + mS lM^2) phiM'^2 / 2 + (JS + mS lG^2) phiS'^2 / 2
        + mS y' (lM phiM' + lG phiS') + mS lM lG phiM' phiS',
    V = c (phiM - phiS)^2 / 2 + (mM + mS) g y + mS g (lM phiM + lG phiS).
The sleeve touches the pole with its lower edge where g2 = rM - r0 + hM phiM is zero and with its upper edge where
g3 = rM - r0 - hM phiM is, and rubs there with the slip velocity y' + rM phiM'; tilted far enough it jams. The beak
strikes the pole at g1 = lM + lG - lS - r0 - hS phiS = 0.

The published model has rigid contacts with impacts and friction in all of them. Here, as a simplification, the edges
of the sleeve are stiff and damped, N_i = max(0, -g_i) max(0, stiffness - damping g_i'), with Coulomb friction for the
sum of both normal forces (their slip is the same); the stroke of the beak is a frictionless impact with restitution e:
    eta+ = eta- - (1 + e) (w . eta-) M^-1 w / (w . M^-1 w),   w the gradient of g1.
Geometry, inertia, spring, friction, restitution of the beak and the initial state, on the published cycle of about
0.145 s, are those of the source; ``stiffness`` and ``damping`` are chosen here. The bird then pecks every 0.151 to
0.165 s, with longer and shorter intervals alternating, also with stiffer edges (0.152 and 0.160 s).

Source: F. Pfeiffer and C. Glocker, Multibody Dynamics with Unilateral Contacts (1996), woodpecker toy; C. Glocker,
Dynamik von Starrkörpersystemen mit Reibung und Stössen (1995), pp. 162 ff.
"""

from __future__ import annotations

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {
    "mM": 3.0e-4,
    "JM": 5.0e-9,
    "mS": 4.5e-3,
    "JS": 7.0e-7,
    "r0": 2.5e-3,
    "rM": 3.1e-3,
    "hM": 5.8e-3,
    "lM": 1.0e-2,
    "lG": 1.5e-2,
    "hS": 2.0e-2,
    "lS": 2.01e-2,
    "c": 5.6e-3,
    "g": 9.81,
    "mu": 0.3,
    "e": 0.5,
    "stiffness": 5.0e3,
    "damping": 5.0e4,
}
INITIAL = {
    "y": 0.0,
    "phiM": -0.1036,
    "phiS": -0.2788,
    "y_dot": -0.3411,
    "phiM_dot": 0.0,
    "phiS_dot": -7.4583,
}


def system() -> cg.System:
    """The declaration; the contact is named ``sleeve``, the event ``beak``."""
    import sympy as sp

    y, sleeve, bird = cg.coordinates("y phiM phiS")
    v, a, b = cg.rate(y), cg.rate(sleeve), cg.rate(bird)
    symbols = cg.parameters(" ".join(PARAMETERS), positive=True)
    mM, JM, mS, JS, r0, rM, hM, lM, lG, hS, lS, c, g, mu, e, stiffness, damping = symbols
    kinetic = (mM + mS) * v**2 / 2 + (JM + mS * lM**2) * a**2 / 2 + (JS + mS * lG**2) * b**2 / 2
    kinetic += mS * v * (lM * a + lG * b) + mS * lM * lG * a * b
    velocities = (v, a, b)
    mass = sp.hessian(kinetic, velocities)
    # The impact is along phiS alone: w = (0, 0, -hS), and hS cancels.
    across = mass.LUsolve(sp.Matrix([0, 0, 1])).applyfunc(sp.factor)
    struck = {u: u - (1 + e) * b * sp.factor(n / across[2]) for u, n in zip(velocities, across)}
    edges = []
    for side in (1, -1):
        gap, opening = rM - r0 + side * hM * sleeve, side * hM * a
        edges.append(sp.Max(0, -gap) * sp.Max(0, stiffness - damping * opening))
    return cg.System(
        "woodpecker",
        coordinates=[y, sleeve, bird],
        kinetic=kinetic,
        potential=c * (sleeve - bird) ** 2 / 2 + (mM + mS) * g * y + mS * g * (lM * sleeve + lG * bird),
        forces={a: hM * (edges[0] - edges[1])},
        contacts=[cg.Coulomb("sleeve", slip=v + rM * a, normal=edges[0] + edges[1], mu=mu)],
        events=[cg.Event(lM + lG - lS - r0 - hS * bird, direction=-1, reset=struck, name="beak")],
        units={
            **dict.fromkeys((y, r0, rM, hM, lM, lG, hS, lS), "m"),
            **dict.fromkeys((sleeve, bird), "rad"),
            **dict.fromkeys((mM, mS), "kg"),
            **dict.fromkeys((JM, JS), "kg m^2"),
            c: "N m",
            g: "m/s^2",
            stiffness: "N/m",
            damping: "N s/m^2",
        },
        descriptions={
            y: "height of the sleeve",
            sleeve: "tilt of the sleeve",
            bird: "tilt of the bird",
            r0: "radius of the pole",
            rM: "radius of the sleeve",
            hM: "half the height of the sleeve",
            mu: "friction of the sleeve",
            e: "restitution of the beak",
        },
        example=by_symbol((y, sleeve, bird, *velocities, *symbols), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Woodpecker toy: a sleeve that jams and slides, a beak that strikes",
    source="Pfeiffer and Glocker (1996); Glocker (1995), pp. 162 ff.; contacts of the sleeve made elastic",
    t_span=(0.0, 0.3),
    forms=("lagrange", "poincare", "hamel", "nonholonomic"),
)

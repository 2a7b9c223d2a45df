"""Bricard's mechanism: five rods and six hinges in a closed loop, which moves although counting freedoms says no.

The rods of length l lie along edges of a cube, from P0 = (0, 0, 0) by (l, 0, 0), (l, -l, 0), (l, -l, l), (0, -l, l) to
P5 = (0, 0, l); the hinges at P0 and P5 are fixed in space. Their axes are y, z, x, y, z, x in this order; weight acts
along -y. Coordinates are the angles of the first five hinges, all zero in the cube. The sixth closes the loop: the last
rod ends at P5 (3 equations), and its x axis stays along that of space (2). One of the five follows from the others
wherever the loop is closed, so that the mechanism has one degree of freedom.

Conserved: energy.

Source: R. Bricard, Mémoire sur la théorie de l'octaèdre articulé, J. Math. Pures Appl. 3 (1897) 113-148; the numbers
are those of problem A04 of the IFToMM library of computational benchmark problems (M. González, D. Dopico, U. Lugrís,
J. Cuadrado, Multibody Syst. Dyn. 16 (2006) 179-190).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import chaplygin as cg

from .entry import Example

if TYPE_CHECKING:
    from chaplygin.codegen.mechanics.joint import Link

PARAMETERS = {"m": 1.0, "l": 1.0, "d": 0.1, "g": 9.81}
INITIAL = {f"{name}{end}": 0.0 for end in ("", "_dot") for name in ("b1", "b2", "b3", "b4", "b5")}
_RODS = ((1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0))
_AXES = "yzxyz"


def system() -> cg.System:
    """The declaration: a chain of five hinges, closed by the sixth."""
    import sympy as sp

    m, length, d, g = cg.parameters("m l d g", positive=True)
    across, along = m * (length**2 + d**2) / 12, m * d**2 / 6
    rods: list[Link] = []
    attitude, end, third = sp.eye(3), sp.zeros(3, 1), sp.zeros(3, 1)
    for i, (rod, axis) in enumerate(zip(_RODS, _AXES, strict=True), 1):
        arm = length * sp.Matrix(rod)
        inertia = [along if component else across for component in rod]
        before = [length * component for component in _RODS[i - 2]] if rods else (0, 0, 0)
        rods.append(
            cg.joint.revolute(
                rods[-1] if rods else None,
                axis,
                name=f"b{i}",
                at=before,
                mass=m,
                inertia=inertia,
                center=list(arm / 2),
            )
        )
        attitude = attitude * cg.turn("xyz".index(axis) + 1, rods[-1].coordinates[0])
        end = end + attitude * arm
        third = end if i == 3 else third
    coordinates = [rod.coordinates[0] for rod in rods]
    return cg.System(
        "bricard",
        bodies=rods,
        interactions=[cg.Weight(g, direction=(0, -1, 0))],
        holonomic=[*(end - sp.Matrix([0, 0, length])), attitude[1, 0], attitude[2, 0]],
        outputs={f"p3_{axis}": component for axis, component in zip("xyz", third, strict=True)},
        units={m: "kg", length: "m", d: "m", g: "m/s^2"},
        descriptions={
            m: "mass of a rod",
            length: "its length",
            d: "side of its square cross section",
            g: "gravity",
        }
        | {q: f"angle of hinge {i}" for i, q in enumerate(coordinates)},
        example={
            **dict.fromkeys(coordinates, 0),
            m: 1,
            length: 1,
            d: sp.Rational(1, 10),
            g: sp.Rational(981, 100),
        },
    )


example = Example.maker(
    __name__,
    description="Five rods and six hinges in a closed loop, overconstrained by one",
    source="Bricard (1897); problem A04 of the IFToMM benchmarks",
    forms=("multipliers", "recursive", "maggi"),
    large=True,
)

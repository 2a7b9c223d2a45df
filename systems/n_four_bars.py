"""N four-bars: n + 1 cranks on a line of pivots, joined by n couplers; all 2 n + 1 links are equal.

Crank i turns about (i l, 0) and ends at B_i = (x_i, y_i); coupler i joins B_i-1 and B_i. Each link is a uniform rod of
length l and mass m: its kinetic energy is m (|u|^2 + u.v + |v|^2) / 6 for the velocities u, v of its ends. Coordinates
are those of the points B_i, and 2 n + 1 equations say that the links keep their lengths. Weight acts along -y.

Where all links lie along the line of pivots, each four-bar can leave as a parallelogram or folded: there n of the
constraints depend on the others, and the mechanism, which has one degree of freedom, has n + 1 for an instant.

Conserved: energy. Parallel cranks turn as one pendulum, (a + n) l theta'' = (3 a / 2 + n) g sin(theta), where
a = (n + 1) / 3 and theta is taken from the upward vertical.

Source: E. Bayo, A. Avello, Singularity-free augmented Lagrangian algorithms for constrained multibody dynamics,
Nonlinear Dynamics 5 (1994) 209-231, for n = 2; problem A02 of the IFToMM library of computational benchmark problems.
"""

from __future__ import annotations

from itertools import pairwise
from operator import index
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m": 1.0, "l": 1.0, "g": 9.81}


def initial(n: int) -> dict[str, float]:
    """Upright cranks, whose ends move at 1 m/s along the line of pivots."""
    places = {f"{axis}{i}": float(i) if axis == "x" else 1.0 for i in range(n + 1) for axis in "xy"}
    return places | {f"{name}_dot": float(name[0] == "x") for name in places}


def system(n: int = 2) -> cg.System:
    """The declaration for n >= 1 four-bars."""
    m, length, g = cg.parameters("m l g", positive=True)
    ends = [cg.coordinates(f"x{i} y{i}") for i in range(n + 1)]
    pivots = [(i * length, 0) for i in range(n + 1)]
    links = [*zip(pivots, ends, strict=True), *pairwise(ends)]
    moving = {q: cg.rate(q) for end in ends for q in end}

    def kinetic(p: Any, q: Any) -> Any:
        u, v = ([moving.get(c, 0) for c in point] for point in (p, q))
        return m * sum(a**2 + a * b + b**2 for a, b in zip(u, v, strict=True)) / 6

    return cg.System(
        f"n_four_bars_{n}",
        coordinates=list(moving),
        kinetic=sum(kinetic(p, q) for p, q in links),
        potential=m * g * sum((p[1] + q[1]) / 2 for p, q in links),
        holonomic=[((q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2 - length**2) / 2 for p, q in links],
        units={m: "kg", length: "m", g: "m/s^2"} | dict.fromkeys(moving, "m"),
        descriptions={m: "mass of a link", length: "its length", g: "gravity"},
        example=by_symbol((*moving, *moving.values(), m, length, g), PARAMETERS | initial(n)),
    )


def example(n: int = 2) -> Example:
    """The catalogue entry for n four-bars. Raises ValueError unless n >= 1."""
    n = index(n)
    if n < 1:
        raise ValueError(f"example('n_four_bars'): n must be at least 1, not {n}")
    return Example.of(
        __name__,
        description=f"{n} four-bars side by side, with a singular position",
        source="Bayo and Avello (1994); problem A02 of the IFToMM benchmarks",
        initial=initial(n),
        forms=("multipliers",),
        build=lambda: system(n),
        large=True,
    )

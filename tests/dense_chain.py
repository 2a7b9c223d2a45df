"""The catalogue's chain of n links with T multiplied out, as textbooks print it.

T is no longer a sum of squares in which the tree of point masses could be found, so that the accelerations come from
the dense mass matrix: above 12 links by loops. Names, parameters and motion are those of the catalogue.
"""

from __future__ import annotations

from dataclasses import replace

import chaplygin as cg
from chaplygin.systems import Example


def dense_chain(n: int) -> Example:
    """sum_ij (n + 1 - max(i, j)) m l^2 cos(theta_i - theta_j) theta_i' theta_j' / 2 = T."""
    import sympy as sp

    entry = cg.example("n_link_pendulum", n=n)

    def build() -> cg.System:
        theta = [cg.coordinates(f"theta{i}") for i in range(1, n + 1)]
        m, length, g = cg.parameters("m l g", positive=True)
        pairs = [
            (n - j) * sp.cos(theta[i] - theta[j]) * cg.rate(theta[i]) * cg.rate(theta[j])
            for j in range(n)
            for i in range(j)
        ]
        squares = [(n - i) * cg.rate(angle) ** 2 / 2 for i, angle in enumerate(theta)]
        heights = [-(n - i) * sp.cos(angle) for i, angle in enumerate(theta)]
        point = {**entry.parameters, **entry.initial}
        return cg.System(
            f"dense_chain_{n}",
            coordinates=theta,
            kinetic=m * length**2 * (sum(squares) + sum(pairs)),
            potential=m * g * length * sum(heights),
            example={s: point[s.name] for s in (*theta, *map(cg.rate, theta), m, length, g)},
        )

    return replace(entry, name="dense_chain", build=build, made_by=None)

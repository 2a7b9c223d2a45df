"""The catalogue's chain of n links, with a mass of unknown sign.

Without positive masses it is no tree of point masses, so that the accelerations come from the dense mass matrix: above
12 links by loops. Names, parameters and motion are those of the catalogue.
"""

from __future__ import annotations

from dataclasses import replace

import chaplygin as cg
from chaplygin.systems.entry import Example


def dense_chain(n: int) -> Example:
    """`n_link_pendulum` of n links, with `m` declared without `positive=True`."""
    entry = cg.example("n_link_pendulum", n=n)

    def build() -> cg.System:
        system = entry.system
        (m,) = (p for p in system.parameters if p.name == "m")
        unknown = cg.parameters("m")
        return cg.System(
            f"dense_chain_{n}",
            coordinates=system.coordinates,
            kinetic=system.kinetic.subs(m, unknown),
            potential=system.potential.subs(m, unknown),
            outputs=system.outputs,
            example={unknown if symbol == m else symbol: value for symbol, value in system.example.items()},
        )

    return replace(entry, name="dense_chain", build=build, made_by=None)

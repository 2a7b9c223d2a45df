"""A mass on a spring with a force, by which many tests run what they are about."""

from __future__ import annotations

from typing import Any

import chaplygin as cg

X = cg.coordinates("x")
V = cg.rate(X)
F, U = cg.inputs("F u")
M, C = cg.parameters("m c", positive=True)
K = cg.parameters("k")


def sprung(name: str, force: Any = F, *, q: Any = X, mass: Any = 1, **acts: Any) -> cg.System:
    """mass q'' = force - k q."""
    v = cg.rate(q)
    given = {"kinetic": mass * v**2 / 2, "potential": K * q**2 / 2, "forces": {v: force}}
    return cg.System(name, coordinates=[q], **given, **acts)

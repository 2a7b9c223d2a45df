"""Where a model rests or moves steadily, and how it moves near there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .linearization import linearize as linearize
    from .lyapunov import lyapunov_exponents as lyapunov_exponents
    from .periodic import periodic_orbit as periodic_orbit
    from .steady import steady_state as steady_state

__getattr__ = face(
    __name__,
    {
        "linearize": ".linearization",
        "lyapunov_exponents": ".lyapunov",
        "periodic_orbit": ".periodic",
        "steady_state": ".steady",
    },
)

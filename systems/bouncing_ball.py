"""A ball that bounces on the floor: x'' = -g, and x' -> -e x' when x falls to zero.

Dropped from rest at the height x_0, it first hits the floor at t_1 = sqrt(2 x_0 / g) with the speed c = g t_1, then
after flights of duration 2 c e^n / g: infinitely many bounces until t_1 + (2 c / g) e / (1 - e), when it is at rest
(Zeno's accumulation of events). Thrown with x'_0, t_1 = (x'_0 + sqrt(x'_0^2 + 2 g x_0)) / g and c = g t_1 - x'_0.

Source: any mechanics textbook; I. Newton, Principia (1687), for the coefficient of restitution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m": 0.1, "g": 9.81, "e": 0.8}
INITIAL = {"x": 1.0, "x_dot": 0.0}


def system() -> cg.System:
    """The declaration; the event is named ``bounce``."""
    x = cg.coordinates("x")
    rate = cg.rate(x)
    m, g, e = cg.parameters("m g e", positive=True)
    return cg.System(
        "bouncing_ball",
        coordinates=[x],
        kinetic=m * rate**2 / 2,
        potential=m * g * x,
        events=[cg.Event(x, direction=-1, reset={rate: -e * rate}, name="bounce")],
        units={x: "m", m: "kg", g: "m/s^2"},
        descriptions={x: "height", m: "mass", g: "gravity", e: "coefficient of restitution"},
        example=by_symbol((x, rate, m, g, e), PARAMETERS | INITIAL),
    )


def closed_form(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = INITIAL,
    digits: int = 20,
) -> dict[str, list[Any]]:
    """The motion at ``times`` (not before 0), as mpmath numbers: flight by flight, then rest.

    >>> motion = closed_form([0.0, 100.0])
    >>> float(motion["x"][0]), float(motion["x"][1])
    (1.0, 0.0)
    """
    from mpmath import mp

    with mp.workdps(digits + 5):
        g, e = mp.mpf(parameters["g"]), mp.mpf(parameters["e"])
        x_0, v_0 = mp.mpf(initial["x"]), mp.mpf(initial["x_dot"])
        first = (v_0 + mp.sqrt(v_0**2 + 2 * g * x_0)) / g
        speed = g * first - v_0
        end = first + 2 * speed / g * e / (1 - e) if e < 1 else mp.inf
        motion: dict[str, list[Any]] = {"x": [], "x_dot": []}
        for t in (mp.mpf(t) for t in times):
            if t < first:
                x, v = x_0 + v_0 * t - g * t**2 / 2, v_0 - g * t
            elif t >= end:
                x = v = mp.zero
            else:
                start, up = first, speed * e
                while t >= start + 2 * up / g:
                    start, up = start + 2 * up / g, up * e
                x, v = up * (t - start) - g * (t - start) ** 2 / 2, up - g * (t - start)
            motion["x"].append(x)
            motion["x_dot"].append(v)
        return motion


example = Example.maker(
    __name__,
    description="Ball that bounces on the floor with a coefficient of restitution",
    source="Newton (1687)",
    t_span=(0.0, 3.0),
    forms=("lagrange", "poincare", "chetaev", "hamel", "nonholonomic"),
)
"""The catalogue entry; the span ends before the bounces accumulate."""

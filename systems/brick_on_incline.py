"""A brick on a rough incline, pushed along it.

    m x'' = m g sin(alpha) + F + T,   N = m g cos(alpha)
with x measured down the slope and the push F an input. At rest it stays at rest if
|m g sin(alpha) + F| <= mu m g cos(alpha).

Closed form for a constant push, with G = g sin(alpha) + F / m and D = mu g cos(alpha): x'' = G - D sgn(x') until the
brick stops (if it does), at the time |x'_0| / |G - D sgn(x'_0)|; then it stays at rest if |G| <= D, and otherwise goes
on with x'' = G - D sgn(G).

Source: C.-A. Coulomb, Théorie des machines simples (1785); any mechanics textbook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m": 2.0, "g": 9.81, "alpha": 0.4, "mu": 0.5}
INITIAL = {"x": 0.0, "x_dot": -3.0}


def system() -> cg.System:
    """The declaration; the contact is named ``plane``, the input F."""
    import sympy as sp

    x = cg.coordinates("x")
    rate = cg.rate(x)
    m, g, mu = cg.parameters("m g mu", positive=True)
    alpha = cg.parameters("alpha")
    push = cg.inputs("F")
    return cg.System(
        "brick_on_incline",
        coordinates=[x],
        kinetic=m * rate**2 / 2,
        potential=-m * g * sp.sin(alpha) * x,
        forces={rate: push},
        contacts=[cg.Coulomb("plane", slip=rate, normal=m * g * sp.cos(alpha), mu=mu)],
        units={x: "m", m: "kg", g: "m/s^2", alpha: "rad", push: "N"},
        descriptions={
            x: "position, down the slope",
            m: "mass of the brick",
            g: "gravity",
            alpha: "slope",
            mu: "friction",
            push: "push down the slope",
        },
        example=by_symbol((x, rate, m, g, alpha, mu, push), PARAMETERS | INITIAL | {"F": 0.0}),
    )


def closed_form(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = INITIAL,
    digits: int = 20,
    push: Any = 0,
) -> dict[str, list[Any]]:
    """The motion at ``times`` (not before 0) under a constant ``push``, as mpmath numbers.

    >>> motion = closed_form([0.0, 1.0])
    >>> round(float(motion["x"][1]), 8), float(motion["x_dot"][1])    # it has come to rest
    (-0.53969789, 0.0)
    """
    from mpmath import mp

    with mp.workdps(digits + 5):
        m, g, alpha, mu = (mp.mpf(parameters[name]) for name in ("m", "g", "alpha", "mu"))
        x_0, v_0 = mp.mpf(initial["x"]), mp.mpf(initial["x_dot"])
        pull, drag = g * mp.sin(alpha) + mp.mpf(push) / m, mu * g * mp.cos(alpha)
        after = mp.zero if abs(pull) <= drag else pull - drag * mp.sign(pull)
        before = pull - drag * mp.sign(v_0) if v_0 else after
        stops = -v_0 / before if v_0 and v_0 * before < 0 else mp.inf
        motion: dict[str, list[Any]] = {"x": [], "x_dot": []}
        for t in (mp.mpf(t) for t in times):
            first = min(t, stops)
            x, v = x_0 + v_0 * first + before * first**2 / 2, v_0 + before * first
            if t >= stops:
                x, v = x + after * (t - stops) ** 2 / 2, after * (t - stops)
            motion["x"].append(x)
            motion["x_dot"].append(v)
        return motion


example = Example.maker(
    __name__,
    description="Brick on a rough incline: thrown up, it stops and rests, or slides back",
    source="Coulomb (1785)",
    t_span=(0.0, 2.0),
    forms=("lagrange", "poincare", "hamel", "nonholonomic"),
)
"""The catalogue entry; the closed form is for zero push."""

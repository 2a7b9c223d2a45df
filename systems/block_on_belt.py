"""A block on a moving belt, held by a spring: stick-slip.

    m x'' + k x = T,   slip velocity v = x' - V,   N = m g,   mu = mu0 (1 + b v)
with the belt's speed V and friction that falls by the fraction b per unit of speed at which the block lags behind
(v < 0). The block rides on the belt until the spring force reaches the limit mu0 m g, at x_s = mu0 m g / k, then slips
back and, for b > 0, sticks again before it reaches x_s: a cycle. With b = 0 it never quite sticks again.

Closed form, phase by phase. Riding: x = x_0 + V t, x' = V. Slipping (v < 0, T = mu m g), with w^2 = k / m,
a = mu0 g b / 2, q = sqrt(w^2 - a^2), x_e = mu0 g (1 - b V) / w^2 and y = x - x_e:
    y = exp(a t) (y_0 cos(q t) + (y_0' - a y_0) sin(q t) / q),
until x' = V again, at the root of a transcendental equation.

Source: J. P. Den Hartog, Mechanical Vibrations (1934), chapter 7; any textbook on self-excited vibration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m": 1.0, "k": 20.0, "g": 9.81, "mu0": 0.3, "b": 0.2, "V": 0.5}
INITIAL = {"x": 0.0, "x_dot": 0.0}


def system() -> cg.System:
    """The declaration; the contact is named ``belt``."""
    x = cg.coordinates("x")
    rate = cg.rate(x)
    m, k, g, mu0 = cg.parameters("m k g mu0", positive=True)
    b, V = cg.parameters("b V")
    return cg.System(
        "block_on_belt",
        coordinates=[x],
        kinetic=m * rate**2 / 2,
        potential=k * x**2 / 2,
        contacts=[cg.Coulomb("belt", slip=rate - V, normal=m * g, mu=mu0 * (1 + b * (rate - V)))],
        units={x: "m", m: "kg", k: "N/m", g: "m/s^2", b: "s/m", V: "m/s"},
        descriptions={
            x: "displacement of the block",
            m: "mass of the block",
            k: "stiffness of the spring",
            g: "gravity",
            mu0: "friction at rest on the belt",
            b: "fraction of the friction lost per unit of speed behind the belt",
            V: "speed of the belt",
        },
        example=by_symbol((x, rate, m, k, g, mu0, b, V), PARAMETERS | INITIAL),
    )


def phases(
    parameters: Mapping[str, Any] = PARAMETERS, initial: Mapping[str, Any] = INITIAL
) -> Iterator[tuple[str, Any, Any, Any]]:
    """(mode, time, x, x') at the start of every phase, with mode "stick" or "slip-", at mpmath's working precision.

    The motion starts with the block at rest on the belt (x' = V, |k x| <= mu0 m g) or slower than it. Raises
    ValueError if it starts faster, if the friction does not fall with speed, or if the block would overtake the belt.
    """
    from mpmath import mp

    m, k, g, mu, b, V = (mp.mpf(parameters[name]) for name in ("m", "k", "g", "mu0", "b", "V"))
    t, x, v = mp.zero, mp.mpf(initial["x"]), mp.mpf(initial["x_dot"])
    if v > V or not (b > 0 and V > 0):
        raise ValueError("closed form: the block must start no faster than the belt, with b > 0 and V > 0")
    reach = mu * m * g / k
    if v == V and abs(x) <= reach:
        yield "stick", t, x, v
        t, x = t + (reach - x) / V, reach
    while True:
        yield "slip-", t, x, v
        slide = _slide(parameters, x, v)
        step = mp.pi / 64 / mp.sqrt(k / m)
        end = step
        while slide(end)[1] < V:
            end += step
        end = mp.findroot(lambda s, slide=slide: slide(s)[1] - V, (end - step, end), solver="anderson")
        t, x, v = t + end, slide(end)[0], V
        if not abs(x) < reach:
            raise ValueError("closed form: the block overtakes the belt")
        yield "stick", t, x, v
        t, x = t + (reach - x) / V, reach


def _slide(parameters: Mapping[str, Any], x_0: Any, v_0: Any) -> Any:
    """(x, x') as a function of the time spent slipping behind the belt."""
    from mpmath import mp

    m, k, g, mu, b, V = (mp.mpf(parameters[name]) for name in ("m", "k", "g", "mu0", "b", "V"))
    a = mu * g * b / 2
    q = mp.sqrt(k / m - a**2)
    rest = mu * g * (1 - b * V) * m / k
    y_0 = x_0 - rest
    other = (v_0 - a * y_0) / q

    def at(t: Any) -> tuple[Any, Any]:
        growth, c, s = mp.exp(a * t), mp.cos(q * t), mp.sin(q * t)
        y = growth * (y_0 * c + other * s)
        return rest + y, a * y + growth * q * (other * c - y_0 * s)

    return at


def closed_form(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = INITIAL,
    digits: int = 20,
) -> dict[str, list[Any]]:
    """The motion at the sorted ``times``, as mpmath numbers correct to about ``digits`` digits.

    See the module docstring for the equations. Raises ValueError as `phases` does, and for times before 0.

    >>> motion = closed_form([0.0, 0.3])
    >>> round(float(motion["x_dot"][1]), 12)    # riding on the belt
    0.5
    """
    from mpmath import mp

    with mp.workdps(digits + 10):
        ts = [mp.mpf(t) for t in times]
        if any(t < 0 for t in ts):
            raise ValueError("closed form: times must not be negative")
        motion: dict[str, list[Any]] = {"x": [], "x_dot": []}
        every = phases(parameters, initial)
        mode, start, x, v = next(every)
        upcoming = next(every)
        for t in ts:
            while upcoming[1] <= t:
                (mode, start, x, v), upcoming = upcoming, next(every)
            if mode == "stick":
                now = x + v * (t - start), v
            else:
                now = _slide(parameters, x, v)(t - start)
            motion["x"].append(now[0])
            motion["x_dot"].append(now[1])
        return motion


example = Example.maker(
    __name__,
    description="Block on a moving belt, held by a spring: stick-slip",
    source="Den Hartog, Mechanical Vibrations (1934), chapter 7",
    forms=("lagrange", "poincare", "hamel", "nonholonomic"),
)

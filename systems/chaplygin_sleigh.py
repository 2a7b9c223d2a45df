"""The Chaplygin sleigh: a plane body on a blade that cannot slip sideways.

The blade point is at (x, y), the blade points along the angle phi. The centre of mass of the unit-mass body
lies at (a, b) in the axes of the blade; k is the radius of gyration about it. Velocities: omega = d(phi)/dt
and the components v (along the blade) and w (across it) of the velocity of the blade point, with the
constraint w = 0. For a > 0 every motion with omega != 0 tends to a straight line with the mass ahead of the
blade, although energy is conserved: it is a conservative system without an invariant measure.

Conserved: the energy h, 2h = v^2 - 2 b omega v + (a^2 + b^2 + k^2) omega^2.

Closed form, with s^2 = a^2 + k^2, e = sgn(omega), tau = tau_0 + e a sqrt(2h) t / s^2:
    phi = phi_0 + s (gd(tau) - gd(tau_0)) / a,
    omega = e sqrt(2h) sech(tau) / s,    v = (b + s sinh(tau)) omega,
where gd is the Gudermannian and sinh(tau_0) = (v_0 / omega_0 - b) / s; x and y follow by one quadrature each.
This is theta' = b + s tan(nu), nu = (a phi + c) / s, of the source with its t(phi) inverted.

Source: S. A. Chaplygin, On the theory of motion of nonholonomic systems (1911); in the form of Q. K. Ghori,
Whittaker's reduction method for Poincare's dynamical equations (1993), equations (5.5) to (5.7), with
constants added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol, running_integral

PARAMETERS = {"a": 0.4, "b": 0.15, "k": 0.6}
INITIAL = {"phi": 0.2, "x": 0.1, "y": -0.3, "omega": 0.8, "v": 1.0, "w": 0.0}


def system() -> cg.System:
    """The declaration; parameters a, b, k in metres."""
    import sympy as sp

    phi, x, y = cg.coordinates("phi x y")
    omega, v, w = cg.velocities("omega v w")
    a, b = cg.parameters("a b")
    k = cg.parameters("k", positive=True)
    return cg.System(
        "chaplygin_sleigh",
        kinematics={
            phi: omega,
            x: v * sp.cos(phi) - w * sp.sin(phi),
            y: v * sp.sin(phi) + w * sp.cos(phi),
        },
        kinetic=((v - b * omega) ** 2 + (w + a * omega) ** 2 + k**2 * omega**2) / 2,
        constraints=[w],
        # The multiplier of w = 0, a d(omega)/dt + omega (v - b omega), with d(omega)/dt from the equations.
        outputs={"lateral_reaction": k**2 * omega * (v - b * omega) / (a**2 + k**2)},
        units={phi: "rad", x: "m", y: "m", omega: "rad/s", v: "m/s", w: "m/s", a: "m", b: "m", k: "m"},
        descriptions={
            phi: "direction of the blade",
            x: "blade point",
            y: "blade point",
            omega: "rate of turn",
            v: "speed along the blade",
            w: "speed across the blade",
            a: "centre of mass ahead of the blade point",
            b: "centre of mass to the left of the blade",
            k: "radius of gyration about the centre of mass",
        },
        example=by_symbol((phi, x, y, omega, v, w, a, b, k), PARAMETERS | INITIAL),
    )


def closed_form(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = INITIAL,
    digits: int = 20,
) -> dict[str, list[Any]]:
    """The motion at the sorted ``times``, as mpmath numbers correct to about ``digits`` digits.

    Numbers can be given as strings, which are read as exact decimals. See the module docstring for the equations;
    with a = 0 or omega = 0 both velocities are constant. Raises ValueError if ``initial`` violates w = 0.

    >>> motion = closed_form([0.0, 1.0])
    >>> round(float(motion["phi"][1]), 12)
    0.769728964558
    """
    from mpmath import mp

    with mp.workdps(digits + 5):
        a, b, k = (mp.mpf(parameters[name]) for name in ("a", "b", "k"))
        phi, x, y, omega, v, w = (
            mp.mpf(initial.get(name, 0)) for name in ("phi", "x", "y", "omega", "v", "w")
        )
        if w != 0:
            raise ValueError(
                f"closed_form: initial state has w = {mp.nstr(w)}, the constraint requires w = 0"
            )
        ts = [mp.mpf(t) for t in times]
        if a == 0 or omega == 0:
            angles, rates, speeds = [phi + omega * t for t in ts], [omega for _ in ts], [v for _ in ts]

            def heading(t: Any) -> tuple[Any, Any]:
                return phi + omega * t, v

            panel = 1 / (1 + abs(omega))
        else:
            turning, panel = _turning(a, b, k, phi, omega, v)
            angles, rates, speeds = map(list, zip(*map(turning, ts), strict=True))

            def heading(t: Any) -> tuple[Any, Any]:
                angle, _, forward = turning(t)
                return angle, forward

        def along(t: Any) -> Any:
            angle, forward = heading(t)
            return forward * mp.expj(angle)

        path = running_integral(along, ts, panel)
        return {
            "phi": angles,
            "x": [x + z.real for z in path],
            "y": [y + z.imag for z in path],
            "omega": rates,
            "v": speeds,
            "w": [mp.zero for _ in ts],
        }


def _turning(
    a: Any, b: Any, k: Any, phi: Any, omega: Any, v: Any
) -> tuple[Callable[[Any], tuple[Any, Any, Any]], Any]:
    """phi, omega and v at a time, and the time in which they change little, for a and omega that are not zero."""
    from mpmath import mp

    s = mp.sqrt(a**2 + k**2)
    h = mp.sign(omega) * mp.sqrt(v**2 - 2 * b * omega * v + (s**2 + b**2) * omega**2)
    tau_0, rate = mp.asinh((v / omega - b) / s), a * h / s**2
    start = _gudermann(tau_0)

    def at(t: Any) -> tuple[Any, Any, Any]:
        tau = tau_0 + rate * t
        spin = h * mp.sech(tau) / s
        return phi + s * (_gudermann(tau) - start) / a, spin, b * spin + h * mp.tanh(tau)

    return at, 1 / abs(rate)  # sech has its poles at a distance pi / 2 in tau


def _gudermann(tau: Any) -> Any:
    from mpmath import mp

    return 2 * mp.atan(mp.tanh(tau / 2))


example = Example.maker(
    __name__,
    description="Plane body on a blade that cannot slip sideways: nonholonomic and conservative",
    source="Chaplygin (1911); Ghori (1993), equations (5.5)-(5.7)",
    forms=("maggi", "multipliers", "hamel", "nonholonomic", "whittaker"),
    options={"whittaker": {"along": "phi"}},
)

"""Lagrange's top: a symmetric heavy top with its centre of mass on the axis of symmetry.

The heavy top with I1 = I2 and the centre of mass at a distance l from the fixed point on body axis 3. The
attitude is the quaternion of R(q) from body to space, with the body rates w1, w2, w3; or, with
``angles=True``, Euler's angles R = Rz(psi) Rx(theta) Rz(phi) and their rates:
    T = I1 (theta'^2 + psi'^2 sin(theta)^2) / 2 + I3 (phi' + psi' cos(theta))^2 / 2,    V = m g l cos(theta).
psi and phi are then cyclic. In body axes the spin is not (its field does not commute with the others), although
I3 w3 is conserved.

Conserved: energy, |q|^2 = 1, the vertical momentum p = I1 (w1 gamma1 + w2 gamma2) + I3 w3 gamma3, the spin
momentum s = I3 w3.

Closed form, with u = cos(theta), beta = 2 m g l / I1, epsilon = (2 E - s^2 / I3) / I1:
    u'^2 = (epsilon - beta u) (1 - u^2) - (p - s u)^2 / I1^2,
a cubic with roots u1 <= u <= u2 < u3, so that
    u = u1 + (u2 - u1) sn^2(chi | k),    chi = chi_0 + sqrt(beta (u3 - u1)) t / 2,    k = (u2 - u1) / (u3 - u1),
and by elliptic integrals of the third kind the angles
    (psi + phi)' = (p + s) / (I1 (1 + u)) + s / I3 - s / I1,
    (psi - phi)' = (p - s) / (I1 (1 - u)) - s / I3 + s / I1.

Source: J.-L. Lagrange, Mecanique analytique (1788); E. T. Whittaker, A treatise on the analytical dynamics of
particles and rigid bodies, sections 71 to 73.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, sin
from typing import Any

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import body_units, quaternion_rates, vertical

from .entry import Example, by_symbol
from .heavy_top import TURNED

PARAMETERS = {"I1": 1.0, "I3": 0.5, "m": 1.5, "g": 9.81, "l": 0.4}
INITIAL = {**TURNED, "w1": 0.1, "w2": 0.2, "w3": 6.0}
ANGLES = {
    # The same motion: theta' = w1, psi' sin(theta) = w2, phi' = w3 - psi' cos(theta) where phi = 0.
    "psi": 0.0,
    "theta": 0.5,
    "phi": 0.0,
    "psi_dot": 0.2 / sin(0.5),
    "theta_dot": 0.1,
    "phi_dot": 6.0 - 0.2 * cos(0.5) / sin(0.5),
}


def system(angles: bool = False) -> cg.System:
    """The declaration, in quaternions and body rates, or with ``angles`` in Euler's angles."""
    import sympy as sp

    i1, i3, m, g, length = cg.parameters("I1 I3 m g l", positive=True)
    parameters = (i1, i3, m, g, length)
    units = dict(zip(parameters, ("kg m^2", "kg m^2", "kg", "m/s^2", "m"), strict=True))
    descriptions = {
        i1: "moment of inertia across the axis, about the fixed point",
        i3: "moment of inertia about the axis",
        m: "mass",
        g: "gravity",
        length: "centre of mass along the axis",
    }
    if angles:
        psi, theta, phi = x = cg.coordinates("psi theta phi")
        rates = tuple(cg.rate(s) for s in x)
        spin = rates[2] + rates[0] * sp.cos(theta)
        return cg.System(
            "lagrange_top_angles",
            coordinates=x,
            kinetic=i1 * (rates[1] ** 2 + rates[0] ** 2 * sp.sin(theta) ** 2) / 2 + i3 * spin**2 / 2,
            potential=m * g * length * sp.cos(theta),
            outputs={
                "vertical_momentum": i1 * rates[0] * sp.sin(theta) ** 2 + i3 * spin * sp.cos(theta),
                "spin_momentum": i3 * spin,
            },
            units={**dict.fromkeys(x, "rad"), **units},
            descriptions={psi: "precession", theta: "nutation", phi: "proper rotation", **descriptions},
            example=by_symbol((*x, *rates, *parameters), PARAMETERS | ANGLES),
        )
    q = cg.coordinates("q0 q1 q2 q3")
    w = cg.velocities("w1 w2 w3")
    gamma = vertical(q)
    body, words = body_units(q, w)
    return cg.System(
        "lagrange_top",
        kinematics=dict(zip(q, quaternion_rates(q, w), strict=True)),
        kinetic=i1 * (w[0] ** 2 + w[1] ** 2) / 2 + i3 * w[2] ** 2 / 2,
        potential=m * g * length * gamma[2],
        outputs={
            "vertical_momentum": i1 * (w[0] * gamma[0] + w[1] * gamma[1]) + i3 * w[2] * gamma[2],
            "spin_momentum": i3 * w[2],
        },
        units={**body, **units},
        descriptions={**words, **descriptions},
        example=by_symbol((*q, *w, *parameters), PARAMETERS | INITIAL),
    )


def closed_form(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = INITIAL,
    digits: int = 20,
) -> dict[str, list[Any]]:
    """The motion at ``times``, as mpmath numbers correct to about ``digits`` digits.

    ``initial`` and the result are in quaternions and body rates; see `closed_form_in_angles` for Euler's angles,
    and the module docstring for the equations. Raises ValueError unless m g l > 0, and for motions that can pass
    through the vertical (p = s or p = -s).

    >>> motion = closed_form([1.0])
    >>> round(float(motion["w2"][0]), 12)
    3.112708607939
    """
    from mpmath import mp

    with mp.workdps(2 * digits + 10):
        q0, q1, q2, q3, w1, w2, w3 = (mp.mpf(initial[name]) for name in INITIAL)
        size = mp.sqrt(q0**2 + q1**2 + q2**2 + q3**2)
        theta = 2 * mp.atan2(mp.hypot(q1, q2), mp.hypot(q0, q3))
        half_sum, half_difference = mp.atan2(q3, q0), mp.atan2(q2, q1)
        psi, phi = half_sum + half_difference, half_sum - half_difference
        precession = (w1 * mp.sin(phi) + w2 * mp.cos(phi)) / mp.sin(theta) if mp.sin(theta) else mp.zero
        start = {
            "psi": psi,
            "theta": theta,
            "phi": phi,
            "psi_dot": precession,
            "theta_dot": w1 * mp.cos(phi) - w2 * mp.sin(phi),
            "phi_dot": w3 - precession * mp.cos(theta),
        }
        angles = closed_form_in_angles(times, parameters, start, digits)
        motion: dict[str, list[Any]] = {name: [] for name in INITIAL}
        for psi, theta, phi, psi_dot, theta_dot, phi_dot in zip(*angles.values(), strict=True):
            half_sum, half_difference = (psi + phi) / 2, (psi - phi) / 2
            values = (
                size * mp.cos(theta / 2) * mp.cos(half_sum),
                size * mp.sin(theta / 2) * mp.cos(half_difference),
                size * mp.sin(theta / 2) * mp.sin(half_difference),
                size * mp.cos(theta / 2) * mp.sin(half_sum),
                psi_dot * mp.sin(theta) * mp.sin(phi) + theta_dot * mp.cos(phi),
                psi_dot * mp.sin(theta) * mp.cos(phi) - theta_dot * mp.sin(phi),
                phi_dot + psi_dot * mp.cos(theta),
            )
            for name, value in zip(motion, values, strict=True):
                motion[name].append(value)
        return motion


def closed_form_in_angles(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = ANGLES,
    digits: int = 20,
) -> dict[str, list[Any]]:
    """Like `closed_form`, with ``initial`` and the result in Euler's angles and their rates.

    >>> motion = closed_form_in_angles([0.0])
    >>> round(float(motion["theta"][0]), 12)
    0.5
    """
    from mpmath import mp

    # Twice the digits, because a start at a turning point of theta determines the phase to only half of them.
    with mp.workdps(2 * digits + 10):
        i1, i3, m, g, length = (mp.mpf(parameters[name]) for name in PARAMETERS)
        psi, theta, phi, psi_dot, theta_dot, phi_dot = (mp.mpf(initial[name]) for name in ANGLES)
        u, across = mp.cos(theta), mp.sin(theta)
        spin = phi_dot + psi_dot * u
        s = i3 * spin
        p = i1 * psi_dot * across**2 + s * u
        upright = abs(abs(p) - abs(s)) < mp.mpf(10) ** (-digits) * (abs(p) + abs(s)) or across == 0
        _require_closed_form(m * g * length, upright)
        beta = 2 * m * g * length / i1
        epsilon = theta_dot**2 + (psi_dot * across) ** 2 + beta * u
        cubic = [beta, -epsilon - (s / i1) ** 2, 2 * p * s / i1**2 - beta, epsilon - (p / i1) ** 2]
        u1, u2, u3 = sorted(mp.re(root) for root in mp.polyroots(cubic, maxsteps=200, extraprec=4 * mp.prec))
        k, rate = (u2 - u1) / (u3 - u1), mp.sqrt(beta * (u3 - u1)) / 2
        phase = mp.atan2(mp.sqrt(max(u - u1, 0)), mp.sqrt(max(u2 - u, 0)))  # 0 in a steady precession
        chi_0 = mp.ellipf(-phase if theta_dot > 0 else phase, k)

        def third(amplitude: Any, end: Any) -> Any:
            """The integral of dt / (1 - end u), end = 1 or -1, up to the amplitude."""
            n = end * (u2 - u1) / (1 - end * u1)
            return mp.ellippi(n, amplitude, k) / ((1 - end * u1) * rate)

        first = _amplitude(chi_0, k)
        drift = s / i3 - s / i1
        motion: dict[str, list[Any]] = {name: [] for name in ANGLES}
        for t in (mp.mpf(t) for t in times):
            chi = chi_0 + rate * t
            sn, cn, dn = (mp.ellipfun(name, chi, m=k) for name in ("sn", "cn", "dn"))
            now = _amplitude(chi, k)
            u = u1 + (u2 - u1) * sn**2
            both = (p + s) / i1 * (third(now, -1) - third(first, -1)) + drift * t
            apart = (p - s) / i1 * (third(now, 1) - third(first, 1)) - drift * t
            across = mp.sqrt(1 - u**2)
            psi_dot = (p - s * u) / (i1 * across**2)
            values = (
                psi + (both + apart) / 2,
                mp.acos(u),
                phi + (both - apart) / 2,
                psi_dot,
                -2 * rate * (u2 - u1) * sn * cn * dn / across,
                spin - psi_dot * u,
            )
            for name, value in zip(motion, values, strict=True):
                motion[name].append(value)
        return motion


def _require_closed_form(couple: Any, upright: bool) -> None:
    """Raise ValueError where the solution by elliptic functions does not hold."""
    if couple <= 0:
        raise ValueError("closed_form: the centre of mass must be on the positive axis: m g l > 0")
    if upright:
        raise ValueError(
            "closed_form: the vertical momentum equals the spin momentum in magnitude; the top can become upright"
        )


def _amplitude(chi: Any, k: Any) -> Any:
    """Jacobi's amplitude am(chi | k), continuous in chi."""
    from mpmath import mp

    full = 2 * mp.ellipk(k)
    turns = mp.nint(chi / full)
    rest = chi - turns * full
    return mp.pi * turns + mp.atan2(mp.ellipfun("sn", rest, m=k), mp.ellipfun("cn", rest, m=k))


def example(angles: bool = False) -> Example:
    """The catalogue entry, in quaternions, or with ``angles`` in Euler's angles."""
    return Example.of(
        __name__,
        description="Symmetric heavy top"
        + (", in Euler's angles" if angles else ", in quaternions and body rates"),
        source="Lagrange (1788); Whittaker, Analytical dynamics, sections 71-73",
        initial=ANGLES if angles else INITIAL,
        forms=("lagrange", "poincare", "chetaev", "hamel", "nonholonomic", "routh")
        if angles
        else ("poincare", "chetaev", "nonholonomic"),
        build=lambda: system(angles),
        conserved=("vertical_momentum", "spin_momentum"),
        solve=closed_form_in_angles if angles else closed_form,
    )

"""The free rigid body (Euler's top): a rigid body about its centre of mass, free of torques.

Attitude by the unit quaternion q of the rotation R(q) from body to space, velocities w1, w2, w3 = body
components of the angular velocity, principal moments I1, I2, I3:
    dq/dt = q o (0, w) / 2,    d(I w)/dt = (I w) x w.
Four coordinates, three velocities: intransitive, with the brackets of so(3).

Conserved: energy, |q|^2 = 1, and the angular momentum R I w in space (three components).

Closed form: with L = |I w|, E the energy, k the axis around which the angular velocity circulates (that of the
largest moment if L^2 > 2 E I_j, otherwise that of the smallest), j the middle axis and i the other,
    w_i = A_i cn(u | n),  w_j = A_j sn(u | n),  w_k = A_k dn(u | n),    u = u_0 + lambda t,
    A_i^2 = (2 E I_k - L^2) / (I_i (I_k - I_i)),    A_j^2 = (2 E I_k - L^2) / (I_j (I_k - I_j)),
    A_k^2 = (L^2 - 2 E I_i) / (I_k (I_k - I_i)),    lambda^2 = (I_k - I_j) (L^2 - 2 E I_i) / (I_i I_j I_k),
    n = (I_j - I_i) (2 E I_k - L^2) / ((I_k - I_j) (L^2 - 2 E I_i)).
The attitude follows from I w = R^T L and one quadrature, the angle psi about L:
    d(psi)/dt = L (I_j w_j^2 + I_k w_k^2) / (I_j^2 w_j^2 + I_k^2 w_k^2).

Source: L. Euler (1758); C. G. J. Jacobi (1849); L. D. Landau and E. M. Lifshitz, Mechanics, section 37.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import body_units, product, quaternion_rates, rotation

from .entry import Example, by_symbol, running_integral

PARAMETERS = {"I1": 1.0, "I2": 2.0, "I3": 3.0}
INITIAL = {"q0": 1.0, "q1": 0.0, "q2": 0.0, "q3": 0.0, "w1": 0.4, "w2": 1.0, "w3": 0.2}


def system() -> cg.System:
    """The declaration; principal moments of inertia in kg m^2."""
    q = cg.coordinates("q0 q1 q2 q3")
    w = cg.velocities("w1 w2 w3")
    inertia = cg.parameters("I1 I2 I3", positive=True)
    momentum = [moment * rate for moment, rate in zip(inertia, w, strict=True)]
    in_space = [sum(r * p for r, p in zip(row, momentum, strict=True)) for row in rotation(q)]
    units, words = body_units(q, w)
    return cg.System(
        "euler_rigid_body",
        kinematics=dict(zip(q, quaternion_rates(q, w), strict=True)),
        kinetic=sum(moment * rate**2 for moment, rate in zip(inertia, w, strict=True)) / 2,
        outputs={f"momentum_{axis}": component for axis, component in zip("xyz", in_space, strict=True)},
        units={**units, **dict.fromkeys(inertia, "kg m^2")},
        descriptions={
            **words,
            **{symbol: f"principal moment {i}" for i, symbol in enumerate(inertia, 1)},
        },
        example=by_symbol((*q, *w, *inertia), PARAMETERS | INITIAL),
    )


def closed_form(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = INITIAL,
    digits: int = 20,
) -> dict[str, list[Any]]:
    """The motion at the sorted ``times``, as mpmath numbers correct to about ``digits`` digits.

    Numbers can be given as strings, which are read as exact decimals. See the module docstring for the equations.
    Raises ValueError if two moments are equal (the motion is then elementary) or the body is at rest.

    >>> motion = closed_form([10.0])
    >>> round(float(motion["w2"][0]), 12)
    -1.00519888274
    """
    from mpmath import mp

    with mp.workdps(digits + 5):
        inertia = [mp.mpf(parameters[name]) for name in ("I1", "I2", "I3")]
        w_0 = [mp.mpf(initial[name]) for name in ("w1", "w2", "w3")]
        q_0 = [mp.mpf(initial[name]) for name in ("q0", "q1", "q2", "q3")]
        ts = [mp.mpf(t) for t in times]
        rates, (i, k), panel = _rates(inertia, w_0)
        # (a, b, i) is right-handed: Euler angles about L with axis i as the third.
        a, b = (i + 1) % 3, (i + 2) % 3
        length = mp.sqrt(sum((moment * rate) ** 2 for moment, rate in zip(inertia, w_0, strict=True)))

        def precession(t: Any) -> Any:
            w = rates(t)
            momentum = inertia[a] * w[a], inertia[b] * w[b]
            return length * (momentum[0] * w[a] + momentum[1] * w[b]) / (momentum[0] ** 2 + momentum[1] ** 2)

        def attitude(w: Sequence[Any], psi: Any) -> tuple[Any, Any, Any, Any]:
            third, first, second = (inertia[axis] * w[axis] for axis in (i, a, b))
            # Component k never vanishes: this branch keeps phi, and so the quaternion's sign, continuous.
            phi = mp.pi + mp.atan2(-first, -second) if k == b and second < 0 else mp.atan2(first, second)
            theta = mp.atan2(mp.hypot(first, second), third)
            return product(product(_turn(i, psi), _turn(a, theta)), _turn(i, phi))

        from_start = attitude(w_0, mp.zero)
        to_space = product(q_0, (from_start[0], -from_start[1], -from_start[2], -from_start[3]))
        motion: dict[str, list[Any]] = {name: [] for name in INITIAL}
        for t, psi in zip(ts, running_integral(precession, ts, panel), strict=True):
            w = rates(t)
            q = product(to_space, attitude(w, psi))
            for name, value in zip(motion, (*q, *w), strict=True):
                motion[name].append(value)
        return motion


def _rates(
    inertia: Sequence[Any], w_0: Sequence[Any]
) -> tuple[Callable[[Any], list[Any]], tuple[int, int], Any]:
    """w(t), the axes (i, k) of the module docstring, and a time scale on which w is smooth."""
    from mpmath import mp

    low, j, high = sorted(range(3), key=lambda axis: inertia[axis])
    if inertia[low] == inertia[j] or inertia[j] == inertia[high] or not any(w_0):
        raise ValueError(
            "closed_form: needs three different moments of inertia and a body that is not at rest"
        )
    energy2 = sum(moment * rate**2 for moment, rate in zip(inertia, w_0, strict=True))
    square = sum((moment * rate) ** 2 for moment, rate in zip(inertia, w_0, strict=True))
    i, k = (low, high) if square > energy2 * inertia[j] else (high, low)
    excess_k, excess_i = energy2 * inertia[k] - square, square - energy2 * inertia[i]
    size_i = mp.sqrt(excess_k / (inertia[i] * (inertia[k] - inertia[i])))
    size_j = mp.sqrt(excess_k / (inertia[j] * (inertia[k] - inertia[j])))
    size_k = mp.sqrt(excess_i / (inertia[k] * (inertia[k] - inertia[i])))
    rate = mp.sqrt((inertia[k] - inertia[j]) * excess_i / (inertia[i] * inertia[j] * inertia[k]))
    modulus = (inertia[j] - inertia[i]) * excess_k / ((inertia[k] - inertia[j]) * excess_i)
    amplitude_k = mp.sign(w_0[k]) * size_k
    even = 1 if (i, j, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1
    amplitude_j = -mp.sign(w_0[k]) * even * mp.sign(inertia[j] - inertia[k]) * size_j
    if excess_k == 0:
        return (lambda t: list(w_0)), (i, k), mp.one
    phase = mp.ellipf(mp.atan2(w_0[j] / amplitude_j, w_0[i] / size_i), modulus)

    def rates(t: Any) -> list[Any]:
        u = phase + rate * t
        w = [mp.zero] * 3
        w[i] = size_i * mp.ellipfun("cn", u, m=modulus)
        w[j] = amplitude_j * mp.ellipfun("sn", u, m=modulus)
        w[k] = amplitude_k * mp.ellipfun("dn", u, m=modulus)
        return w

    return rates, (i, k), 1 / rate


def _turn(axis: int, angle: Any) -> tuple[Any, ...]:
    """The quaternion of a rotation by ``angle`` about a coordinate axis."""
    from mpmath import mp

    q = [mp.cos(angle / 2), mp.zero, mp.zero, mp.zero]
    q[axis + 1] = mp.sin(angle / 2)
    return tuple(q)


example = Example.maker(
    __name__,
    description="Free rigid body in quaternions and body rates",
    source="Euler (1758); Jacobi (1849); Landau and Lifshitz, Mechanics, section 37",
    forms=("poincare", "chetaev", "nonholonomic"),
    conserved=("momentum_x", "momentum_y", "momentum_z"),
)

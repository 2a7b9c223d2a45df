"""Attitude by quaternions: R(q) maps body axes to space axes, q = (q0, q1, q2, q3), scalar part first.

Plain arithmetic, which works for SymPy symbols, mpmath numbers and NumPy arrays alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["body_units", "product", "quaternion_rates", "rotation", "vertical"]


def product(p: Sequence[Any], q: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """The quaternion product p o q; R(p o q) = R(p) R(q).

    >>> product((0, 1, 0, 0), (0, 0, 1, 0))
    (0, 0, 0, 1)
    """
    p0, p1, p2, p3 = p
    q0, q1, q2, q3 = q
    return (
        p0 * q0 - p1 * q1 - p2 * q2 - p3 * q3,
        p0 * q1 + p1 * q0 + p2 * q3 - p3 * q2,
        p0 * q2 + p2 * q0 + p3 * q1 - p1 * q3,
        p0 * q3 + p3 * q0 + p1 * q2 - p2 * q1,
    )


def quaternion_rates(q: Sequence[Any], w: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """dq/dt = q o (0, w) / 2 for the angular velocity w of shape (3,) in body axes."""
    q0, q1, q2, q3 = q
    w1, w2, w3 = w
    return (
        (-q1 * w1 - q2 * w2 - q3 * w3) / 2,
        (q0 * w1 + q2 * w3 - q3 * w2) / 2,
        (q0 * w2 + q3 * w1 - q1 * w3) / 2,
        (q0 * w3 + q1 * w2 - q2 * w1) / 2,
    )


def rotation(q: Sequence[Any]) -> tuple[tuple[Any, Any, Any], ...]:
    """The rows of R(q), quadratic in q: a rotation matrix times |q|^2.

    >>> rotation((0, 1, 0, 0))
    ((1, 0, 0), (0, -1, 0), (0, 0, -1))
    """
    q0, q1, q2, q3 = q
    return (
        (q0**2 + q1**2 - q2**2 - q3**2, 2 * (q1 * q2 - q0 * q3), 2 * (q1 * q3 + q0 * q2)),
        (2 * (q1 * q2 + q0 * q3), q0**2 - q1**2 + q2**2 - q3**2, 2 * (q2 * q3 - q0 * q1)),
        (2 * (q1 * q3 - q0 * q2), 2 * (q2 * q3 + q0 * q1), q0**2 - q1**2 - q2**2 + q3**2),
    )


def vertical(q: Sequence[Any]) -> tuple[Any, Any, Any]:
    """gamma = R(q)^T e_3: the third space axis in body axes."""
    return rotation(q)[2]


def body_units(q: Sequence[Any], w: Sequence[Any]) -> tuple[dict[Any, str], dict[Any, str]]:
    """Units and descriptions of a quaternion and of body rates, by symbol."""
    units = {**dict.fromkeys(q, "1"), **dict.fromkeys(w, "rad/s")}
    words = {symbol: f"quaternion, component {i}" for i, symbol in enumerate(q)}
    words |= {symbol: f"angular velocity about body axis {i}" for i, symbol in enumerate(w, 1)}
    return units, words

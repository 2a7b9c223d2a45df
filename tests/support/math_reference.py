"""The reference of test_math.py for cg_math.h: arguments to try and mpmath's values, in units in the last place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp, mpf

Array = np.ndarray[Any, np.dtype[np.float64]]
PRECISION = 200  # bits; mpmath adds its own for huge angles
ONE_ARGUMENT = ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sqrt", "sinh", "cosh", "tanh")
TWO_ARGUMENTS = ("atan2", "pow")
FUNCTIONS = ONE_ARGUMENT + TWO_ARGUMENTS
LARGEST = float(np.finfo(float).max)


class Reference(NamedTuple):
    """Value = (units + rest) * 2^exponent, units a rounded integer below 2^53 (2^53 at 2^971: overflow)."""

    units: Array
    rest: Array
    exponent: np.ndarray[Any, np.dtype[np.int64]]


def exact(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(mpmath, {"pow": "power"}.get(name, name))
    return function


def reference(name: str, x: Array, y: Array) -> Reference:
    """mpmath's values; the unit is that of the exact value's binade, or of the subnormals."""
    function, two = exact(name), name in TWO_ARGUMENTS
    units, rest = np.empty(len(x)), np.empty(len(x))
    exponent = np.empty(len(x), dtype=np.int64)
    with mp.workprec(PRECISION):
        for i, (a, b) in enumerate(zip(x.tolist(), y.tolist())):
            value = function(mpf(a), mpf(b)) if two else function(mpf(a))
            sign, mantissa, power, bits = value._mpf_
            unit = max(power + bits - 53, -1074)
            if unit > 971 or (unit == 971 and mantissa >> (bits - 54) == (1 << 54) - 1):
                units[i], rest[i], exponent[i] = (-1) ** sign * 2.0**53, 0.0, 971
                continue
            shift = unit - power
            whole = (mantissa >> shift) if shift > 0 else mantissa << -shift
            part = mantissa - (whole << shift) if shift > 0 else 0
            units[i], exponent[i] = (-1) ** sign * whole, unit
            rest[i] = (-1) ** sign * (float(mpf(part) / mpf(2) ** shift) if part else 0.0)
    return Reference(units, rest, exponent)


def errors(found: Array, expected: Reference) -> Array:
    """Distance in units; infinity for a NaN. An overflow counts as the value that would follow the largest."""
    scaled = np.ldexp(found, -expected.exponent)
    overflow = np.isinf(found) & (expected.exponent == 971)
    scaled = np.where(overflow, np.copysign(2.0**53, found), scaled)
    with np.errstate(invalid="ignore"):
        error: Array = np.abs((scaled - expected.units) - expected.rest)
    return np.where(np.isnan(error), np.inf, error)


@cache
def near_multiples() -> Array:
    """The doubles in each binade that are closest to a multiple of pi/2, by continued fractions."""
    found = []
    with mp.workprec(1300):
        half_pi = mpmath.pi / 2
        for e in range(-52, 972):
            x = (
                mpf(2) ** e / half_pi
            )  # |m x - k| small for an m of 53 bits: m is the denominator of a convergent
            before, now = 0, 1  # denominators
            for _ in range(200):
                whole = int(mpmath.floor(x))
                if x == whole:
                    break
                x = 1 / (x - whole)
                before, now = now, int(mpmath.floor(x)) * now + before
                found += [float(m) * 2.0**e for m in (now, now + before) if 2**52 <= m < 2**53]
                if now >= 2**53:
                    break
    return np.array(found)


def _spread(rng: np.random.Generator, n: int, low: float, high: float) -> Array:
    """Both signs, exponents uniformly distributed from low to high."""
    with np.errstate(under="ignore"):
        out: Array = rng.choice([-1.0, 1.0], n) * np.exp2(rng.uniform(low, high, n))
    return out


def _neighbours(values: Array) -> Array:
    return np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])


def _one(name: str, rng: np.random.Generator, n: int) -> list[Array]:
    """About n arguments: over all exponents, uniform over the usual range, and in difficult places."""
    q = n // 4
    if name in ("sin", "cos", "tan"):
        multiples = np.concatenate([rng.integers(-700000, 700000, q // 6), rng.integers(-40, 41, q // 6)]) * (
            np.pi / 2
        )
        far = rng.integers(-(2**29), 2**29, q // 6) * (np.pi / 2)
        hard = [
            _neighbours(np.concatenate([multiples, far])),
            near_multiples(),
            _spread(rng, q // 4, 29.8, 30.1),
        ]
        return [_spread(rng, q, -1074, 1023.999), rng.uniform(-1e6, 1e6, q), rng.uniform(-4, 4, q), *hard]
    if name in ("asin", "acos"):
        ends = rng.choice([-1.0, 1.0], q) * (1 - np.exp2(rng.uniform(-53, -1, q)))
        return [_spread(rng, q, -1074, 0), rng.uniform(-1, 1, q), ends, rng.uniform(0.45, 0.55, q)]
    if name == "atan":
        switches = np.concatenate([rng.uniform(0.45, 0.6, q // 2), rng.uniform(1.8, 2.2, q // 2)])
        return [_spread(rng, q, -1074, 1023.999), rng.uniform(-3, 3, q), _spread(rng, q, -3, 3), switches]
    if name == "exp":
        borders = np.concatenate([rng.uniform(-745.3, -707, q // 2), rng.uniform(707, 709.9, q // 2)])
        return [_spread(rng, q, -1074, 9.5), rng.uniform(-746, 710, q), rng.uniform(-1, 1, q), borders]
    if name == "log":
        around = 1 + _spread(rng, q, -52, -1)
        return [np.abs(_spread(rng, 2 * q, -1074, 1023.999)), rng.uniform(0.5, 2, q), around]
    if name == "sqrt":
        return [np.abs(_spread(rng, 2 * q, -1074, 1023.999)), rng.uniform(0, 4, 2 * q)]
    borders = rng.choice([-1.0, 1.0], q) * rng.uniform(708, 711, q)
    return [_spread(rng, q, -1074, 9.47), rng.uniform(-710.5, 710.5, q), rng.uniform(-3, 3, q), borders]


def _two(name: str, rng: np.random.Generator, n: int) -> list[tuple[Array, Array]]:
    q = n // 5
    if name == "atan2":
        x = _spread(rng, q, -1074, 1023.999)
        with np.errstate(over="ignore", under="ignore"):
            y = np.clip(x * _spread(rng, q, -4, 4), -LARGEST, LARGEST)
            tiny = np.ldexp(np.rint(_spread(rng, q, 0, 20)), -1074)
        return [
            (_spread(rng, q, -1074, 1023.999), x),
            (y, x),
            (rng.uniform(-1, 1, q), rng.uniform(-1, 1, q)),
            (tiny, np.ldexp(np.rint(_spread(rng, q, 0, 20)), -1074)),
            (_spread(rng, q, 1020, 1023.999), _spread(rng, q, 1020, 1023.999)),
        ]
    pairs = []
    for x in (
        np.abs(_spread(rng, q, -1074, 1023.999)),
        rng.uniform(0.5, 2, q),
        1 + _spread(rng, q, -52, -1),
        np.exp2(rng.uniform(-4, 4, q)),
    ):
        wanted = rng.uniform(
            -746, 710.5, q
        )  # the logarithm of the power: over all results, and beyond both limits
        wanted[: q // 4] = rng.uniform(-746, -707, q // 4)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            y = wanted / np.log(x)
        pairs.append((x, np.where(np.isfinite(y), y, 1.0)))
    whole = rng.integers(-40, 41, q).astype(float)
    pairs.append((-np.exp2(rng.uniform(-24, 24, q)), whole))
    return pairs


@cache
def arguments(name: str, n: int) -> tuple[Array, Array]:
    """(x, y) for atan2(x, y) and pow(x, y); y repeats x for the others. A multiple of 8 pairs."""
    rng = np.random.default_rng(sum(map(ord, name)))
    if name in TWO_ARGUMENTS:
        pairs = _two(name, rng, n)
        x, y = np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])
    else:
        x = np.concatenate(_one(name, rng, n))
        y = x
    usable = len(x) // 8 * 8
    order = rng.permutation(len(x))[:usable]  # neighbouring lanes get arguments of different kinds
    return np.ascontiguousarray(x[order]), np.ascontiguousarray(y[order])

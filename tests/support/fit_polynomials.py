"""Fit the polynomials of runtime/c/cg_math*.h: `python tests/support/fit_polynomials.py [NAME...]` prints their
coefficients; with `--single`, those of runtime/c/float.

Each is a minimax fit of weight(z) * (target(z) - p(z)) by the Remez exchange in 60 digits. Coefficients are rounded to
double from the constant term up, and the remaining ones are fitted again after each, so that they compensate for the
rounding of those before. The printed bound is that of the polynomial with the rounded coefficients.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
from mpmath import mp, mpf

Function = Callable[[Any], Any]


class Fit(NamedTuple):
    """p(z), `terms` coefficients, on [low, high]; `weight` turns its error into the relative error of the function."""

    target: Function
    weight: Function
    low: Any
    high: Any
    terms: int


def series(term: Function, z: Any) -> Any:
    """Sum of term(n) z^n, n = 0, 1, ...: the targets near z = 0, where their closed forms suffer from cancellation."""
    total, power, n = mpf(0), mpf(1), 0
    while n < 400:
        add = term(n) * power
        total += add
        if n > 3 and abs(add) < mpf(10) ** -(mp.dps + 5):
            break
        power, n = power * z, n + 1
    return total


def factorial(n: int) -> Any:
    return mpmath.factorial(n)


def arcsine_term(n: int) -> Any:
    """Coefficient of s^(2n + 1) in asin(s)."""
    return mpmath.binomial(2 * n, n) / (mpf(4) ** n * (2 * n + 1))


mp.dps = 60
QUARTER = (mpmath.pi / 4 * (1 + mpf(2) ** -12)) ** 2  # a little more: k is rounded from a rounded product
HALF_LN2 = mpmath.ln2 / 2 * (1 + mpf(2) ** -12)
LOG_END = (mpmath.sqrt(2) - 1) ** 2 / (mpmath.sqrt(2) + 1) ** 2

FITS = {
    # sin r = r + r z p(z), z = r r
    "sin": Fit(
        lambda z: series(lambda n: (-1) ** (n + 1) / factorial(2 * n + 3), z),
        lambda z: z / mpmath.sinc(mpmath.sqrt(z)),
        mpf(0),
        QUARTER,
        6,
    ),
    # cos r = 1 - z/2 + z z p(z)
    "cos": Fit(
        lambda z: series(lambda n: (-1) ** n / factorial(2 * n + 4), z),
        lambda z: z * z / mpmath.cos(mpmath.sqrt(z)),
        mpf(0),
        QUARTER,
        6,
    ),
    # exp r = cosh r + sinh r, cosh r = 1 + z p(z), |r| <= ln(2)/2
    "exp_even": Fit(
        lambda z: series(lambda n: 1 / factorial(2 * n + 2), z),
        lambda z: z,
        mpf(0),
        HALF_LN2**2,
        5,
    ),
    # sinh r = r + r z p(z)
    "exp_odd": Fit(
        lambda z: series(lambda n: 1 / factorial(2 * n + 3), z),
        lambda z: z * mpmath.sqrt(z),
        mpf(0),
        HALF_LN2**2,
        5,
    ),
    # sinh r = r + r z p(z), |r| <= 1
    "sinh": Fit(
        lambda z: series(lambda n: 1 / factorial(2 * n + 3), z),
        lambda z: z / series(lambda n: 1 / factorial(2 * n + 1), z),
        mpf(0),
        mpf(1),
        7,
    ),
    # cosh r = 1 + z p(z), |r| <= 1
    "cosh": Fit(
        lambda z: series(lambda n: 1 / factorial(2 * n + 2), z),
        lambda z: z / mpmath.cosh(mpmath.sqrt(z)),
        mpf(0),
        mpf(1),
        7,
    ),
    # log((1 + s)/(1 - s)) = 2 s + s z p(z), z = s s
    "log": Fit(
        lambda z: series(lambda n: mpf(2) / (2 * n + 3), z),
        lambda z: z / 2,
        mpf(0),
        LOG_END,
        7,
    ),
    # the same = 2 s + 2 s z/3 + s z z p(z)
    "pow": Fit(
        lambda z: series(lambda n: mpf(2) / (2 * n + 5), z),
        lambda z: z * z / 2,
        mpf(0),
        LOG_END,
        8,
    ),
    # asin s = s + s z p(z), s <= 1/2
    "asin": Fit(
        lambda z: series(lambda n: arcsine_term(n + 1), z),
        lambda z: z / series(arcsine_term, z),
        mpf(0),
        mpf(1) / 4,
        13,
    ),
    # atan t = t + t z p(z), |t| <= 1/2
    "atan": Fit(
        lambda z: series(lambda n: mpf((-1) ** (n + 1)) / (2 * n + 3), z),
        lambda z: z / series(lambda n: mpf((-1) ** n) / (2 * n + 1), z),
        mpf(0),
        mpf(1) / 4,
        13,
    ),
}


SINGLE_TERMS = {
    "sin": 3, "cos": 3, "exp_even": 3, "exp_odd": 2, "sinh": 4, "cosh": 4, "log": 4, "asin": 6, "atan": 6,
}  # fmt: skip
"""How many coefficients single precision needs."""


def single(value: Any) -> float:
    """The nearest number of single precision."""
    return float(struct.unpack("f", struct.pack("f", float(value)))[0])


def evaluate(coefficients: list[Any], z: Any) -> Any:
    return mpmath.polyval(coefficients[::-1], z)


def error_at(fit: Fit, coefficients: list[Any], z: Any) -> Any:
    return fit.weight(z) * (fit.target(z) - evaluate(coefficients, z))


def remez(fit: Fit, fixed: list[Any]) -> list[Any]:
    """The best coefficients after the `fixed` ones: levelled errors at alternating extrema."""
    free = fit.terms - len(fixed)
    middle, half = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    count = free + 1
    points = [middle - half * mpmath.cos(mpmath.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    grid = [middle - half * mpmath.cos(mpmath.pi * i / (40 * count)) for i in range(40 * count + 1)]
    goal = [(fit.weight(z), fit.target(z) - evaluate(fixed, z) if fixed else fit.target(z)) for z in grid]
    found: list[Any] = []
    for _ in range(12):
        rows, right = mpmath.matrix(count, count), mpmath.matrix(count, 1)
        for i, z in enumerate(points):
            weight = fit.weight(z)
            for j in range(free):
                rows[i, j] = weight * z ** (len(fixed) + j)
            rows[i, free] = (-1) ** i
            right[i] = weight * (fit.target(z) - (evaluate(fixed, z) if fixed else 0))
        solved = mpmath.lu_solve(rows, right)
        found = [solved[j] for j in range(free)]
        tail = [mpf(0)] * len(fixed) + found
        errors = [weight * (value - evaluate(tail, z)) for z, (weight, value) in zip(grid, goal)]
        chosen: list[int] = []
        for i, value in enumerate(errors):  # the largest of each run of one sign
            if chosen and mpmath.sign(errors[chosen[-1]]) == mpmath.sign(value):
                if abs(value) > abs(errors[chosen[-1]]):
                    chosen[-1] = i
            elif value != 0:
                chosen.append(i)
        while len(chosen) > count:
            chosen.pop(0 if abs(errors[chosen[0]]) < abs(errors[chosen[-1]]) else -1)
        if len(chosen) < count:
            break
        points = [grid[i] for i in chosen]
        largest = max(abs(errors[i]) for i in chosen)
        if largest < abs(solved[free]) * (1 + mpf(1) / 1000):
            break
    return found


def coefficients_of(fit: Fit, rounded: Callable[[Any], float] = float) -> list[float]:
    fixed: list[Any] = []
    while len(fixed) < fit.terms:
        fixed.append(mpf(rounded(remez(fit, fixed)[0])))
    return [float(c) for c in fixed]


def bound(fit: Fit, coefficients: list[float], points: int = 1000) -> Any:
    """The largest relative error that the polynomial adds to its function."""
    exact = [mpf(c) for c in coefficients]
    step = (fit.high - fit.low) / points
    return max(abs(error_at(fit, exact, fit.low + step * i)) for i in range(points + 1))


def main(names: list[str]) -> None:
    if names[:1] == ["--single"]:
        fits, rounded = {name: FITS[name]._replace(terms=n) for name, n in SINGLE_TERMS.items()}, single
        names = names[1:]
    else:
        fits, rounded = FITS, float
    for name in names or list(fits):
        fit = fits[name]
        coefficients = coefficients_of(fit, rounded)
        print(f"{name}: error 2^{float(mpmath.log(bound(fit, coefficients), 2)):.1f}")
        for c in coefficients:
            print(f"    {c.hex()}")


if __name__ == "__main__":
    main(sys.argv[1:])

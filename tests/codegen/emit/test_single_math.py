"""runtime/c/float/cg_math*.h: errors against mpmath and the C library's double precision, special values, no double."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from typing import Any

import fit_polynomials
import math_reference as ref
import mpmath
import numpy as np
import pytest
from c_runtime import SOURCES, STRICT, run
from integrations import need
from test_math import RUNTIME

from chaplygin.codegen.emit.single_precision import single_precision

Singles = np.ndarray[Any, np.dtype[np.float32]]
Call = Callable[..., Singles]
LIMIT = 2.0  # ulp
IN_NUMPY: dict[str, Callable[..., Any]] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "pow": np.power
}  # fmt: skip


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Call]:
    """(compiler, *flags) -> call(name, x, y) of the functions compiled so, with warnings as errors."""
    folder = tmp_path_factory.mktemp("single_math")
    text = (SOURCES / "check_math.c").read_text(encoding="utf-8")
    source = folder / "check_math.c"
    source.write_text(single_precision({"check_math.c": text})["check_math.c"], encoding="utf-8")

    @functools.cache
    def make(compiler: str = "gcc", *flags: str) -> Call:
        target = folder / f"{compiler}{''.join(flags)}.so"
        command = [need(compiler), "-std=c99", "-O2", "-fPIC", "-shared", *STRICT, "-Wdouble-promotion"]
        run([*command, *flags, f"-I{RUNTIME / 'float'}", str(source), "-o", str(target), "-lm"])
        entry = ctypes.CDLL(str(target)).check_math
        entry.argtypes = [ctypes.c_char_p, ctypes.c_ssize_t, *[ctypes.c_void_p] * 3]

        def call(name: str, x: Singles, y: Singles | None = None) -> Singles:
            x, out = np.ascontiguousarray(x), np.empty_like(x)
            y = x if y is None else np.ascontiguousarray(y)
            assert x.dtype == y.dtype == np.float32
            assert entry(name.encode(), len(x), x.ctypes.data, y.ctypes.data, out.ctypes.data) == 0
            return out

        return call

    return make


def in_double(name: str, x: Singles, y: Singles) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The value by NumPy in double precision, whose error is 2^-28 ulp of single precision."""
    function = IN_NUMPY.get(name) or getattr(np, name)
    arguments = (x, y) if name in ref.TWO_ARGUMENTS else (x,)
    with np.errstate(all="ignore"):
        value: np.ndarray[Any, np.dtype[np.float64]] = function(*(a.astype(np.float64) for a in arguments))
    return value


def errors(found: Singles, exact: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, Any]:
    """Distance in units of the last place; an overflow counts as the value that would follow the largest."""
    unit = np.ldexp(1.0, np.maximum(np.frexp(exact)[1], -125) - 24)
    unit = np.where(np.isfinite(exact), unit, 2.0**104)
    end = np.ldexp(1.0, 128)
    with np.errstate(invalid="ignore"):
        distance = np.abs(np.clip(found.astype(np.float64), -end, end) - np.clip(exact, -end, end)) / unit
    same = np.isnan(found) & np.isnan(exact)
    return np.where(same, 0.0, np.where(np.isnan(found) | np.isnan(exact), np.inf, distance))


def sample(name: str, count: int, seed: int = 3) -> tuple[Singles, Singles]:
    """Numbers of all magnitudes and signs, and pairs whose power neither overflows nor vanishes."""
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(0, 2**32, count, dtype=np.uint32).view(np.float32) for _ in range(2))
    if name == "pow":
        x = np.abs(x)
        x[::2] = rng.uniform(0.3, 3.0, len(x[::2]))
        with np.errstate(all="ignore"):
            y[::3] = rng.uniform(-104.0, 90.0, len(y[::3])) / np.log(x[::3].astype(np.float64))
    if name == "atan2":
        with np.errstate(all="ignore"):
            y[::2] = x[::2] * rng.uniform(-4.0, 4.0, len(x[::2])).astype(np.float32)
    return x, y


@pytest.mark.parametrize("flags", [("-ffp-contract=off",), ("-ffp-contract=fast", "-march=native")])
@pytest.mark.parametrize("name", ref.FUNCTIONS)
def test_errors_are_below_two_ulp(build: Callable[..., Call], name: str, flags: tuple[str, ...]) -> None:
    x, y = sample(name, 50_000)
    error = errors(build("gcc", *flags)(name, x, y), in_double(name, x, y))
    worst = int(np.argmax(error))
    limit = 0.5 if name == "sqrt" else LIMIT
    assert error[worst] <= limit, f"{error[worst]} ulp at {float(x[worst]).hex()}, {float(y[worst]).hex()}"


@pytest.mark.parametrize("name", ref.FUNCTIONS)
def test_errors_by_mpmath(build: Callable[..., Call], name: str) -> None:
    """The reference of the other tests is good enough: the same errors by 60 digits, on 500 arguments."""
    x, y = sample(name, 500, seed=8)
    found = build("gcc", "-ffp-contract=off")(name, x, y)
    by_double = errors(found, in_double(name, x, y))
    with mpmath.workdps(60):
        for i in np.flatnonzero(np.isfinite(found) & (found != 0) & (np.abs(found) > 2.0**-126)):
            arguments = [mpmath.mpf(float(a[i])) for a in (x, y)][: 2 if name in ref.TWO_ARGUMENTS else 1]
            value = ref.exact(name)(*arguments)
            unit = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(abs(value), 2)) - 23)
            assert float(abs(float(found[i]) - value) / unit) == pytest.approx(by_double[i], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ref.ONE_ARGUMENT)
def test_errors_over_all_magnitudes(build: Callable[..., Call], name: str) -> None:
    """Every 61st number."""
    call = build("gcc", "-ffp-contract=off")
    for start in range(0, 2**32, 2**28):
        x = np.arange(start, start + 2**28, 61, dtype=np.int64).astype(np.uint32).view(np.float32)
        error = errors(call(name, x), in_double(name, x, x))
        assert error.max() <= LIMIT, float(x[int(np.argmax(error))]).hex()


@pytest.mark.parametrize("name", ref.FUNCTIONS)
def test_special_values_are_those_of_the_c_library(build: Callable[..., Call], name: str) -> None:
    special = [0.0, 1.0, 2.0, 3.0, 0.5, np.inf, np.nan, 1e-45, 1.5e38, 8388609.0, 16777216.0]
    values = np.array([*special, *(-v for v in special)], dtype=np.float32)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    real = (
        (x + np.float32(0), y + np.float32(0)) if name == "atan2" else (x, y)
    )  # for which no zero has a sign
    found, expected = build("gcc", "-ffp-contract=off")(name, x, y), in_double(name, *real)
    assert errors(found, expected).max() <= LIMIT
    exact = (expected == 0) | ~np.isfinite(expected)
    np.testing.assert_array_equal(found[exact], expected[exact].astype(np.float32))
    ordered = exact & ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[ordered]), np.signbit(expected[ordered]))


@pytest.mark.integration("clang")
@pytest.mark.parametrize("name", [*ref.FUNCTIONS, "min", "max", "sign", "abs", "sincos_sin", "sincos_cos"])
def test_bits_are_the_same_with_clang(build: Callable[..., Call], name: str) -> None:
    x, y = sample(name, 50_000, seed=5)
    first, second = (build(c, "-ffp-contract=off")(name, x, y) for c in ("gcc", "clang"))
    np.testing.assert_array_equal(first, second)


def test_bits_of_two_over_pi() -> None:
    text = (RUNTIME / "float" / "cg_math_trig.h").read_text(encoding="utf-8")
    table = text[text.index("cg_two_over_pi[8]") : text.index("};")]
    found = int("".join(word[2:10] for word in table.split() if word.startswith("0x")), 16)
    with mpmath.workprec(400):
        assert found == int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** 224))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if terms > 3 else ())
        for name, terms in fit_polynomials.SINGLE_TERMS.items()
    ],
)
def test_polynomials_are_the_fitted_ones(name: str) -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in (RUNTIME / "float").glob("cg_math_*.h"))
    literals = {float.fromhex(number) for number in re.findall(r"-?0x[\da-f.]+p[+-]\d+", texts)}
    fit = fit_polynomials.FITS[name]._replace(terms=fit_polynomials.SINGLE_TERMS[name])
    assert set(fit_polynomials.coefficients_of(fit, fit_polynomials.single)) <= literals

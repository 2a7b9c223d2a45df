"""cg_math.h: errors against mpmath, special values, the same bits with every compiler, CPU level and lane width."""

from __future__ import annotations

import ctypes
import functools
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import fit_polynomials
import math_reference as ref
import mpmath
import numpy as np
import pytest
from c_runtime import run
from integrations import need
from math_reference import Array
from mpmath import mp, mpf

ROOT = Path(__file__).resolve().parents[3]
RUNTIME = ROOT / "runtime" / "c"
SOURCES = ROOT / "tests" / "c"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-Wno-psabi"]
BASE = ["-std=c99", "-O3", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math", f"-I{RUNTIME}"]
FUSED = "-ffp-contract=fast"
LIMIT = 2.0  # ulp

Call = Callable[[str, Array, Array], Array]
Build = Callable[..., Call]


def need_x86(level: str) -> None:
    """Skip the test if this CPU cannot run the level's instructions."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the levels are those of x86-64")
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    if level == "x86-64-v3" and not ("avx2" in flags and "fma" in flags and "bmi2" in flags):
        pytest.skip("this CPU has no AVX2 and FMA")


def compile_library(source: str, target: Path, compiler: str, flags: list[str]) -> None:
    libraries = ["-lquadmath"] if "quad" in source else []
    run([need(compiler), *BASE, *STRICT, *flags, SOURCES / source, "-o", target, *libraries, "-lm"])


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """(compiler, lanes, level, contraction) -> call(name, x, y) of that build."""
    folder = tmp_path_factory.mktemp("math")

    @functools.cache
    def make(
        compiler: str = "gcc", lanes: int = 1, level: str = "", contract: str = "-ffp-contract=off"
    ) -> Call:
        flags = [f"-DCG_LANES={lanes}", contract, *([f"-march={level}"] if level else [])]
        if compiler == "gcc":
            flags.append("-fno-tree-slp-vectorize")
        target = folder / f"{compiler}-{lanes}-{level}{contract}.so"
        compile_library("check_math.c", target, compiler, flags)
        entry = ctypes.CDLL(str(target)).check_math
        entry.argtypes = [ctypes.c_char_p, ctypes.c_ssize_t, *[ctypes.c_void_p] * 3]

        def call(name: str, x: Array, y: Array) -> Array:
            out = np.empty_like(x)
            assert len(x) % 8 == 0
            assert len(x) == len(y)
            assert x.flags.c_contiguous
            assert y.flags.c_contiguous
            assert entry(name.encode(), len(x), x.ctypes.data, y.ctypes.data, out.ctypes.data) == 0
            return out

        return call

    return make


def padded(values: list[float]) -> Array:
    return np.array(values + [0.5] * (-len(values) % 8))


def bits(a: Array) -> np.ndarray:
    """The bits, with all NaNs equal."""
    return np.where(np.isnan(a), np.nan, a).view(np.uint64)


@functools.cache
def expected(name: str) -> ref.Reference:
    return ref.reference(name, *ref.arguments(name, 20_000))


@pytest.mark.parametrize("name", ref.FUNCTIONS)
@pytest.mark.parametrize(
    ("lanes", "contract"),
    [(1, "-ffp-contract=off"), (1, FUSED), (8, FUSED)],
    ids=["plain", "fused", "fused-8"],
)
@pytest.mark.sample(4)
def test_errors_are_below_two_ulp(build: Build, name: str, lanes: int, contract: str) -> None:
    """20,000 arguments against mpmath. Without contraction lanes have the scalar's bits (see below), so are skipped."""
    call = build("gcc", lanes, "native" if contract == FUSED else "", contract)
    x, y = ref.arguments(name, 20_000)
    error = ref.errors(call(name, x, y), expected(name))
    worst = int(np.argmax(error))
    limit = 0.5 if name == "sqrt" else LIMIT
    assert error[worst] <= limit, f"{error[worst]} ulp at {x[worst].hex()}, {y[worst].hex()}"


def mixed(name: str) -> tuple[Array, Array]:
    """The arguments interspersed with infinities, NaNs, zeros and values outside the domain."""
    if name in ref.FUNCTIONS:
        x, y = (a.copy() for a in ref.arguments(name, 20_000))
    else:
        other = "sin" if name.startswith("sincos") else "atan2"
        x, y = (a.copy() for a in ref.arguments(other, 20_000))
    rng = np.random.default_rng(5)
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 5e-324, -5e-324, 1e300, -1e300]
    for a in (x, y):
        places = rng.choice(len(a), len(a) // 16, replace=False)
        a[places] = rng.choice(special, len(places))
    return x, y


EVERY = (*ref.FUNCTIONS, "sincos_sin", "sincos_cos", "sign", "abs", "min", "max")


@pytest.mark.parametrize("level", ["", "x86-64-v3", "native"], ids=["baseline", "v3", "native"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.sample(3)
def test_bits_are_the_same(build: Build, compiler: str, lanes: int, level: str) -> None:
    """Every build without contraction agrees with gcc's generic scalar one, also with special values in other lanes."""
    need(compiler)
    if level:
        need_x86(level)
    call, first = build(compiler, lanes, level), build()
    for name in EVERY:
        x, y = mixed(name)
        here, there = bits(call(name, x, y)), bits(first(name, x, y))
        where = np.flatnonzero(here != there)
        assert len(where) == 0, f"{name}({x[where[0]].hex()}, {y[where[0]].hex()}): {len(where)} differ"


@pytest.mark.parametrize("contract", ["-ffp-contract=off", FUSED])
@pytest.mark.sample(1)
def test_sine_and_cosine_alone_have_the_bits_of_both(build: Build, contract: str) -> None:
    for lanes in (1, 8):
        call = build("gcc", lanes, "native" if contract == FUSED else "", contract)
        x, _ = mixed("sin")
        for name in ("sin", "cos"):
            assert np.array_equal(bits(call(name, x, x)), bits(call(f"sincos_{name}", x, x)))


def test_scalar_code_is_plain_c99(tmp_path: Path) -> None:
    """No GNU extensions without lanes: the headers are compiled with __GNUC__ undefined."""
    source = tmp_path / "plain.c"
    source.write_text(
        "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
        '#undef __GNUC__\n#include "cg_math.h"\n'
        "double f(double x, double y);\n"
        "double f(double x, double y) { return cg_pow(cg_tan(x), cg_atan2(cg_exp(x), cg_log(y))); }\n"
    )
    pedantic = [flag for flag in STRICT if flag not in ("-Wall", "-Wextra")]
    run([need("gcc"), *BASE, *pedantic, source, "-o", tmp_path / "plain.so", "-lm"])


INF, NAN, PI = float("inf"), float("nan"), float(np.pi)
BIG, TINY = ref.LARGEST, 5e-324
# C99 7.12 and Annex F.9; arguments, then the value. -0.0 and 0.0 are distinguished, but as
# arguments of atan2, which is that of real numbers.
SPECIAL: dict[str, list[tuple[float, ...]]] = {
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (TINY, TINY), (-TINY, -TINY)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (TINY, 1.0)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (TINY, TINY), (-TINY, -TINY)],
    "asin": [
        *[
            (0.0, 0.0),
            (-0.0, -0.0),
            (1.0, PI / 2),
            (-1.0, -PI / 2),
            (1 + 2**-52, NAN),
            (-2.0, NAN),
            (INF, NAN),
        ],
        *[(-INF, NAN), (NAN, NAN), (TINY, TINY)],
    ],
    "acos": [
        *[(1.0, 0.0), (-1.0, PI), (0.0, PI / 2), (-0.0, PI / 2), (1 + 2**-52, NAN), (-2.0, NAN), (INF, NAN)],
        *[(-INF, NAN), (NAN, NAN)],
    ],
    "atan": [
        (0.0, 0.0),
        (-0.0, -0.0),
        (INF, PI / 2),
        (-INF, -PI / 2),
        (NAN, NAN),
        (TINY, TINY),
        (BIG, PI / 2),
    ],
    "sinh": [
        *[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, INF),
            (-INF, -INF),
            (NAN, NAN),
            (TINY, TINY),
            (BIG, INF),
            (711.0, INF),
        ],
        *[(-711.0, -INF)],
    ],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (BIG, INF), (-711.0, INF)],
    "tanh": [
        *[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, 1.0),
            (-INF, -1.0),
            (NAN, NAN),
            (TINY, TINY),
            (BIG, 1.0),
            (-20.0, -1.0),
        ]
    ],
    "exp": [
        *[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (TINY, 1.0), (BIG, INF), (-BIG, 0.0)],
        *[(709.79, INF), (-745.14, 0.0), (-745.13, TINY)],
    ],
    "log": [
        *[
            (1.0, 0.0),
            (0.0, -INF),
            (-0.0, -INF),
            (-1.0, NAN),
            (-TINY, NAN),
            (-INF, NAN),
            (INF, INF),
            (NAN, NAN),
        ],
    ],
    "sqrt": [(0.0, 0.0), (-0.0, -0.0), (-1.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN), (4.0, 2.0)],
    "sign": [(0.0, 0.0), (-0.0, 0.0), (TINY, 1.0), (-TINY, -1.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)],
    "abs": [(0.0, 0.0), (-0.0, 0.0), (-INF, INF), (-2.0, 2.0), (NAN, NAN)],
    "atan2": [
        *[(s * 0.0, x, 0.0) for s in (1, -1) for x in (0.0, -0.0, 1.0, TINY, BIG, INF)],
        *[(s * 0.0, x, PI) for s in (1, -1) for x in (-1.0, -TINY, -BIG, -INF)],
        *[(s * y, x, s * PI / 2) for s in (1, -1) for y in (1.0, TINY, BIG, INF) for x in (0.0, -0.0)],
        *[(s * y, INF, s * 0.0) for s in (1, -1) for y in (1.0, TINY, BIG)],
        *[(s * y, -INF, s * PI) for s in (1, -1) for y in (1.0, TINY, BIG)],
        *[(s * INF, x, s * PI / 2) for s in (1, -1) for x in (1.0, -1.0, TINY, BIG, -BIG)],
        *[(s * INF, INF, s * PI / 4) for s in (1, -1)],
        *[(s * INF, -INF, s * 3 * PI / 4) for s in (1, -1)],
        *[(NAN, x, NAN) for x in (0.0, 1.0, INF, -INF, NAN)],
        *[(y, NAN, NAN) for y in (0.0, 1.0, INF, -INF)],
        *[(s * a, b, s * c) for s in (1, -1) for a, b, c in ((TINY, TINY, PI / 4), (BIG, BIG, PI / 4))],
    ],
    "pow": [
        *[(z, y, s * INF) for z, s in ((0.0, 1), (-0.0, -1)) for y in (-1.0, -3.0, -(2.0**53) + 1)],
        *[(z, y, INF) for z in (0.0, -0.0) for y in (-2.0, -0.5, -(2.0**53), -1e300, -INF)],
        *[(z, y, z) for z in (0.0, -0.0) for y in (1.0, 3.0, 2.0**53 - 1)],
        *[(z, y, 0.0) for z in (0.0, -0.0) for y in (2.0, 0.5, 2.0**53, 1e300, INF, TINY)],
        *[(-1.0, y, 1.0) for y in (INF, -INF, 2.0, 2.0**53, BIG)],
        *[(-1.0, y, -1.0) for y in (1.0, -3.0, 2.0**52 + 1, 2.0**53 - 1)],
        *[(1.0, y, 1.0) for y in (0.0, -0.0, 1.0, INF, -INF, NAN, BIG, TINY)],
        *[(x, z, 1.0) for x in (0.0, -0.0, 2.0, -2.5, INF, -INF, NAN, TINY, BIG) for z in (0.0, -0.0)],
        *[(x, y, NAN) for x in (-1.5, -TINY, -BIG) for y in (0.5, -0.5, 2.0**51 + 0.5, 1e-300)],
        *[(x, -INF, INF) for x in (0.5, -0.5, TINY)],
        *[(x, -INF, 0.0) for x in (1.5, -1.5, BIG, INF, -INF)],
        *[(x, INF, 0.0) for x in (0.5, -0.5, TINY, 1 - 2**-53)],
        *[(x, INF, INF) for x in (1.5, -1.5, BIG, 1 + 2**-52, INF, -INF)],
        *[
            (-INF, y, v)
            for y, v in ((-3.0, -0.0), (-2.0, 0.0), (-0.5, 0.0), (3.0, -INF), (2.0, INF), (0.5, INF))
        ],
        *[(INF, y, v) for y, v in ((-3.0, 0.0), (-TINY, 0.0), (TINY, INF), (3.0, INF))],
        *[(NAN, y, NAN) for y in (1.0, -1.0, INF, NAN)],
        *[(x, NAN, NAN) for x in (0.0, -1.0, 2.0, INF, NAN)],
        *[(2.0, 1023.0, 2.0**1023), (2.0, 1024.0, INF), (2.0, -1074.0, TINY), (2.0, -1076.0, 0.0)],
        *[
            (-2.0, 1025.0, -INF),
            (-2.0, -1077.0, -0.0),
            (10.0, 22.0, 1e22),
            (-3.0, 3.0, -27.0),
            (TINY, 1.0, TINY),
        ],
        *[(BIG, BIG, INF), (BIG, -BIG, 0.0), (TINY, BIG, 0.0), (TINY, -BIG, INF), (2.0, TINY, 1.0)],
    ],
    "min": [
        *[
            (1.0, 2.0, 1.0),
            (2.0, 1.0, 1.0),
            (NAN, 1.0, NAN),
            (1.0, NAN, NAN),
            (NAN, NAN, NAN),
            (-INF, NAN, NAN),
        ],
        *[(0.0, -0.0, -0.0), (-0.0, 0.0, -0.0), (0.0, 0.0, 0.0), (-0.0, -0.0, -0.0), (INF, 1.0, 1.0)],
    ],
    "max": [
        *[
            (1.0, 2.0, 2.0),
            (2.0, 1.0, 2.0),
            (NAN, 1.0, NAN),
            (1.0, NAN, NAN),
            (NAN, NAN, NAN),
            (-INF, NAN, NAN),
        ],
        *[(0.0, -0.0, 0.0), (-0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (-0.0, -0.0, -0.0), (INF, 1.0, INF)],
    ],
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("contract", ["-ffp-contract=off", FUSED])
@pytest.mark.parametrize("lanes", [1, 8])
def test_special_values(build: Build, name: str, contract: str, lanes: int) -> None:
    rows = SPECIAL[name]
    x = padded([row[0] for row in rows])
    y = padded([row[1] if len(row) > 2 else row[0] for row in rows])
    out = build("gcc", lanes, "native" if contract == FUSED else "", contract)(name, x, y)
    for row, value in zip(rows, out.tolist()):
        assert bits(np.array([value])) == bits(np.array([row[-1]])), (
            f"{name}{row[:-1]} = {value}, not {row[-1]}"
        )


def constants(header: str) -> dict[str, float]:
    text = (RUNTIME / header).read_text(encoding="utf-8")
    return {n: float.fromhex(v) for n, v in re.findall(r"#define (CG_\w+) (-?0x1\.[0-9a-f]+p[+-]\d+)", text)}


def test_parts_of_constants() -> None:
    found = {**constants("cg_math.h"), **constants("math/cg_math_trig.h")}
    with mp.workprec(400):
        parts = [mpf(found[f"CG_PIO2_{n}"]) for n in ("UPPER", "SECOND", "THIRD")]
        assert abs(mpmath.fsum(parts) - mpmath.pi / 2) < mpf(2) ** -160
        for name, value, limit in (
            ("LN2", mpmath.ln2, -98),
            ("PIO2", mpmath.pi / 2, -107),
            ("PIO4", mpmath.pi / 4, -108),
        ):
            assert (
                abs(mpf(found[f"CG_{name}_UPPER"]) + mpf(found[f"CG_{name}_LOWER"]) - value) < mpf(2) ** limit
            )
        assert found["CG_LN2_UPPER"] * 2.0**42 % 1 == 0
        assert found["CG_LN2_INVERSE"] == float(1 / mpmath.ln2)
        assert found["CG_PIO2_INVERSE"] == float(2 / mpmath.pi)


def test_bits_of_two_over_pi() -> None:
    text = (RUNTIME / "math/cg_math_trig.h").read_text(encoding="utf-8")
    table = re.search(r"cg_two_over_pi\[40\] = \{(.*?)\}", text, re.DOTALL)
    assert table is not None
    words = [int(word, 16) for word in re.findall(r"0x[0-9a-f]{8}", table[1])]
    assert len(words) == 40
    with mp.workprec(1400):
        whole = int(mpmath.floor(2 / mpmath.pi * mpf(2) ** (38 * 32)))
    assert words == [whole >> 32 * (39 - i) & 0xFFFFFFFF for i in range(40)]


def test_closest_double_to_a_multiple() -> None:
    """The claims of cg_math_trig.h on doubles, and that its fractions keep 75 bits beyond."""
    with mp.workprec(1300):
        distance = {}
        for x in ref.near_multiples().tolist():
            number = mpmath.nint(mpf(x) / (mpmath.pi / 2))
            distance[x] = abs(mpf(x) / (mpmath.pi / 2) - number)
        near = min((d, x) for x, d in distance.items() if 0.5 < x < 2**30)
        assert near[1] == pytest.approx(45.5530934770520, rel=1e-14)
        assert near[0] * mpmath.pi / 2 > mpf(2) ** -60.5
        assert min(distance.values()) > mpf(2) ** -62


@pytest.mark.slow
@pytest.mark.parametrize("name", fit_polynomials.FITS)
def test_polynomials_are_those_of_the_fit(name: str) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in RUNTIME.rglob("cg_math*.h"))
    used = {float.fromhex(number) for number in re.findall(r"-?0x1\.[0-9a-f]+p[+-]\d+", text)}
    fit = fit_polynomials.FITS[name]
    coefficients = fit_polynomials.coefficients_of(fit)
    assert set(coefficients) <= used
    assert fit_polynomials.bound(fit, coefficients) < mpf(2) ** -57


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in ref.FUNCTIONS if n != "sqrt"])
def test_errors_of_a_million(
    build: Build, tmp_path: Path, name: str, record_property: Callable[..., None]
) -> None:
    """Against 113-bit libquadmath, and the 1000 worst arguments by that measure and 1000 others against mpmath."""
    need("gcc")
    target = tmp_path / "quad.so"
    if (
        "cannot find"
        in subprocess.run(
            [need("gcc"), "-shared", "-x", "c", "/dev/null", "-lquadmath", "-o", str(target)],
            capture_output=True,
            text=True,
            check=False,
        ).stderr
    ):
        pytest.skip("this gcc has no libquadmath")
    compile_library("check_math_quad.c", target, "gcc", [])
    entry = ctypes.CDLL(str(target)).check_math_quad
    entry.argtypes = [ctypes.c_char_p, ctypes.c_ssize_t, *[ctypes.c_void_p] * 4]
    x, y = ref.arguments(name, 1_000_000)
    for lanes, level, contract in ((1, "", "-ffp-contract=off"), (8, "native", FUSED)):
        out = build("gcc", lanes, level, contract)(name, x, y)
        error = np.empty_like(out)
        assert entry(name.encode(), len(x), *[a.ctypes.data for a in (x, y, out, error)]) == 0
        order = np.argsort(error)
        chosen = np.concatenate([order[-1000:], order[:: len(order) // 1000]])
        checked = ref.errors(out[chosen], ref.reference(name, x[chosen], y[chosen]))
        assert np.all(np.abs(checked - error[chosen]) < 1e-6)
        record_property(f"{name} {contract}", float(checked.max()))
        worst = x[order[-1]].hex(), y[order[-1]].hex()
        print(f"{name:6} {contract:18} {checked.max():.3f} ulp of {len(x)} at {worst}")
        assert checked.max() <= LIMIT

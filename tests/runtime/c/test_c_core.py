"""The C integrators by themselves: tests/c/*.c with several compilers and checkers."""

from __future__ import annotations

import functools
import itertools
import os
import platform
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from c_runtime import BASE, ROOT, RUNTIME, SANITIZERS, SOURCES, STRICT, run, runtime_objects
from integrations import need

from chaplygin.runtime.interface.files import runtime_files

TESTS = sorted(path.stem for path in SOURCES.glob("test_*.c"))
MODELS = sorted(SOURCES.glob("model_*.c"))
INLINE = "-DCHAPLYGIN_INLINE_METHODS"
# Counts the heap calls of the test program (GNU and LLVM linkers).
COUNT = ["-DCG_COUNT_ALLOCATIONS", "-Wl,--wrap=malloc", "-Wl,--wrap=calloc", "-Wl,--wrap=realloc"]
CONFIGURATIONS = {
    "gcc-inlined": ("gcc", ["-O1", INLINE]),
    "gcc-table": ("gcc", ["-O1"]),
    "gcc-native": ("gcc", ["-O3", "-march=native", INLINE, "-DCG_INLINE_ALL"]),
    "clang-inlined": ("clang", ["-O0", INLINE]),  # with -O3: test_same_bits_at_every_optimisation
    "sanitized": ("gcc", ["-O1", "-g", *SANITIZERS]),
    "sanitized-inlined": ("gcc", ["-O1", "-g", INLINE, "-DCG_INLINE_ALL", *SANITIZERS]),
}


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads assembly of x86-64")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_operations_of_a_sine_and_cosine(tmp_path: Path, compiler: str) -> None:
    """The benchmarks count as many operations for a sine and cosine as `cg_sincos` has over lanes near zero.

    A multiply-add counts as two.
    """
    source = tmp_path / "both.c"
    source.write_text(
        '#include "cg_math.h"\nvoid both(cg_real_t x, cg_real_t *s, cg_real_t *c) { cg_sincos(x, s, c); }\n'
    )
    text = run([need(compiler), *BASE, "-O2", "-mfma", "-DCG_LANES=4", "-S", "-o", "-", str(source)])
    body = text[text.index("\nboth:") : text.index(".size", text.index("\nboth:"))]
    counted = len(re.findall(r"\bv(?:add|sub|mul)pd\b", body)) + 2 * len(re.findall(r"\bvfn?m\w+pd\b", body))
    for page, words in (
        ("bench/bench_lanes.py", r"SINE_AND_COSINE = (\d+)"),
        ("bench/README.md", r"count as the (\d+) additions"),
    ):
        found = re.findall(words, (ROOT / page).read_text(encoding="utf-8"))
        assert [int(number) for number in found] == [counted], page


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """(configuration, test) -> the compiled test program."""
    folder = tmp_path_factory.mktemp("c")

    @functools.cache
    def library(configuration: str) -> tuple[str, ...]:
        compiler, flags = CONFIGURATIONS[configuration]
        of_models = (INLINE, "-DCG_INLINE_ALL")
        objects = runtime_objects(
            tmp_path_factory, compiler, tuple(flag for flag in flags if flag not in of_models)
        )
        for source in MODELS:
            target = folder / f"{configuration}-{source.stem}.o"
            run([need(compiler), *BASE, *STRICT, *flags, "-c", str(source), "-o", str(target)])
            objects.append(str(target))
        return tuple(objects)

    @functools.cache
    def program(configuration: str, test: str) -> Path:
        compiler, flags = CONFIGURATIONS[configuration]
        target = folder / f"{configuration}-{test}"
        objects = library(configuration)
        source = str(SOURCES / f"{test}.c")
        # the test code itself is compiled without optimisation to save time
        flags = ["-O0" if flag.startswith("-O") else flag for flag in flags]
        count = COUNT if test == "test_loop" and os.name == "posix" and os.uname().sysname == "Linux" else []
        run([need(compiler), *BASE, *STRICT, *flags, source, *objects, *count, "-lm", "-o", str(target)])
        return target

    return program


QUICK = [("gcc-inlined", "test_events"), ("gcc-inlined", "test_loop")]


@pytest.mark.parametrize(
    ("configuration", "test"),
    [
        pytest.param(*pair, id="-".join(pair), marks=() if pair in QUICK else pytest.mark.slow)
        for pair in itertools.product(CONFIGURATIONS, TESTS)
    ],
)
def test_program(programs: Callable[[str, str], Path], configuration: str, test: str) -> None:
    assert ": 0 failed" in run([str(programs(configuration, test))])


@pytest.mark.parametrize(
    "test", [pytest.param(test, marks=() if test == "test_loop" else pytest.mark.slow) for test in TESTS]
)
def test_valgrind(programs: Callable[[str, str], Path], test: str) -> None:
    options = ["-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=all"]
    assert ": 0 failed" in run([need("valgrind"), *options, str(programs("gcc-inlined", test))])


def test_ten_thousand_random_crossings(programs: Callable[[str, str], Path]) -> None:
    """Polynomials with pairs of zeros down to 1e-6 of a step, sines, kinks: all crossings are found, and no others."""
    assert ": 0 failed" in run([str(programs("gcc-inlined", "test_events")), "many"])


@pytest.mark.slow
@pytest.mark.integration("clang")
def test_same_bits_at_every_optimisation(tmp_path: Path) -> None:
    """Without contraction the result does not depend on the compiler, its level or the CPU's vector units."""
    outputs = {}
    for compiler, flags in (("gcc", ["-O0"]), ("gcc", ["-O3", "-march=native"]), ("clang", ["-O3"])):
        target = tmp_path / "bits"
        sources = [SOURCES / "print_bits.c", SOURCES / "model_top.c", *RUNTIME.rglob("cg_*.c")]
        run([need(compiler), *BASE, *flags, INLINE, *map(str, sources), "-lm", "-o", str(target)])
        outputs[f"{compiler} {flags}"] = run([str(target)])
    assert len(set(outputs.values())) == 1, outputs
    assert len(next(iter(outputs.values())).split()) == 10 * 7


ELSEWHERE = {
    "gcc, AVX2": ("gcc", ["-O3", "-mavx2", "-mfma"], ""),
    "gcc, a CPU without the instruction": ("gcc", ["-O2", "-static"], "qemu-x86_64 -cpu Nehalem"),
    "clang, a CPU without the instruction": ("clang", ["-O3", "-static"], "qemu-x86_64 -cpu Nehalem"),
    "clang, AVX-512": ("clang", ["-O3", "-mavx512f", "-mavx512dq", "-mfma"], ""),
    "aarch64": ("aarch64-linux-gnu-gcc", ["-O3", "-static"], "qemu-aarch64"),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", ELSEWHERE)
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the flags are for x86-64")
def test_same_bits_elsewhere(tmp_path: Path, place: str) -> None:
    """Single runs with every method; that lanes are single runs, on aarch64 too, is tested in test_c_lanes.py."""
    outputs = []
    for compiler, flags, emulator in (ELSEWHERE[place], ("gcc", ["-O1"], "")):
        target = tmp_path / f"bits{len(outputs)}"
        sources = [SOURCES / "print_bits.c", SOURCES / "model_top.c", *RUNTIME.rglob("cg_*.c")]
        run([need(compiler), *BASE, *flags, INLINE, *map(str, sources), "-lm", "-o", str(target)])
        emulated = [need(emulator.split()[0]), *emulator.split()[1:]] if emulator else []
        outputs.append(run([*emulated, str(target)]))
    assert outputs[0] == outputs[1]


ALONE = (
    "chaplygin.h", "cg_run.h", "cg_driver.h", "cg_events.h", "cg_step.h", "cg_control.h", "cg_real.h", "cg_math.h",
    "cg_lanes.h", "cg_linear.h", "cg_stiff.h", "cg_memory.h", "cg_ensemble.h", "cg_internal.h",
    "cg_ensemble_internal.h", "cg_lanes_internal.h",
)  # fmt: skip


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.sample(1)
def test_headers_stand_alone(compiler: str, tmp_path: Path) -> None:
    for header in ALONE:
        text = tmp_path / "alone.c"
        include = f'#include "{runtime_files()[header].relative_to(RUNTIME).as_posix()}"\n'
        text.write_text(f"{include}{include}int alone;\n")
        run([need(compiler), *BASE, *STRICT, "-fsyntax-only", str(text)])
    text = tmp_path / "alone.cpp"
    text.write_text(
        '#include "cg_ensemble.h"\n#include "cg_events.h"\nint main() { return cg_method_table() == nullptr; }\n'
    )
    run([need({"gcc": "g++", "clang": "clang++"}[compiler]), *BASE[3:], *STRICT, "-fsyntax-only", str(text)])


def test_inlined_model_needs_only_the_c_library(tmp_path: Path) -> None:
    target = tmp_path / "top.o"
    run([need("gcc"), *BASE, "-O3", INLINE, "-c", str(SOURCES / "model_top.c"), "-o", str(target)])
    symbols = set(run([need("nm"), "-u", str(target)]).replace("U ", "").split())
    assert symbols <= {"fma", "memcpy", "memset", "sqrt", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}

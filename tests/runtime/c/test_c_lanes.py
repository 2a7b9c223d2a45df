"""Lanes by themselves: tests/c/lanes with several compilers and checkers, and the code compiled from lane files."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from c_runtime import BASE, ROOT, SANITIZERS, SOURCES, STRICT, run, runtime_objects
from integrations import need
from test_c_core import COUNT

from chaplygin.codegen.toolchain.compiler import cpu_features
from chaplygin.runtime.interface.cpu_variants import FOLDER

LANES = SOURCES / "lanes"
EMITTED = sorted((ROOT / "generated").glob("*_lanes.c"))
X86 = platform.machine().lower() in ("x86_64", "amd64")
AVX512 = [
    "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma", "-mprefer-vector-width=512",
]  # fmt: skip
CPUS = {
    "plain": [],
    "aarch64": ["-static"],
    "native": ["-march=native" if X86 else "-mcpu=native"],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": AVX512,
}
WANTED = {"avx2": ("avx2", "fma"), "avx512": ("avx512dq", "avx512vl", "avx512bw", "fma")}
CONFIGURATIONS = {
    "gcc-native": ("gcc", "native", ["-O1"]),
    "sanitized": ("gcc", "native", ["-O0", "-g", *SANITIZERS]),
    "gcc-called": ("gcc", "native", ["-O1", "-DCG_INLINE_OPERATIONS=0"]),  # a kernel too long to be inlined
    "gcc-plain": ("gcc", "plain", ["-O2"]),
    "gcc-avx2": ("gcc", "avx2", ["-O3"]),
    "gcc-avx512": ("gcc", "avx512", ["-O3"]),
    "clang-plain": ("clang", "plain", ["-O2"]),
    "clang-avx512": ("clang", "avx512", ["-O2"]),
    "aarch64": ("aarch64-linux-gnu-gcc", "aarch64", ["-O2"]),
    "sanitized-plain": ("gcc", "plain", ["-O0", "-g", *SANITIZERS]),
}
QUICK = ("gcc-called",)
FUSED = re.compile(r"\bv?fn?m(?:add|sub|la|ls)\w*")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="lanes need the vector types of GCC or Clang")


def flags_of(cpu: str) -> list[str]:
    """The flags for a kind of CPU; skips the test on other CPUs."""
    if cpu in WANTED and not X86:
        pytest.skip("the flags are for x86")
    features = cpu_features()
    if not all(re.search(rf"\b{feature}\b", features) for feature in WANTED.get(cpu, ())):
        pytest.skip(f"this CPU has no {cpu}")
    return ["-Wno-psabi", *CPUS[cpu]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """configuration -> check_lanes.c with the model and its lane sets, all compiled in that configuration.

    In the quick one the runtime is that of other tests, for any CPU, as that which is shipped.
    """
    folder = tmp_path_factory.mktemp("lanes")

    @functools.cache
    def made(configuration: str) -> Path:
        compiler, cpu, level = CONFIGURATIONS[configuration]
        command = [need(compiler), *BASE, f"-I{LANES}", *STRICT, *flags_of(cpu), *level]
        target = folder / configuration
        model = str(LANES / "model_mixed.c")

        def compiled(lanes: int) -> str:
            run([*command, f"-DCG_LANES={lanes}", "-c", model, "-o", f"{target}-{lanes}.o"])
            return f"{target}-{lanes}.o"

        with ThreadPoolExecutor(2) as pool:
            objects = list(pool.map(compiled, (8, 4, 2, 1)))
        linux = os.uname().sysname == "Linux" and configuration.startswith("gcc")
        flags = ("-O1",) if configuration in QUICK else (*flags_of(cpu), *level)
        objects += runtime_objects(tmp_path_factory, compiler, flags)
        count = COUNT if linux else []
        run([*command, str(LANES / "check_lanes.c"), *objects, *count, "-lm", "-o", str(target)])
        return target

    return made


@pytest.mark.parametrize(
    "configuration",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CONFIGURATIONS],
)
def test_every_lane_is_the_single_run(program: Callable[[str], Path], configuration: str) -> None:
    emulator = [need("qemu-aarch64")] if CONFIGURATIONS[configuration][1] == "aarch64" else []
    shown = run([*emulator, str(program(configuration))])
    assert ": 0 failed" in shown
    assert "does not run" not in shown


def test_trajectories_with_the_same_parameters_share_what_follows_from_them(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    generated, target = ROOT / "generated", str(tmp_path / "same_parameters")
    quick = ["-O0", "-DCG_INLINE_OPERATIONS=0"]
    command = [need("gcc"), *BASE, *STRICT, "-Wno-psabi", *quick, f"-I{generated}"]
    lanes = str(tmp_path / "lanes.o")
    run([*command, "-DCG_LANES=2", "-c", str(generated / "chaplygin_sleigh_lanes.c"), "-o", lanes])
    sources = [str(LANES / "check_same_parameters.c"), str(generated / "chaplygin_sleigh_core.c")]
    run([*command, *sources, *runtime_objects(tmp_path_factory), lanes, "-lm", "-o", target])
    assert ": 0 failed" in run([target])


@pytest.mark.slow
@pytest.mark.parametrize("configuration", ["gcc-plain", "gcc-avx2"])  # valgrind does not support AVX-512
def test_valgrind(program: Callable[[str], Path], configuration: str) -> None:
    options = ["-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=all"]
    assert ": 0 failed" in run([need("valgrind"), *options, str(program(configuration)), "quick"])


@pytest.mark.parametrize(
    ("compiler", "lanes"),
    [
        ("gcc", 8),
        ("clang", 2),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in (("gcc", 2), ("gcc", 4), ("clang", 4), ("clang", 8))
        ),
    ],
)
@pytest.mark.sample(1)
def test_emitted_lane_files_compile_without_a_warning(compiler: str, lanes: int) -> None:
    assert len(EMITTED) > 8
    command = [need(compiler), *BASE, *STRICT, "-Wno-psabi", f"-DCG_LANES={lanes}", "-fsyntax-only"]
    for source in EMITTED:
        run([*command, str(source)])


@pytest.mark.parametrize(
    ("name", "cpu"),
    [
        ("chaplygin_sleigh", "avx512"),
        *(
            pytest.param(name, cpu, marks=pytest.mark.slow)
            for name, cpu in (
                ("chaplygin_sleigh", "plain"),
                ("heavy_top", "avx2"),
                ("n_link_pendulum_5", "avx512"),
            )
        ),
    ],
)
def test_an_object_needs_only_the_c_library_and_has_multiply_adds(
    tmp_path: Path, name: str, cpu: str
) -> None:
    target = str(tmp_path / "lanes.o")
    source = str(ROOT / "generated" / f"{name}_lanes.c")
    flags = [*BASE, *STRICT, "-O3", "-fno-math-errno", *(["-Wno-psabi", *CPUS[cpu]] if X86 else [])]
    run([need("gcc"), *flags, "-DCG_LANES=8", "-c", source, "-o", target])
    symbols = set(run([need("nm"), "-u", target]).replace("U ", "").split())
    fused = not X86 or cpu != "plain"
    known = {"memcpy", "memset", "sqrt", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
    assert symbols <= known | (set() if fused else {"fma"})
    # Without the option the vectors call the C library's exact fma.
    assert bool(FUSED.findall(run([need("objdump"), "-d", target]))) == fused


@pytest.mark.parametrize("fused", [False, True])
def test_shipped_modules_call_fma_only_for_cpus_without_the_instruction(fused: bool) -> None:
    folder = ROOT / "generated" / (FOLDER if fused else "")
    modules = sorted(folder.glob("*.so"))
    if not modules:
        pytest.skip("the shipped models are not compiled in place")
    for module in modules:
        called = re.findall(r" U fma\b", run([need("nm"), "-D", "-u", str(module)]))
        assert bool(called) != fused, module

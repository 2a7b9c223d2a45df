"""Lanes on their own: tests/c/lanes under compilers, kinds of CPU and checkers, and what emitted lane files compile to."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from test_c_core import BASE, COUNT, ROOT, RUNTIME, SOURCES, STRICT, need, run

from chaplygin.codegen.compilers import cpu_features

LANES = SOURCES / "lanes"
EMITTED = sorted((ROOT / "generated").glob("*_lanes.c"))
X86 = platform.machine().lower() in ("x86_64", "amd64")
AVX512 = [
    "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma", "-mprefer-vector-width=512",
]  # fmt: skip
CPUS = {"plain": [], "avx2": ["-mavx2", "-mfma"], "avx512": AVX512}
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
CONFIGURATIONS = {
    "gcc-plain": ("gcc", "plain", ["-O2"]),
    "gcc-avx2": ("gcc", "avx2", ["-O3"]),
    "gcc-avx512": ("gcc", "avx512", ["-O3"]),
    "clang-plain": ("clang", "plain", ["-O2"]),
    "clang-avx512": ("clang", "avx512", ["-O2"]),
    "sanitized-plain": ("gcc", "plain", ["-O1", "-g", *SANITIZERS]),
    "sanitized": ("gcc", "avx512", ["-O1", "-g", *SANITIZERS]),
}
FUSED = re.compile(r"\bv?fn?m(?:add|sub|la|ls)\w*")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="lanes need the vector types of GCC or Clang")


def flags_of(cpu: str) -> list[str]:
    """The flags for a kind of CPU; skips the test on another one."""
    if cpu != "plain" and not X86:
        pytest.skip("flags of x86")
    features = cpu_features()
    wanted = {"plain": (), "avx2": ("avx2", "fma"), "avx512": ("avx512dq", "avx512vl", "avx512bw", "fma")}[cpu]
    if not all(re.search(rf"\b{feature}\b", features) for feature in wanted):
        pytest.skip(f"this CPU has no {cpu}")
    return ["-Wno-psabi", *CPUS[cpu]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """configuration -> check_lanes.c with the model and its lane sets, all compiled so."""
    folder = tmp_path_factory.mktemp("lanes")

    @functools.cache
    def made(configuration: str) -> Path:
        compiler, cpu, level = CONFIGURATIONS[configuration]
        command = [need(compiler), *BASE, f"-I{LANES}", *STRICT, *flags_of(cpu), *level]
        target = folder / configuration
        objects = []
        for lanes in (1, 2, 4, 8):
            objects.append(f"{target}-{lanes}.o")
            run([*command, f"-DCG_LANES={lanes}", "-c", str(LANES / "model_mixed.c"), "-o", objects[-1]])
        linux = os.uname().sysname == "Linux" and configuration.startswith("gcc")
        sources = [str(LANES / "check_lanes.c"), *map(str, RUNTIME.glob("cg_*.c"))]
        run([*command, *sources, *objects, *(COUNT if linux else []), "-lm", "-o", str(target)])
        return target

    return made


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_every_lane_is_the_single_run(program: Callable[[str], Path], configuration: str) -> None:
    shown = run([str(program(configuration))])
    assert ": 0 failed" in shown
    assert "does not run" not in shown


@pytest.mark.parametrize("configuration", ["gcc-plain", "gcc-avx2"])
def test_valgrind(program: Callable[[str], Path], configuration: str) -> None:
    options = ["-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=all"]
    assert ": 0 failed" in run([need("valgrind"), *options, str(program(configuration)), "quick"])


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_emitted_lane_files_compile_without_a_warning(compiler: str, lanes: int) -> None:
    assert len(EMITTED) > 8
    command = [need(compiler), *BASE, *STRICT, "-Wno-psabi", f"-DCG_LANES={lanes}", "-fsyntax-only"]
    for source in EMITTED:
        run([*command, str(source)])


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", ["chaplygin_sleigh", "n_link_pendulum_5"])
def test_an_object_needs_only_the_c_library_and_fuses_nothing(tmp_path: Path, cpu: str, name: str) -> None:
    target = str(tmp_path / "lanes.o")
    source = str(ROOT / "generated" / f"{name}_lanes.c")
    flags = [*BASE, *STRICT, "-O3", "-fno-math-errno", *(["-Wno-psabi", *CPUS[cpu]] if X86 else [])]
    run([need("gcc"), *flags, "-DCG_LANES=8", "-c", source, "-o", target])
    symbols = set(run([need("nm"), "-u", target]).replace("U ", "").split())
    assert symbols <= {"memcpy", "memset", "sqrt", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
    code = run([need("objdump"), "-d", target])
    assert "ret" in code
    assert FUSED.findall(code) == []


def test_no_shipped_module_holds_a_fused_instruction() -> None:
    modules = sorted((ROOT / "generated").glob("*.so"))
    if not modules:
        pytest.skip("the shipped models are not compiled in place")
    for module in modules:
        assert FUSED.findall(run([need("objdump"), "-d", str(module)])) == [], module.name

"""The C library from C and C++: an emitted model compiled with `get_include()` and `get_library_sources()`."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from runtime_models import needs_core

import chaplygin as cg

pytestmark = needs_core

HOSTS = Path(__file__).parent / "c" / "hosts"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
BITS = ["-O1", "-ffp-contract=off"]
SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def compiles_cpp(compiler: str) -> bool:
    """Whether a compiler is there and knows C++20."""
    probe = "#include <span>\nint main() { return std::span<int>().empty() ? 0 : 1; }\n"
    command = [compiler, "-std=c++20", "-x", "c++", "-fsyntax-only", "-"]
    return (
        shutil.which(compiler) is not None
        and not subprocess.run(command, input=probe, capture_output=True, text=True).returncode
    )


COMPILERS = tuple(filter(compiles_cpp, ("g++", "clang++")))
C_OF = {"g++": "gcc", "clang++": "clang"}


def pushed() -> cg.System:
    """m x'' = F - k x."""
    x, (m, k), force = cg.coordinates("x"), cg.parameters("m k", positive=True), cg.inputs("F")
    v = cg.rate(x)
    return cg.System(
        "pushed", coordinates=[x], kinetic=m * v**2 / 2, potential=k * x**2 / 2, forces={v: force}
    )


@functools.cache
def library(compiler: str, folder: Path, *flags: str) -> list[str]:
    """The objects of `get_library_sources()`, as C99."""
    found = []
    for source in cg.get_library_sources():
        target = folder / f"{Path(source).stem}{'-'.join(flags)}.o".replace("=", "-").replace(",", "-")
        command = [compiler, "-std=c99", *STRICT, *BITS, *flags, f"-I{cg.get_include()}", "-c", source]
        subprocess.run([*command, "-o", str(target)], check=True)
        found.append(str(target))
    return found


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


@pytest.mark.parametrize("flags", [[], pytest.param(SANITIZED, marks=pytest.mark.slow, id="sanitized")])
@pytest.mark.parametrize("name", ["heavy_top", "bouncing_ball", "block_on_belt", "pushed"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_run_of_cpp_has_the_bits_of_a_stepper(
    name: str, compiler: str, flags: list[str], objects: Path, tmp_path: Path
) -> None:
    """Also one that was restored from a saved one in other memory; wrong calls throw."""
    if name == "pushed":
        system, p, u, x = pushed(), {"m": 2.0, "k": 3.0}, {"F": 0.5}, {"x": 1.0, "x_dot": 0.0}
    else:
        example = cg.example(name)
        system, p, u, x = example.system, example.parameters, {}, example.initial
    model = system.compile()
    system.emit(model.form, tmp_path, targets="c")
    c, include = C_OF[compiler], ["-I.", f"-I{cg.get_include()}"]
    core = [c, "-std=c99", *BITS, *flags, "-c", f"{name}_core.c", "-o", "core.o"]
    subprocess.run(core, cwd=tmp_path, check=True)
    main = [
        compiler,
        "-std=c++20",
        *STRICT,
        *BITS,
        *flags,
        f"-DMODEL={name}",
        *include,
        str(HOSTS / "steps.cpp"),
    ]
    main += ["core.o", *library(c, objects, *flags), "-lm", "-o", "steps"]
    subprocess.run(main, cwd=tmp_path, check=True)
    numbers = [
        *(p[n] for n in model.parameters),
        *(u[n] for n in model.inputs),
        *(x[n] for n in model.states),
    ]
    command = ["./steps", "dop853", *map(repr, map(float, numbers))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr

    run = model.stepper(x, p, u, method="dop853", rtol=1e-9, atol=1e-9)
    for i in range(200):
        if u:
            run.set_inputs(F=u["F"] + i % 3)
        run.advance((i + 1) / 100.0)
    alone, restored, kernel = [
        np.array([float.fromhex(word) for word in line.split()]) for line in done.stdout.splitlines()
    ]
    assert alone.tobytes() == run.y.tobytes() == restored.tobytes()
    assert kernel.tolist() == [run[name] for name in (*model.invariants, *model.residuals)]


def test_c_files_are_those_of_the_package() -> None:
    names = [Path(source).name for source in cg.get_library_sources()]
    assert "cg_driver.c" in names
    assert all(Path(source).is_file() for source in cg.get_library_sources())
    for header in ("chaplygin.h", "chaplygin.hpp", "cg_driver.h", "cg_events.h"):
        assert (Path(cg.get_include()) / header).is_file(), header

"""The C library from C and C++: an emitted model compiled with `get_include()` and `get_library_sources()`."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_runtime import STRICT, run
from integrations import need
from springs import M, sprung

import chaplygin as cg

STEPS = Path(__file__).parents[2] / "c" / "hosts" / "steps.cpp"
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


@functools.cache
def runs(program: str) -> bool:
    """Whether a program is there and tells its version: that of rustup is there without any Rust."""
    if shutil.which(program) is None:
        return False
    return subprocess.run([program, "--version"], capture_output=True).returncode == 0


C_OF = {"g++": "gcc", "clang++": "clang"}


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


def given(name: str) -> tuple[cg.System, dict[str, float], dict[str, float], dict[str, float]]:
    """A system, its parameters, inputs and initial state."""
    if name == "pushed":
        return sprung("pushed", mass=M), {"m": 2.0, "k": 3.0}, {"F": 0.5}, {"x": 1.0, "x_dot": 0.0}
    example = cg.example(name)
    return example.system, dict(example.parameters), {}, dict(example.initial)


def has_the_bits_of_a_stepper(
    program: Path, model: Any, p: dict[str, float], u: dict[str, float], x: dict[str, float]
) -> None:
    """Run steps.cpp: its run, and one that was restored in other memory, end as the stepper does."""
    values = p | u | x
    numbers = [values[name] for name in (*model.parameters, *model.inputs, *model.states)]
    told = run([program, "dop853", *map(repr, map(float, numbers))])
    stepper = model.stepper(x, p, u, method="dop853", rtol=1e-9, atol=1e-9)
    for i in range(200):
        if u:
            stepper.set_inputs(F=u["F"] + i % 3)
        stepper.advance((i + 1) / 100.0)
    alone, restored, kernel = [
        np.array([float.fromhex(word) for word in line.split()]) for line in told.splitlines()
    ]
    assert alone.tobytes() == stepper.y.tobytes() == restored.tobytes()
    assert kernel.tolist() == [stepper[name] for name in (*model.invariants, *model.residuals)]


@pytest.mark.parametrize("flags", [[], pytest.param(SANITIZED, marks=pytest.mark.slow, id="sanitized")])
@pytest.mark.parametrize("name", ["heavy_top", "bouncing_ball", "block_on_belt", "pushed"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.sample(2)
def test_a_run_of_cpp_has_the_bits_of_a_stepper(
    name: str, compiler: str, flags: list[str], objects: Path, tmp_path: Path
) -> None:
    """Also one that was restored from a saved one in other memory; wrong calls throw."""
    system, p, u, x = given(name)
    model = system.compile()
    system.emit(model.form, tmp_path, targets="c")
    c, include = C_OF[compiler], ["-I.", f"-I{cg.get_include()}"]
    core = [c, "-std=c99", *BITS, *flags, "-c", f"{name}_core.c", "-o", "core.o"]
    run(core, tmp_path)
    main = [compiler, "-std=c++20", *STRICT, *BITS, *flags, f"-DMODEL={name}", *include, str(STEPS)]
    main += ["core.o", *library(c, objects, *flags), "-lm", "-o", "steps"]
    run(main, tmp_path)
    has_the_bits_of_a_stepper(tmp_path / "steps", model, p, u, x)


@pytest.mark.slow
@pytest.mark.parametrize("single_header", [False, True])
def test_the_class_in_a_bundle(single_header: bool, tmp_path: Path) -> None:
    """A model with inputs from one kind of bundle, a model with contacts from the other."""
    name = "block_on_belt" if single_header else "pushed"
    system, p, u, x = given(name)
    model = system.compile()
    model.export_c(tmp_path, ["dop853"], initial=x, parameters=p, inputs=u, single_header=single_header)
    run(["make", "-s", f"lib{name}.a", "CFLAGS=-O1"], tmp_path)
    main = [need("g++"), "-std=c++20", *STRICT, *BITS, f"-DMODEL={name}", "-DBUNDLE", "-I.", str(STEPS)]
    run([*main, f"lib{name}.a", "-lm", "-o", "steps"], tmp_path)
    has_the_bits_of_a_stepper(tmp_path / "steps", model, p, u, x)
    assert (tmp_path / "example.rs").exists() == (tmp_path / "example.jl").exists() == (name == "pushed")


@pytest.mark.parametrize(
    ("language", "command"),
    [("rs", "rustc --edition 2021 -D warnings -L . -l static=pushed -l m example.rs -o theirs && ./theirs"),
     ("jl", "julia example.jl")],
)  # fmt: skip
@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_the_examples_in_other_languages_print_what_that_in_c_does(
    language: str, command: str, method: str, tmp_path: Path
) -> None:
    if not runs(command.split()[0]):
        pytest.skip(f"needs {command.split()[0]}, which is not installed")
    system, p, u, x = given("pushed")
    system.compile().export_c(tmp_path, [method], initial=x, parameters=p, inputs=u)
    run(["make", "-s", "CFLAGS=-O1"], tmp_path)
    printed = []
    for program in ("./example", command):
        told = run(["sh", "-c", program], tmp_path)
        rows = [line.split(" = ") for line in told.splitlines()]
        printed.append([(name, float(value)) for name, value in rows])
    assert printed[0] == printed[1]
    assert [name for name, _ in printed[0]] == ["x", "x_dot"]


def test_c_files_are_those_of_the_package() -> None:
    names = [Path(source).name for source in cg.get_library_sources()]
    assert "cg_driver.c" in names
    assert all(Path(source).is_file() for source in cg.get_library_sources())
    for header in ("chaplygin.h", "chaplygin.hpp", "cg_driver.h", "cg_events.h"):
        assert (Path(cg.get_include()) / header).is_file(), header

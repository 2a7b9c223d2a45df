"""C bundles: they build in every way without a warning, and run with the bits of the steppers in Python."""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from c_bundles import BITS, LANGUAGES, SANITIZE, STRICT, Exported, called, exported, side
from integrations import need
from processes import python
from refusals import refused
from small_systems import SMALL
from springs import M, sprung

import chaplygin as cg
from chaplygin.cli import main
from chaplygin.codegen.emit.amalgamation import joined, selected

C = Path(__file__).resolve().parents[2] / "c"
NAMES = SMALL
START: dict[str, Any] = {"initial": {"x": 1, "x_dot": 0}, "parameters": {"m": 1, "k": 4}}
TWO = ("chaplygin_sleigh", "block_on_belt")
COUNT = ("-DCG_COUNT_ALLOCATIONS", "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc")


@pytest.fixture(scope="module")
def sleigh(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return exported("chaplygin_sleigh", tmp_path_factory.mktemp("c") / "sleigh", ("dop853", "rk4"))


@pytest.fixture
def oscillator() -> Any:
    from chaplygin.generated.harmonic_oscillator import model

    return model


@pytest.mark.slow
def test_the_numbers_of_a_bundle_are_those_of_its_runs(tmp_path: Path) -> None:
    """x'' = (F - k x)/m from rest at 1, where the program sets nothing: F/k + (1 - F/k) cos wt; F is 0 if not given."""
    model = sprung("plain", mass=M).compile()
    for name, inputs, rest in (("still", None, 0.0), ("pushed", {"F": 2.0}, 0.25)):
        folder = model.export_c(
            tmp_path / name, ("dop853",), parameters={"k": 8, "m": 2}, inputs=inputs, initial=[1, 0]
        )
        main = '#include <stdio.h>\nint main(void) { printf("%.17g", found()); return 0; }\n'
        (folder / "host.c").write_text(side("plain", "found", {}) + main)
        called([need("gcc"), "-std=c99", "host.c", "plain.c", "cg_runtime.c", "-lm", "-o", "host"], folder)
        found = float(called([folder / "host"], folder))
        assert found == pytest.approx(rest + (1 - rest) * math.cos(2.0), abs=1e-8)


# ---- builds and bits ----


@pytest.mark.parametrize(("name", "compiler"), [*zip(TWO, ("g++", "clang"))])
@pytest.mark.sample(1)
def test_one_command_builds_the_example_with_the_bits_of_the_stepper(
    name: str, compiler: str, tmp_path: Path
) -> None:
    bundle = exported(name, tmp_path / "c")
    assert bundle.printed(bundle.built(compiler, "-O0", *STRICT)) == bundle.stepped()


@pytest.mark.slow
@pytest.mark.integration("clang")
@pytest.mark.parametrize("name", NAMES)
def test_every_system_in_every_language(name: str, tmp_path: Path) -> None:
    bundle = exported(name, tmp_path / "c")
    expected = bundle.stepped()
    for compiler in LANGUAGES:
        assert bundle.printed(bundle.built(compiler, "-O2", *STRICT)) == expected
    bundle = exported(name, tmp_path / "single", single_header=True)
    for compiler in ("gcc", "clang++"):
        assert bundle.printed(bundle.built(compiler, "-O1", *STRICT)) == expected


def test_make_builds_and_installs(sleigh: Exported, tmp_path: Path) -> None:
    called([need("make"), "CFLAGS=-O0", f"PREFIX={tmp_path}", "all", "install"], sleigh.folder)
    assert sleigh.printed(sleigh.folder / "example") == sleigh.stepped()
    compile_installed(sleigh, tmp_path)
    called(["make", f"PREFIX={tmp_path / 'a folder'}", "install"], sleigh.folder)
    assert (tmp_path / "a folder" / "include" / "chaplygin_sleigh.h").exists()


def compile_installed(bundle: Exported, prefix: Path) -> None:
    """The example with nothing but what was installed, through pkg-config, with the shared library."""
    environment = {**os.environ, "PKG_CONFIG_PATH": os.fspath(prefix / "lib" / "pkgconfig")}
    command = [need("pkg-config"), "--cflags", "--libs", bundle.model.name]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    shutil.copy(bundle.folder / "example.c", prefix)
    rpath = f"-Wl,-rpath,{prefix / 'lib'}"
    called([need("gcc"), "-std=c99", "example.c", *found.split(), rpath, "-o", "installed"], prefix)
    assert bundle.printed(prefix / "installed") == bundle.stepped()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_system_by_cmake_and_make(name: str, tmp_path: Path) -> None:
    bundle = exported(name, tmp_path / "c")
    name, expected = bundle.model.name, bundle.stepped()
    called([need("make")], bundle.folder)
    assert bundle.printed(bundle.folder / "example") == expected
    cmake = need("cmake")
    prefix = tmp_path / "installed"
    called([cmake, "-B", "build"], bundle.folder)
    called([cmake, "--build", "build"], bundle.folder)
    called([cmake, "--install", "build", "--prefix", os.fspath(prefix)], bundle.folder)
    assert bundle.printed(bundle.folder / "build" / f"{name}_example") == expected
    compile_installed(bundle, prefix)
    project = tmp_path / "project"
    project.mkdir()
    shutil.copy(bundle.folder / "example.c", project)
    (project / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.13)\nproject(host C)\nfind_package({name} REQUIRED)\n"
        f"add_executable(host example.c)\ntarget_link_libraries(host PRIVATE {name}::{name})\n"
    )
    called([cmake, "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"], project)
    called([cmake, "--build", "build"], project)
    assert bundle.printed(project / "build" / "host") == expected


@pytest.mark.slow
@pytest.mark.integration("clang")
@pytest.mark.parametrize("method", ["rk4", "dop853", "tsit5", "vern7", "vern9", "rodas5p", "auto"])
@pytest.mark.parametrize("single_header", [False, True])
def test_every_method(method: str, single_header: bool, tmp_path: Path) -> None:
    bundle = exported("brick_on_incline", tmp_path / "c", (method,), single_header=single_header)
    for compiler in ("gcc", "clang++"):
        assert bundle.printed(bundle.built(compiler, "-O1", *STRICT)) == bundle.stepped()


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags", ["-O3 -march=native -fno-tree-slp-vectorize", "-O2 -DCG_INLINE_OPERATIONS=0", "-Os"]
)
def test_flags_do_not_change_the_bits(flags: str, sleigh: Exported) -> None:
    assert sleigh.printed(sleigh.built("gcc", *flags.split())) == sleigh.stepped()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_clean_under_sanitizers_and_valgrind(name: str, tmp_path: Path) -> None:
    bundle = exported(name, tmp_path / "c")
    expected = bundle.stepped()
    assert bundle.printed(bundle.built("gcc", "-O1", *SANITIZE)) == expected
    program = bundle.built("gcc", "-O1", "-g")
    command = [need("valgrind"), "-q", "--error-exitcode=9", "--leak-check=full", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    assert done.stdout == expected


# ---- a host ----


def hosted(bundle: Exported, compiler: str, *flags: str) -> str:
    """What tests/c/bundle_host.c prints: 8 threads, wrong calls, and allocations, with the bundle's model."""
    name = bundle.model.name
    for file in ("bundle_host.c", "allocations.h"):
        shutil.copy(C / file, bundle.folder)
    defined = (f'-DHEADER="{name}.h"', f"-DMODEL={name}_model", f"-DPREFIX(x)={name.upper()}_##x")
    sources = ["bundle_host.c", *bundle.sources[1:]]
    return called([bundle.built(compiler, *flags, *defined, sources=sources)], bundle.folder)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.sample(1)
def test_eight_threads_share_a_model_and_nothing_is_allocated(name: str, tmp_path: Path) -> None:
    assert hosted(exported(name, tmp_path / "c"), "gcc", "-O0", *COUNT) == "same\n0 allocations\n"


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", [SANITIZE, ("-g", "-fsanitize=thread")])
@pytest.mark.parametrize("name", TWO)
def test_threads_and_wrong_calls_under_sanitizers(
    name: str, sanitizer: tuple[str, ...], tmp_path: Path
) -> None:
    assert hosted(exported(name, tmp_path / "c"), "gcc", "-O1", *sanitizer).startswith("same\n")


@pytest.mark.slow
@pytest.mark.parametrize("single_header", [False, True])
def test_two_models_in_one_program(single_header: bool, tmp_path: Path) -> None:
    bundles = [exported(name, tmp_path / name, single_header=single_header) for name in TWO]
    folder = tmp_path / "both"
    folder.mkdir()
    for bundle in bundles:
        for file in bundle.folder.iterdir():
            shutil.copy(file, folder)
    first, second = (bundle.model.name for bundle in bundles)
    (folder / "main.c").write_text(
        f'#include "{first}.h"\n#include "{second}.h"\n#include <stdio.h>\n'
        f'int main(void) {{ printf("%zu %zu\\n", cg_run_size(&{first}_model, "dop853"), '
        f'cg_run_size(&{second}_model, "dop853")); return 0; }}\n'
    )
    objects = []
    for file in ("main", first, second, "cg_runtime"):
        if (folder / f"{file}.c").exists():
            extra = ["-DCG_NO_RUNTIME"] * (single_header and file == second)
            called([need("gcc"), "-std=c99", *STRICT, *extra, "-c", f"{file}.c"], folder)
            objects.append(f"{file}.o")
    sizes = called([need("gcc"), *objects, "-o", "main", "-lm"], folder) + called([folder / "main"], folder)
    expected = [re.search(r"_RUN_SIZE (\d+)u", (b.folder / f"{b.model.name}.h").read_text()) for b in bundles]
    assert sizes.split() == [found[1] for found in expected if found]


# ---- what is in the folder ----


def test_the_folder_is_complete_and_the_same_again(sleigh: Exported, tmp_path: Path) -> None:
    again = exported("chaplygin_sleigh", tmp_path / "again", ("dop853", "rk4")).folder
    texts = {path.name: path.read_bytes() for path in sorted(again.iterdir())}
    assert list(texts) == ["CMakeLists.txt", "LICENSE", "Makefile", "README.md", "cg_runtime.c", "chaplygin_sleigh.c",
                           "chaplygin_sleigh.h", "chaplygin_sleigh.hpp", "chaplygin_sleigh.pc", "example.c",
                           "example.jl", "example.rs"]  # fmt: skip
    assert all((sleigh.folder / name).read_bytes() == text for name, text in texts.items())
    for name in (
        "chaplygin_sleigh.h",
        "chaplygin_sleigh.hpp",
        "chaplygin_sleigh.c",
        "cg_runtime.c",
        "example.c",
    ):
        assert set(re.findall(r'#include "(.*?)"', texts[name].decode())) <= {"chaplygin_sleigh.h"}
    assert len(texts["example.c"].splitlines()) <= 50


def test_the_readme_has_variables_sizes_and_statuses(sleigh: Exported) -> None:
    text = (sleigh.folder / "README.md").read_text(encoding="utf-8")
    run = sleigh.model.stepper(sleigh.example.initial, sleigh.example.parameters, method="dop853")
    assert f"| run, `dop853` | {len(run.save().block):,} |" in text
    assert "| `omega` | `run->x[CHAPLYGIN_SLEIGH_X_omega]` |" in text
    assert "| `CG_SINGULAR` | -1 | the mass matrix or the constraints are singular (a pivot" in text
    assert "chaplygin export-c chaplygin_sleigh --form maggi --methods dop853 rk4 -o DIR" in text


def test_the_runtime_is_the_same_for_all_models(sleigh: Exported, tmp_path: Path, oscillator: Any) -> None:
    other = oscillator.export_c(tmp_path / "other", ("tsit5",))
    assert (other / "cg_runtime.c").read_bytes() == (sleigh.folder / "cg_runtime.c").read_bytes()


def test_only_the_chosen_methods_are_compiled(sleigh: Exported) -> None:
    text = (sleigh.folder / "chaplygin_sleigh.c").read_text()
    assert "cg_dop853_info" in text
    assert not re.search("cg_(tsit5|vern7|vern9|rodas5p|auto)_info", text)


def test_a_model_that_brings_a_method(tmp_path: Path) -> None:
    heun = cg.Pair(
        name="heun", summary="order 2(1)", source="K. Heun, 1900", order=2, c=(0, 1), a=((), (1,)), b=(1 / 2, 1 / 2),
        error={1: (-1 / 2, 1 / 2)}, dense_order=2,
    )  # fmt: skip
    example = cg.example("harmonic_oscillator")
    model: Any = example.system.compile("lagrange", methods=[heun])
    folder = model.export_c(tmp_path / "c", ("heun",), initial=example.initial, parameters=example.parameters)
    bundle = Exported(example, model, folder, "heun")
    assert bundle.printed(bundle.built("gcc", "-O0", *STRICT)) == bundle.stepped()


def test_a_shipped_model_is_exported_without_sympy(sleigh: Exported, tmp_path: Path) -> None:
    script = """
import sys
sys.modules["sympy"] = None
from chaplygin.generated.chaplygin_sleigh import model
model.export_c(sys.argv[1], ("dop853", "rk4"))
"""
    python(script, tmp_path / "c")
    assert (tmp_path / "c" / "cg_runtime.c").read_bytes() == (sleigh.folder / "cg_runtime.c").read_bytes()


def test_a_form_with_a_coordinate_as_its_independent_variable(tmp_path: Path) -> None:
    """Whittaker's form of the sleigh along phi, as the command line exports it."""
    folder = tmp_path / "c"
    command = [
        "export-c",
        "chaplygin_sleigh",
        "--form",
        "whittaker",
        "--option",
        "along=phi",
        "-o",
        os.fspath(folder),
    ]
    assert main(command) == 0
    assert "its time is the coordinate `phi`" in (folder / "README.md").read_text()
    sources = [file.name for file in folder.glob("*.c")]
    called(
        [need("gcc"), "-std=c99", "-O0", *BITS, *STRICT, "-DCG_NO_HEAP", *sources, "-o", "example", "-lm"],
        folder,
    )
    example = cg.example("chaplygin_sleigh")
    model: Any = example.system.compile("whittaker", along="phi")
    start = {name: value for name, value in example.initial.items() if name != "phi"}
    run = model.stepper(start, example.parameters, rtol=1e-9, atol=1e-9)
    for i in range(1000):
        run.advance((i + 1) / 1000)
    expected = "".join(f"{name} = {value:.17g}\n" for name, value in zip(model.states, run.y))
    assert called([folder / "example"], folder) == expected


def test_the_command_line(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "c"
    command = ["export-c", "harmonic_oscillator", "-o", os.fspath(folder), "--methods", "rk4", "--set", "k=9"]
    assert main(command) == 0
    assert f"{folder / 'harmonic_oscillator.h'}  (" in capsys.readouterr().out
    assert "9.0" in (folder / "example.c").read_text()
    assert main([*command, "--single-header"]) == 2  # another command


# ---- refusals ----


def test_a_folder_with_another_content_is_refused(oscillator: Any, tmp_path: Path) -> None:
    folder = oscillator.export_c(tmp_path / "c")
    (folder / "build").mkdir()
    oscillator.export_c(folder)  # the same command
    with pytest.raises(cg.EmitError, match="is not empty and was not made by this command"):
        oscillator.export_c(folder, ("rk4",))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    refused("mine' is not empty", oscillator.export_c, tmp_path / "mine", error=cg.EmitError)
    refused("notes", oscillator.export_c, tmp_path / "mine" / "notes.txt", error=cg.EmitError)


def test_an_interrupted_export_can_be_repeated(
    oscillator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        if path.name == "Makefile":
            raise OSError(errno.ENOSPC, "No space left on device")
        path.write_bytes(content)

    with monkeypatch.context() as patch:
        patch.setattr("chaplygin.codegen.emit.write_folder.replace", full)
        refused("No space left on device", oscillator.export_c, tmp_path / "c", error=cg.EmitError)
    assert not (tmp_path / "c" / "Makefile").exists()
    oscillator.export_c(tmp_path / "c")
    assert (tmp_path / "c" / "Makefile").exists()


def test_wrong_arguments_name_the_entry(oscillator: Any, tmp_path: Path) -> None:
    refused("unknown method 'dop54'; known methods are rk4", oscillator.export_c, tmp_path / "c", ("dop54",))
    refused("methods = 5: give a list", oscillator.export_c, tmp_path / "c", 5)
    refused("methods is empty", oscillator.export_c, tmp_path / "c", ())
    refused("scalar = 'half'", oscillator.export_c, tmp_path / "c", scalar="half")
    refused("k", oscillator.export_c, tmp_path / "c", parameters={"m": 1})
    assert not (tmp_path / "c").exists()


def test_inputs_that_are_functions_are_refused_by_name(tmp_path: Path) -> None:
    x, push = cg.coordinates("x"), cg.inputs("push")
    rate = cg.rate(x)
    model: Any = cg.System("pushed", coordinates=[x], kinetic=rate**2 / 2, forces={rate: push}).compile()
    for given in (lambda t, y: 0.0, ([0, 1], [0, 1])):
        for export in (model.export_c, model.export_fmu):
            words = f"{export.__name__}: the input push is a function of time"
            refused(words, export, tmp_path / "pushed", initial={"x": 0, "x_dot": 0}, inputs={"push": given})


@pytest.mark.parametrize("name", ["math", "clean"])  # math.h of the C library; a target of CMake
def test_a_name_that_is_taken_is_refused(name: str, tmp_path: Path) -> None:
    q = cg.coordinates("q")
    model: Any = cg.System(name, coordinates=[q], kinetic=cg.rate(q) ** 2 / 2).compile("lagrange")
    refused(f"export_c: '{name}' is the name of .* another name", model.export_c, tmp_path / "c")


def test_a_model_without_a_file_of_its_own_is_refused(oscillator: Any, tmp_path: Path) -> None:
    model: Any = type(oscillator)(oscillator.capsule)
    refused("harmonic_oscillator has no sources", model.export_c, tmp_path / "c", error=cg.EmitError, **START)


def test_a_model_without_declared_numbers_gets_an_example(tmp_path: Path) -> None:
    model: Any = sprung("bare", 0).compile("lagrange")
    text = (model.export_c(tmp_path / "c") / "example.c").read_text()
    assert "p[] = {1.0}" in text


# ---- amalgamation ----


def test_files_are_joined_once_where_they_are_included() -> None:
    texts = {
        "a.c": '#include "b.h"\n#include "c.h"\nint a;\n',
        "b.h": "#ifndef B\n#define B\nint b;\n#endif\n",
        "c.h": '#include "b.h"\n#ifdef X\n#include "d.h"\n#endif\nint c;\n',
        "d.h": "#ifndef D\n#define D\nint d;\n#endif\n",
    }
    seen: set[str] = set()
    text = joined(["a.c", "d.h"], texts, seen)
    assert [line for line in text.split("\n") if line.startswith("int")] == [
        "int b;",
        "int d;",
        "int c;",
        "int a;",
        "int d;",
    ]
    assert seen == {"b.h", "d.h"}


def test_blocks_of_known_conditions_are_selected() -> None:
    text = "#if A\n1\n#if B\n2\n#endif\n#elif C\n3\n#else\n4\n#endif\n5"
    assert selected(text, {"A": False}) == "#if C\n3\n#else\n4\n#endif\n5"
    assert selected(text.replace("#elif C\n3\n", ""), {"A": True}) == "1\n#if B\n2\n#endif\n5"

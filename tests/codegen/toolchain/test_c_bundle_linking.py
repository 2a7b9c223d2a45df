"""C bundles as libraries: names, prefixes, versions, and several of them in one program; built and installed."""

from __future__ import annotations

import functools
import math
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from c_bundles import BITS, STRICT, called, exported, side as side_of
from integrations import need

import chaplygin as cg

START: dict[str, Any] = {"initial": {"x": 1, "x_dot": 0}, "parameters": {"m": 1, "k": 4}}
BOTH = """
#include <stdio.h>
double single(void);
double twofold(void);
int main(void) { printf("%.17g %.17g\\n", single(), twofold()); return 0; }
"""


@pytest.fixture
def oscillator() -> Any:
    from chaplygin.generated.harmonic_oscillator import model

    return model


def symbols(path: Path, *flags: str) -> set[str]:
    listed = called([need("nm"), "--defined-only", "-P", *flags, path.name], path.parent)
    return {line.split()[0] for line in listed.splitlines() if len(line.split()) > 2}


@pytest.mark.slow
@pytest.mark.parametrize("single_header", [False, True])
def test_two_bundles_of_one_model_in_one_program(
    oscillator: Any, tmp_path: Path, single_header: bool
) -> None:
    """In single and in double precision, as static libraries: x = cos 2."""
    sides = {"single": ("float", "s_"), "twofold": ("double", "d_")}
    for side, (scalar, prefix) in sides.items():
        folder = oscillator.export_c(
            tmp_path / side, ("dop853",), scalar, single_header, prefix=prefix, **START
        )
        called([need("make"), f"lib{prefix}harmonic_oscillator.a", "CFLAGS=-O0"], folder)
        names = symbols(folder / f"lib{prefix}harmonic_oscillator.a", "-g")
        assert {name for name in names if not name.startswith(prefix)} == set()
        assert f"{prefix}cg_run_advance" in names
        text = side_of("harmonic_oscillator", side, START["parameters"], scalar=scalar, end="CG_TIME(1, 1)")
        (tmp_path / f"{side}.c").write_text(text)
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", *BITS, f"-I{folder}"]
        called([need("gcc"), *flags, "-c", f"{side}.c"], tmp_path)
    (tmp_path / "both.c").write_text(BOTH)
    objects = ["both.c", "single.o", "twofold.o"]
    libraries = [
        str(tmp_path / side / f"lib{prefix}harmonic_oscillator.a") for side, (_, prefix) in sides.items()
    ]
    called([need("gcc"), *objects, *libraries, "-lm", "-o", "both"], tmp_path)
    single, twofold = map(float, called([tmp_path / "both"], tmp_path).split())
    assert single == pytest.approx(-0.4161468365471424, abs=1e-4)
    assert twofold == pytest.approx(-0.4161468365471424, abs=1e-8)
    assert single != twofold


@pytest.mark.parametrize("prefix", ["1a", "a-", "é", 5, None])
def test_a_prefix_that_cannot_begin_a_name(oscillator: Any, tmp_path: Path, prefix: Any) -> None:
    with pytest.raises(cg.ArgumentError, match=r"export_c: prefix = .* cannot begin names in C"):
        oscillator.export_c(tmp_path / "c", prefix=prefix, **START)


def test_a_shared_library_shows_its_header_alone_and_has_a_version_in_its_name(tmp_path: Path) -> None:
    bundle = exported("bouncing_ball", tmp_path / "c")
    called([need("make"), "libbouncing_ball.so", "CFLAGS=-O0"], bundle.folder)
    shown = symbols(bundle.folder / "libbouncing_ball.so", "-D")
    header = (bundle.folder / "bouncing_ball.h").read_text()
    assert {"cg_run_advance", "bouncing_ball_model", "cg_detector_init"} <= shown
    assert {name for name in shown if name not in header} == set()
    hidden = {
        name for name in symbols(bundle.folder / "libbouncing_ball.so") if name.startswith("cg_")
    } - shown
    assert "cg_correct_run_step" in hidden
    short = ".".join(cg.__version__.split(".")[:2])
    text = called([need("readelf"), "-d", "libbouncing_ball.so"], bundle.folder)
    assert f"libbouncing_ball.so.{short}]" in text
    prefix = tmp_path / "installed"
    called([need("make"), "install", f"PREFIX={prefix}", "CFLAGS=-O0"], bundle.folder)
    found = (prefix / "lib" / "libbouncing_ball.so").resolve()
    assert found.name == f"libbouncing_ball.so.{cg.__version__}"
    assert (prefix / "lib" / f"libbouncing_ball.so.{short}").resolve() == found
    assert "3-Clause" in (bundle.folder / "LICENSE").read_text()


@pytest.mark.slow
def test_cmake_finds_a_version_by_its_first_two_numbers(tmp_path: Path) -> None:
    bundle = exported("harmonic_oscillator", tmp_path / "c", ("rk4",))
    cmake, prefix, user = need("cmake"), tmp_path / "installed", tmp_path / "user"
    called([cmake, "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Debug"], bundle.folder)
    called([cmake, "--build", "build"], bundle.folder)
    called([cmake, "--install", "build", "--prefix", prefix], bundle.folder)
    user.mkdir()
    project = "cmake_minimum_required(VERSION 3.13)\nproject(user C)\nfind_package(harmonic_oscillator {} REQUIRED)\n"
    numbers = cg.__version__.split(".")
    for asked, there in (
        (".".join(numbers[:2]), True),
        (cg.__version__, True),
        (f"{numbers[0]}.{int(numbers[1]) + 1}", False),
    ):
        (user / "CMakeLists.txt").write_text(project.format(asked))
        done = subprocess.run(
            [cmake, "-S", user, "-B", tmp_path / asked, f"-DCMAKE_PREFIX_PATH={prefix}"],
            capture_output=True,
            check=False,
        )
        assert (done.returncode == 0) == there, done.stderr


def test_the_limit_of_steps_is_that_of_each_advance(oscillator: Any) -> None:
    """In steppers as in batches: a host that must answer in time bounds the work of one call."""
    run = oscillator.stepper(**START, method="rk4", step=0.01, max_steps=100)
    for i in range(1, 6):
        run.advance(0.5 * i)  # 50 steps each
    with pytest.raises(cg.KernelError, match=r"max_steps|too many steps"):
        run.advance(10.0)
    batch = oscillator.batch(**START, n=3, method="rk4", step=0.01, max_steps=100)
    for _ in range(5):
        batch.advance_by(0.5)
    assert not len(batch.failed)
    batch.advance_by(7.5)
    assert len(batch.failed) == 3


C = """
const char *{key}_said(void);
const char *{key}_said(void) {{ return cg_status_text(CG_BAD_ARGUMENT); }}
"""
CPP = """
#include "{key}/{name}.hpp"
double {key}_x()
{{
    const double x0[] = {{1, 0}};
    chaplygin::run run({name}_model, "rk4");
    {set}
    run->first_step = 1e-3;
    run.start(0, x0);
    run.advance(0.25);
    return run.state()[0];
}}
const char *{key}_said()
{{
    static std::string said;
    try {{ chaplygin::run run({name}_model, "none"); }} catch (const chaplygin::error &e) {{ said = e.what(); }}
    return said.c_str();
}}
"""
SAID = "an argument is outside its range"
BUNDLES = {
    "a": ("harmonic_oscillator", {"k": 4, "m": 1}, math.cos(0.5)),
    "b": ("harmonic_oscillator", {"k": 9, "m": 1}, math.cos(0.75)),
    "c": ("bouncing_ball", {"e": 0.5, "g": 8, "m": 1}, 0.75),
}
"""By prefix: the system, its parameters, and x at t = 1/4 from rest at 1. The second is a single header."""


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundles, whose runtimes tell which one they are."""
    folder = tmp_path_factory.mktemp("bundles")
    for key, (name, p, _) in BUNDLES.items():
        model = cg.example(name).system.compile()
        made = model.export_c(
            folder / key, ("rk4",), prefix=f"{key}_", single_header=key == "b", initial=[1, 0], parameters=p
        )
        runtime = made / ("cg_runtime.c" if key != "b" else f"{name}.h")
        text = runtime.read_text()
        assert text.count(f'"{SAID}"') == 1
        runtime.write_text(text.replace(SAID, f"{key}: {SAID}"))
    return folder


@functools.cache
def compiled(folder: Path, key: str, compiler: str, level: str) -> list[Path]:
    """The objects of a bundle."""
    sources = [f"{BUNDLES[key][0]}.c", "cg_runtime.c"][: 1 + (key != "b")]
    objects = [folder / f"{key}_{source}_{compiler}{level}.o" for source in sources]
    for source, made in zip(sources, objects, strict=True):
        called(
            [need(compiler), "-std=c99", *STRICT, *BITS, level, "-c", f"{key}/{source}", "-o", made], folder
        )
    return objects


@pytest.mark.sample(1)
@pytest.mark.parametrize("together", [False, True], ids=["apart", "in one file"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_three_bundles_in_one_program_each_run_their_own_code(
    compiler: str, level: str, together: bool, bundles: Path, tmp_path: Path
) -> None:
    """In one file, only the names of the first header are also there without the prefix."""
    suffix, standard = ("cpp", "-std=c++20") if compiler.endswith("++") else ("c", "-std=c99")
    texts, lines, libraries = {}, "", []
    c = {"g++": "gcc", "clang++": "clang"}.get(compiler, compiler)
    for key, (name, p, _) in BUNDLES.items():
        if suffix == "cpp":
            given = "".join(f"run.parameters()[{name.upper()}_P_{k}] = {v};" for k, v in p.items())
            text = CPP.format(key=key, name=name, set=given)
        else:
            how = {"method": "rk4", "end": "0.25", "set": "run->first_step = 1e-3;"}
            text = side_of(name, f"{key}_x", p, header=f"{key}/{name}.h", **how) + C.format(key=key)
        for word in ("cg_", "CG_", f"{name}_model", f"{name.upper()}_", "chaplygin::") * together:
            text = re.sub(rf"\b{word}", f"{key.upper() if word.isupper() else key}_{word}", text)
        texts[key], lines = text, f'{lines}    printf("%.17g %s\\n", {key}_x(), {key}_said());\n'
        libraries += compiled(bundles, key, c, level)
    main = f"int main(void)\n{{\n{lines}    return 0;\n}}\n"
    declared = "".join(f"double {key}_x(void);\nconst char *{key}_said(void);\n" for key in BUNDLES)
    files = {"main": "".join(texts.values()) + main} if together else {**texts, "main": declared + main}
    for stem, text in files.items():
        (tmp_path / f"{stem}.{suffix}").write_text(
            f"#include <stdio.h>\n#include <string.h>\n{'#include <string>' * (suffix == 'cpp')}\n{text}"
        )
    sources = [tmp_path / f"{stem}.{suffix}" for stem in files]
    target = tmp_path / "three"
    flags = [standard, *STRICT, *BITS, level, "-I."]
    called([need(compiler), *flags, *sources, *libraries, "-lm", "-o", target], bundles)
    printed = called([target], tmp_path).splitlines()
    for line, (key, (_, _, x)) in zip(printed, BUNDLES.items(), strict=True):
        number, _, said = line.partition(" ")
        assert float(number) == pytest.approx(x, abs=1e-12)
        assert said == f"{key}: {SAID}"


TOLD = {
    "rustc": ("example.rs", r"^//! +(make .*)$", "example"),
    "cc": ("README.md", r"^ {4}(cc .*)$", "a.out"),
}
"""The files that say how to build their example, where they say it, and what is built."""


@pytest.mark.parametrize("how", ["make", "cmake", "rustc", "cc"])
@pytest.mark.sample(1)
def test_a_bundle_with_a_prefix_is_built_and_installed_as_its_files_say(how: str, tmp_path: Path) -> None:
    """x = cos 2. Bundles of one model with other prefixes are installed into the same folder."""
    need(how)
    prefix, model = tmp_path / "installed", cg.example("harmonic_oscillator").system.compile()
    for key in "ab":
        folder = tmp_path / key
        model.export_c(folder, ("dop853",), prefix=f"{key}_", initial=[1, 0], parameters={"m": 1, "k": 4})
        if how in TOLD:
            file, command, made = TOLD[how]
            (said,) = re.findall(command, (folder / file).read_text(), re.MULTILINE)
            called(["sh", "-c", said], folder)
            program = folder / made
        else:
            build = f"cmake -B build && cmake --build build && cmake --install build --prefix {prefix}"
            called(["sh", "-c", f"make install PREFIX={prefix}" if how == "make" else build], folder)
            find = [need("pkg-config"), "--cflags", "--libs", f"{key}_harmonic_oscillator"]
            flags = called(["env", f"PKG_CONFIG_PATH={prefix}/lib/pkgconfig", *find], folder).split()
            assert f"-I{prefix}/" in flags[0].replace("lib/pkgconfig/../../", "")
            (tmp_path / f"{key}.c").write_text((folder / "example.c").read_text())
            program = tmp_path / f"program_{key}"
            called([need("gcc"), f"{key}.c", *flags, f"-Wl,-rpath,{prefix}/lib", "-o", program], tmp_path)
        (x,) = re.findall(r"x = (\S+)", called([program], tmp_path))
        assert float(x) == pytest.approx(math.cos(2), abs=1e-8)

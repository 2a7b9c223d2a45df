"""C bundles as libraries: names, versions, and several of them in one program."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from c_bundles import BITS, called, exported, side as side_of
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

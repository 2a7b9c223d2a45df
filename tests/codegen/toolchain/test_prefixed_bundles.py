"""C bundles with prefixes: three in one program, each of which runs its own code; built and installed."""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path

import pytest
from c_bundles import BITS, STRICT, called, side
from integrations import need

import chaplygin as cg

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
            text = side(name, f"{key}_x", p, header=f"{key}/{name}.h", **how) + C.format(key=key)
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

"""The folder written by `emit`: it compiles as C and as C++, no file of the user's is lost; the table of targets."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_runtime import run
from dense_chain import dense_chain
from integrations import need
from refusals import refused
from runtime_models import needs_core
from test_emit import every_function
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.cli import main
from chaplygin.codegen.emit import targets
from chaplygin.codegen.emit.targets import emit_to
from chaplygin.codegen.lower.lowered import Lowered
from chaplygin.errors import ArgumentError, ChaplyginError, EmitError

ROOT = Path(__file__).resolve().parents[3]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
C, CPP = ["gcc", "clang"], ["g++", "clang++"]


def woodpecker() -> cg.Equations:
    entry = cg.example("woodpecker")
    return entry.system.equations(entry.forms[0], **entry.options.get(entry.forms[0], {}))


SYSTEMS = {
    "every_function": lambda: every_function().equations("lagrange"),
    "woodpecker": woodpecker,  # events, contacts, modes
    "dense_chain_14": lambda: dense_chain(14).system.equations("lagrange"),
}


@pytest.fixture(scope="module", params=SYSTEMS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp(request.param)
    paths = emit_to(SYSTEMS[request.param]().program, target)
    assert sorted(paths) == sorted(target.iterdir())
    return target


@pytest.mark.parametrize("compiler", C)
@pytest.mark.sample(2)
def test_c_compiles_where_it_stands(folder: Path, compiler: str, tmp_path: Path) -> None:
    """The core with its methods inlined, and the lanes, without the runtime's folder."""
    (core,), (lanes,) = folder.glob("*_core.c"), folder.glob("*_lanes.c")
    flags = [need(compiler), "-std=c99", "-fsyntax-only", *STRICT]
    run([*flags, "-DCHAPLYGIN_INLINE_METHODS", core])
    run([*flags[:3], "-Wall", "-Wextra", "-Werror", "-DCG_LANES=2", lanes])


@pytest.mark.parametrize("compiler", CPP)
@pytest.mark.sample(2)
def test_the_core_and_the_headers_are_cpp_too(folder: Path, compiler: str, tmp_path: Path) -> None:
    (core,) = folder.glob("*_core.c")
    flags = [need(compiler), "-x", "c++", "-std=c++17", "-fsyntax-only", *STRICT]
    run([*flags, core])
    run([*flags, "-DCHAPLYGIN_INLINE_METHODS", core])
    for header in ("cg_math.h", "cg_run.h", core.name.replace(".c", ".h")):
        if (folder / header).exists():
            (tmp_path / "alone.cpp").write_text(f'#include "{header}"\n', encoding="utf-8")
            run([*flags, f"-I{folder}", "-Wno-unused-function", tmp_path / "alone.cpp"])


@needs_core
@pytest.mark.parametrize("compiler", CPP)
@pytest.mark.sample(1)
def test_the_core_compiled_as_cpp_has_the_same_bits(compiler: str, tmp_path: Path) -> None:
    equations = every_function().equations("lagrange")
    emit_to(equations.program, tmp_path)
    library = tmp_path / "core.so"
    flags = ["-x", "c++", "-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    run([need(compiler), *flags, tmp_path / "every_function_core.c", "-o", library])
    model = cg.compile(equations)
    y, p, u = np.array([0.3, -0.4, 0.5, 0.6]), np.array([0.7]), np.array([0.8])
    out = np.empty(4)
    function = ctypes.CDLL(str(library)).every_function_rhs
    function.argtypes = [ctypes.c_double, *[ctypes.c_void_p] * 5]
    assert function(0.3, y.ctypes.data, p.ctypes.data, u.ctypes.data, out.ctypes.data, None) == 0
    assert np.array_equal(out, model.rhs(0.3, y, p, u))


def test_every_file_says_where_it_comes_from(folder: Path) -> None:
    for path in folder.iterdir():
        assert "by chaplygin" in "".join(path.read_text(encoding="utf-8").splitlines(True)[:2]), path.name


def emitted(target: Path, **options: Any) -> list[Path]:
    return cg.example("harmonic_oscillator").system.emit("lagrange", target, **options)


def test_only_what_chaplygin_wrote_is_replaced(tmp_path: Path) -> None:
    before = {p: p.read_bytes() for p in emitted(tmp_path)}
    core = tmp_path / "harmonic_oscillator_core.c"
    core.write_bytes(before[core][:300])  # emitted earlier
    emitted(tmp_path)
    assert {p: p.read_bytes() for p in before} == before
    header = tmp_path / "chaplygin.h"
    header.write_text("/* mine */\n", encoding="utf-8")
    core.write_bytes(before[core][:300])
    refused(r"chaplygin\.h' was not written by chaplygin.*force=True", emitted, tmp_path, error=EmitError)
    assert header.read_text() == "/* mine */\n"
    assert core.read_bytes() == before[core][:300]  # nothing was written
    emitted(tmp_path, force=True)
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.parametrize("force", [False, True])
def test_links_are_not_followed(tmp_path: Path, force: bool) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text(
        "/* Generated by chaplygin 0: this is not, but it begins like it */", encoding="utf-8"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "chaplygin.h").symlink_to(precious)
    (folder / "harmonic_oscillator.pyx").symlink_to(tmp_path / "not there")
    kept = precious.read_bytes()
    if force:
        emitted(folder, force=True)
        assert not (folder / "chaplygin.h").is_symlink()
    else:
        refused("symbolic link", emitted, folder, error=EmitError)
    assert precious.read_bytes() == kept
    assert not (tmp_path / "not there").exists()


def test_the_command_line_has_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "harmonic_oscillator.pyi"
    mine.write_text("mine", encoding="utf-8")
    command = ["emit", "harmonic_oscillator", "-o", str(tmp_path)]
    assert main(command) == 2
    assert "--force" in capsys.readouterr().err
    assert mine.read_text() == "mine"
    assert main([*command, "--force"]) == 0
    assert mine.read_text() != "mine"


def test_errors_of_the_disk(tmp_path: Path) -> None:
    """A file among the folder's parents; a name that no file system accepts; a limit on file sizes."""
    resource = pytest.importorskip("resource")
    (tmp_path / "file").write_text("", encoding="utf-8")
    for target in (
        tmp_path / "file" / "folder",
        tmp_path / ("x" * 300),
        tmp_path / "a\0b",
        tmp_path / "\udc80\ud800",
    ):
        refused(r"cannot write to|NUL", emitted, target, error=(EmitError, ArgumentError))
    whole = {p: p.read_bytes() for p in emitted(tmp_path)}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(EmitError, match=r"cannot write to .*arge") as caught:
            emitted(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert isinstance(caught.value, ChaplyginError)
    assert isinstance(caught.value, OSError)
    assert {p for p in tmp_path.iterdir() if p.name != "file"} == set(whole)  # no partial files, no leftovers
    assert {p: p.read_bytes() for p in whole} == whole


@needs_core
def test_addresses_have_every_kernel_of_the_model() -> None:
    z = cg.coordinates("z")
    g = cg.parameters("g")
    rate = cg.rate(z)
    ball = unit_masses(
        "ball", [z], potential=g * z, events=[cg.Event(z - 2, name="floor", reset={rate: -rate / 4})]
    )
    model = ball.compile()
    assert model.kernels == {"rhs": 2, "jvp": 2, "jacobian": 4, "outputs": 2, "guards": 1, "reset": 2}
    assert model.addresses.keys() == model.kernels.keys() | {"hoist"}
    x, p, out = np.array([5.0, -8.0]), np.array([9.81]), np.zeros(2)
    pointers = [a.ctypes.data for a in (x, p)]
    kernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[ctypes.c_void_p] * 5)
    guards = kernel(model.addresses["guards"])
    assert guards(0.0, *pointers, None, out.ctypes.data, None) == 0
    assert out[0] == 3.0
    reset = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_double, *[ctypes.c_void_p] * 5)(
        model.addresses["reset"]
    )
    assert reset(0, 0.0, *pointers, None, out.ctypes.data, None) == 0
    assert out.tolist() == [5.0, 2.0]


SYSTEM = cg.example("harmonic_oscillator").system


def listing(program: Lowered, command: str) -> dict[str, str]:
    """The length of each kernel, one on a line."""
    lines = [f"# Generated by chaplygin: {command}", *(f"{e.name} {e.length}" for e in program.entries)]
    return {f"{program.name}.txt": "\n".join(lines) + "\n"}


@pytest.fixture
def _with_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets.TARGETS, "listing", listing)


@pytest.mark.usefixtures("_with_listing")
def test_a_target_of_one_row(tmp_path: Path) -> None:
    (path,) = SYSTEM.emit("lagrange", tmp_path / "one", targets="listing")
    assert path == tmp_path / "one" / "harmonic_oscillator.txt"
    first, *rest = path.read_text().splitlines()
    assert first == "# Generated by chaplygin: chaplygin emit harmonic_oscillator --form lagrange -o DIR"
    assert rest == ["rhs 2", "jvp 2", "jacobian 4", "invariants 1"]
    names = {p.name for p in SYSTEM.emit("lagrange", tmp_path / "two", targets=("c", "listing"))}
    assert names >= {"harmonic_oscillator_core.c", "chaplygin.h", "harmonic_oscillator.txt"}
    assert not {p for p in names if p.endswith((".pyx", ".pxi", "_lanes.c"))}


@pytest.mark.usefixtures("_with_listing")
@needs_core
def test_the_default_is_what_a_model_is_compiled_from(tmp_path: Path) -> None:
    suffixes = {p.name.rpartition("oscillator")[2] for p in SYSTEM.emit("lagrange", tmp_path)}
    assert suffixes >= {"_core.c", "_core.h", "_lanes.c", ".pyx", ".pxd", ".pyi"}
    assert ".txt" not in suffixes
    text = (tmp_path / "harmonic_oscillator.pyx").read_text()
    assert 'include "cg_module.pxi"' in text
    assert {"cg_module.pxi", "cg_kernels.pxi"} <= {p.name for p in tmp_path.iterdir()}


def test_an_unknown_target_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="emit: unknown target 'cyton'; did you mean cython"):
        SYSTEM.emit("lagrange", tmp_path, targets=("c", "cyton"))
    assert not any(tmp_path.iterdir())


def test_forms_leave_the_graph_of_their_system_as_it_was() -> None:
    """Also where a form looks at the loops of a mechanism along its motions."""
    entry = cg.example("n_four_bars")
    before = len(entry.system.nodes.graph)
    for form in entry.forms:
        entry.system.equations(form, **entry.options.get(form, {}))
        assert len(entry.system.nodes.graph) == before, form


@pytest.mark.slow
@pytest.mark.parametrize("name", ["n_four_bars", "bricard", "hexapod"])
def test_forms_that_were_derived_before_change_no_byte(name: str) -> None:
    def texts(system: cg.System, form: str) -> Any:
        program = system.equations(form, **entry.options.get(form, {})).program
        return targets.emit(program, targets.COMPILED).files

    entry = cg.example(name)
    alone = {form: texts(cg.example(name).system, form) for form in entry.forms}
    for form in reversed(entry.forms):
        assert texts(entry.system, form) == alone[form]

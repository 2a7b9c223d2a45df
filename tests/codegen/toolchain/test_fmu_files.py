"""What is in an FMU: the description, the sources and what is compiled from them; and refusals, in Python and in C."""

from __future__ import annotations

import ctypes
import math
import os
import re
import shutil
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import fmpy
import pytest
from c_bundles import called
from c_runtime import run
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu
from fmus import SYSTEMS, Fmu, begin, exported, states
from integrations import need
from refusals import refused

import chaplygin as cg
from chaplygin.cli import main
from chaplygin.codegen.emit.fmi_description import divided, exponents
from chaplygin.codegen.toolchain import fmu as fmu_module

VERSIONS = ("2.0", "3.0")
HARNESSES = Path(__file__).resolve().parents[2] / "c" / "fmi"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
START: dict[str, Any] = {"initial": {"x": 1, "x_dot": 0}, "parameters": {"m": 1, "k": 4}}


@pytest.fixture(scope="module")
def oscillator() -> Any:
    from chaplygin.generated.harmonic_oscillator import model

    return model


@pytest.fixture
def _described_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """FMUs without a library, for tests of what the description says."""
    monkeypatch.setattr(fmu_module, "_compiled", lambda *_: b"")


@pytest.fixture(scope="module", params=VERSIONS)
def block(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fmu:
    return exported("block_on_belt", request.param, tmp_path_factory.mktemp("block"))


def listed_sources(fmu: Fmu) -> list[str]:
    """The C files to compile, as the FMU lists them."""
    if fmu.version == "3.0":
        root = ET.parse(Path(fmu.folder) / "sources" / "buildDescription.xml").getroot()
        return [e.attrib["name"] for e in root.iter("SourceFile")]
    root = ET.parse(Path(fmu.folder) / "modelDescription.xml").getroot()
    (element,) = root.iter("CoSimulation")
    return [e.attrib["name"] for e in element.iter("File")]


# ---- the description ----


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kg m^2", {"kg": 1, "m": 2}),
        ("m/s**2", {"m": 1, "s": -2}),
        ("N*m/rad", {"kg": 1, "m": 2, "s": -2, "rad": -1}),
        ("J/(kg K)", {"m": 2, "s": -2, "K": -1}),
        ("1/s", {"s": -1}),
        ("kg/(m s^2)", {"kg": 1, "m": -1, "s": -2}),
        ("m*s^(-2)", {"m": 1, "s": -2}),
        ("rad", {"rad": 1}),
        ("bushel", None),
        ("m/(s", None),
    ],
)
def test_units_are_read_as_exponents_of_base_units(text: str, found: dict[str, int] | None) -> None:
    assert exponents(text) == found


def test_derivatives_have_the_unit_per_second() -> None:
    assert [divided(u) for u in ("m", "rad/s", "1/s", "s", "bushel", "")] == [
        "m/s",
        "rad/s2",
        "1/s2",
        "1",
        "",
        "",
    ]


@pytest.mark.usefixtures("_described_only")
def test_dependencies_are_those_of_the_equations(tmp_path: Path) -> None:
    """The sleigh: phi' = omega, x' = v cos(phi) - w sin(phi) with w = 0."""
    fmu = exported("chaplygin_sleigh", "3.0", tmp_path)
    names = {v.valueReference: v.name for v in fmu.description.modelVariables}
    found = {
        names[u.variable.valueReference]: {v.name: k for v, k in zip(u.dependencies, u.dependenciesKind)}
        for u in fmu.description.derivatives
    }
    assert found["der(phi)"] == {"omega": "constant"}
    assert found["der(x)"] == {"phi": "dependent", "v": "dependent"}
    assert set(found["der(omega)"]) == set(found["der(v)"]) == {"omega", "v"}


@pytest.mark.sample(1)
def test_variables_have_their_units_texts_and_start_values(block: Fmu) -> None:
    variables = {v.name: v for v in block.description.modelVariables}
    for name in block.model.states:
        assert float(variables[name].start) == block.example.initial[name]
        assert variables[name].causality == "output"
    for name in block.model.parameters:
        assert float(variables[name].start) == block.example.parameters[name]
        assert (variables[name].unit or "") == block.model.variables[name].unit
        assert (variables[name].description or "") == block.model.variables[name].description


def test_the_same_model_gives_the_same_archive(oscillator: Any, tmp_path: Path) -> None:
    paths = [oscillator.export_fmu(tmp_path / f"{i}.fmu", **START) for i in (1, 2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with zipfile.ZipFile(paths[0]) as archive:
        assert all(entry.extract_version <= 20 for entry in archive.infolist())


@pytest.mark.parametrize(("kind", "found"), [("model-exchange", "mx"), ("co-simulation", "cs")])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.sample(2)
def test_one_kind_alone(oscillator: Any, version: str, kind: str, found: str, tmp_path: Path) -> None:
    path = os.fspath(oscillator.export_fmu(tmp_path / "o.fmu", version, kind, **START))
    description = fmpy.read_model_description(path)
    assert (description.modelExchange is not None) == (found == "mx")
    assert (description.coSimulation is not None) == (found == "cs")
    assert validate_fmu(path) == []


# ---- the sources ----


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.sample(1)
def test_it_works_when_compiled_from_its_own_sources(block: Fmu, compiler: str, tmp_path: Path) -> None:
    (library,) = Path(block.folder).glob("binaries/*/*.so")
    shutil.copytree(block.folder, tmp_path / "own")
    own = tmp_path / "own" / library.relative_to(block.folder)
    own.unlink()
    command = [
        need(compiler),
        *STRICT,
        *"-O0 -fPIC -shared -fvisibility=hidden".split(),
        *listed_sources(block),
    ]
    run([*command, "-o", own, "-lm"], tmp_path / "own" / "sources")
    ours = Fmu(block.example, block.model, block.path, os.fspath(tmp_path / "own"), block.version)
    ends = []
    for fmu in (block, ours):
        with fmu.instance("CoSimulation") as instance:
            instance.doStep(0.0, 3.0)
            ends.append(states(instance, fmu).tobytes())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_the_sources_of_two_link_into_one_program(version: str, tmp_path: Path) -> None:
    """With FMI's prefix: no symbol without it but those of the models, and the bits of each FMU alone."""
    number, sides, objects = version[0], ("left", "right"), []
    expected: list[str] = []
    for side, name in zip(sides, ("chaplygin_sleigh", "double_pendulum")):
        (tmp_path / side).mkdir()
        fmu = exported(name, version, tmp_path / side)
        sources = Path(fmu.folder) / "sources"
        references = fmu.references(fmu.model.states)
        defines = [f"-DFMI{number}_FUNCTION_PREFIX={side}_", f"-DVERSION={number}", f"-DRUN={side}_run"]
        defines += [f"-DN={len(references)}", f"-DREFERENCES={','.join(map(str, references))}"]
        defines += [f'-DTOKEN="{fmu.description.guid}"']
        (tmp_path / side / "o").mkdir()
        files = [*(sources / file for file in listed_sources(fmu)), HARNESSES / "run_one.c"]
        command = [need("gcc"), *STRICT, "-O1", "-c", *defines, "-I", sources, *files]
        subprocess.run(command, cwd=tmp_path / side / "o", check=True)
        mine = sorted((tmp_path / side / "o").glob("*.o"))
        symbols = subprocess.run(
            [need("nm"), "-g", "--defined-only", *mine], capture_output=True, text=True, check=True
        ).stdout
        defined = [line.split()[2] for line in symbols.splitlines() if len(line.split()) == 3]
        assert [n for n in defined if not n.startswith((f"{side}_", f"{name}_"))] == []
        objects += mine
        with fmu.instance("CoSimulation") as instance:
            instance.doStep(0.0, 3.0)
            expected += [row.tobytes()[::-1].hex() for row in states(instance, fmu)]
    sizes = (f"-DLEFT={len(fmu.model.states) + 1}", f"-DRIGHT={len(fmu.model.states)}")
    subprocess.run(
        [need("gcc"), *STRICT, *sizes, HARNESSES / "run_two.c", *objects, "-lm", "-o", tmp_path / "two"],
        check=True,
    )
    found = subprocess.run([tmp_path / "two"], capture_output=True, text=True, check=True).stdout.split()
    assert found == expected


@pytest.mark.sample(1)
def test_a_thousand_misuses_give_errors_and_no_crash(block: Fmu, tmp_path: Path) -> None:
    misuse(block, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != "block_on_belt"])
def test_a_thousand_misuses_of_every_system(name: str, version: str, tmp_path: Path) -> None:
    misuse(exported(name, version, tmp_path), tmp_path)


def misuse(fmu: Fmu, folder: Path) -> None:
    """Compile the FMU with a program that misuses it, under sanitizers, and run it."""
    program = HARNESSES / f"misuse{fmu.version[0]}.c"
    command = "gcc -std=c99 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -I.".split()
    command += [os.fspath(program), *listed_sources(fmu), "-o", os.fspath(folder / "misuse"), "-lm"]
    called(command, Path(fmu.folder) / "sources")
    failed, worked = map(int, called([folder / "misuse", fmu.description.guid], folder).split())
    assert failed + worked <= 1000
    assert failed > 300
    assert worked > 50


# ---- refusals in C ----


def fails(capfd: Any, message: str, function: Any, *arguments: Any) -> None:
    with pytest.raises(FMICallException) as error:
        function(*arguments)
    assert error.value.status == 3
    assert re.search(message, capfd.readouterr().out)


def test_wrong_calls_give_errors_that_name_the_entry(block: Fmu, capfd: Any) -> None:
    mass = block.references(["m"])
    with block.instance("CoSimulation", start=False) as instance:
        put, get = instance.setFloat64, instance.getFloat64
        fails(capfd, "fmi.DoStep is not allowed after instantiation", instance.doStep, 0.0, 1.0)
        fails(capfd, "m = nan is not finite", put, mass, [float("nan")])
        fails(capfd, "m = -1 .* contradicts its declaration", put, mass, [-1.0])
        fails(capfd, "value reference 4000 is not", get, [4000])
        fails(capfd, "value reference 0 is not", put, [0], [1.0])
        method = block.references(["solver.method"])
        fails(capfd, "solver.method = euler is not a method", instance.setString, method, ["euler"])
        begin(instance, block.version)
        fails(capfd, "solver.method can be set only before", instance.setString, method, ["rk4"])
        fails(capfd, "is not one forward in time", instance.doStep, 0.0, -1.0)
        instance.doStep(0.0, 0.5)
        fails(capfd, "does not continue the last one", instance.doStep, 0.0, 0.5)
        instance.doStep(0.5, 0.5)


@pytest.fixture(scope="module")
def on_circle(tmp_path_factory: Any) -> Fmu:
    """A point on a circle, whose coordinates are both states."""
    x, y = cg.coordinates("x y")
    m, length = cg.parameters("m l", positive=True)
    rates = cg.rate(x) ** 2 + cg.rate(y) ** 2
    system = cg.System(
        "on_circle", coordinates=[x, y], kinetic=m * rates / 2, potential=m * y, holonomic=[x**2 + y**2 - length**2],
        example={x: 1, y: 0, m: 1, length: 1},
    )  # fmt: skip
    model, folder = system.compile("multipliers"), tmp_path_factory.mktemp("circle")
    start = {"x": 0.6, "y": -0.8, "x_dot": 0.0, "y_dot": 0.0}
    given = {"initial": start, "parameters": {"m": 1, "l": 1}}
    return Fmu.of(model, folder, "2.0", **given)


@pytest.mark.slow
def test_a_start_off_a_constraint_is_refused(on_circle: Fmu, capfd: Any) -> None:
    fmu, model = on_circle, on_circle.model
    with fmu.instance("CoSimulation", start=False) as instance:
        instance.setReal(fmu.references(["x"]), [0.7])
        fails(
            capfd,
            "the state is off a constraint: .* = -?0.13, which should be 0",
            begin,
            instance,
            "2.0",
        )
        instance.setReal(fmu.references(["x"]), [0.6])
        instance.exitInitializationMode()
    outputs = {v.name for v in fmu.description.modelVariables if v.causality == "output"}
    assert set(model.residuals) <= outputs
    with fmu.instance("ModelExchange") as instance:
        instance.enterContinuousTimeMode()
        instance.setContinuousStates((ctypes.c_double * 4)(0.6, -0.7, 0.0, 0.0), 4)
        off = instance.getReal(fmu.references(model.residuals))
        assert sorted(off) == pytest.approx([0.6**2 + 0.7**2 - 1, 0])  # of the velocities: 0


def test_a_quaternion_of_a_joint_has_length_1_at_the_start(capfd: Any, tmp_path: Path) -> None:
    body = cg.joint.ball(None, name="bob", mass=1, inertia=[1, 2, 3])
    model = cg.System("spun", bodies=[body]).compile()
    start = dict.fromkeys(model.states, 0.0) | {"bob_q0": 1.0}
    fmu = Fmu.of(model, tmp_path, "2.0", initial=start)
    said = "bob_q0, bob_q1, bob_q2, bob_q3 must be a quaternion of length 1, and its length is "
    with fmu.instance("CoSimulation", start=False) as instance:
        instance.setReal(fmu.references(["bob_q0"]), [1.5])
        fails(capfd, rf"{said}1\.5", begin, instance, "2.0")
        instance.setReal(fmu.references(["bob_q0"]), [0.0])
        fails(capfd, f"{said}0", instance.exitInitializationMode)
        instance.setReal(fmu.references(["bob_q0"]), [1.02])
        instance.exitInitializationMode()
        assert said + "1.02" in capfd.readouterr().out


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_friction_that_drives_its_slip_is_refused(kind: str, capfd: Any, tmp_path: Path) -> None:
    x, mu = cg.coordinates("x"), cg.parameters("mu")
    floor = cg.Coulomb("floor", slip=cg.rate(x), normal=10, mu=mu)
    model = cg.System("slid", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, contacts=[floor]).compile()
    start = {"initial": {"x": 0.0, "x_dot": 1.0}, "parameters": {"mu": 0.3}}
    fmu = Fmu.of(model, tmp_path, "2.0", **start)
    with fmu.instance(kind, start=False) as instance:
        instance.setReal(fmu.references(["mu"]), [-0.3])
        fails(capfd, r"contact floor: mu = -0\.3 is negative", begin, instance, "2.0")
        instance.setReal(fmu.references(["mu"]), [0.0])
        instance.exitInitializationMode()


@pytest.mark.parametrize(
    ("tolerance", "off"), [(1e-3, 1e-3), (1e-3, 1e-2), (1e-3, 0.3), (1e-9, 1e-3), (1e-9, 1e-6)]
)
@pytest.mark.sample(1)
def test_a_start_is_as_near_to_its_constraints_as_the_tolerance_explains(
    tolerance: float, off: float, on_circle: Fmu, capfd: Any
) -> None:
    """10 tolerances are not worth a word and 100 are refused, of the terms of x^2 + y^2 - l^2 or of their change."""
    x, y = 0.6 + off, 0.8
    residual, terms, slopes = x * x + y * y - 1, x * x + y * y + 1, 2 * x + 2 * y
    allowed = tolerance * max(terms, slopes)
    refuses = residual > max(1e-4 * terms, 100 * allowed)
    warns = residual > max(1e-8 * terms, 10 * allowed)
    with on_circle.instance("CoSimulation", start=False) as instance:
        instance.setReal(on_circle.references(["x"]), [x])
        if refuses:
            fails(capfd, "the state is off a constraint", begin, instance, "2.0", tolerance)
        else:
            begin(instance, "2.0", tolerance)
            assert ("off a constraint" in capfd.readouterr().out) == warns
    given = on_circle.example["initial"] | {"x": x}, on_circle.example["parameters"]
    told = pytest.warns(cg.ConsistencyWarning) if warns else nullcontext()
    with warnings.catch_warnings(), pytest.raises(cg.ArgumentError) if refuses else told:
        warnings.simplefilter("error" if not warns else "always", cg.ConsistencyWarning)
        on_circle.model.integrate((0, 1e-3), *given, rtol=tolerance, atol=tolerance)


# ---- refusals in Python ----


def test_wrong_arguments_of_the_export(oscillator: Any, tmp_path: Path) -> None:
    path = tmp_path / "o.fmu"
    refused(r"version = '1\.0': give one of '2\.0', '3\.0'", oscillator.export_fmu, path, "1.0", **START)
    words = "kind = 'cosimulation': give one of 'both', 'model-exchange', 'co-simulation'"
    refused(words, oscillator.export_fmu, path, kind="cosimulation", **START)
    refused("k", oscillator.export_fmu, path, initial=START["initial"], parameters={"m": 1})
    path.write_text("mine")
    refused("exists and is not an FMU", oscillator.export_fmu, path, error=cg.EmitError, **START)
    assert path.read_text() == "mine"
    with pytest.raises(cg.EmitError, match="cannot write to"):
        oscillator.export_fmu(tmp_path / "missing" / "o.fmu", **START)
    words = r"export_fmu: path = .* must be a path, without NUL characters"
    refused(words, oscillator.export_fmu, "o\0.fmu", **START)
    refused("File name too long", oscillator.export_fmu, tmp_path / ("o" * 300), error=cg.EmitError, **START)
    with pytest.raises(cg.ArgumentError, match="unknown platform 'win64'; known are x86_64-linux, "):
        oscillator.export_fmu(tmp_path / "p.fmu", platforms=["win64"], **START)
    for wrong, shown in (
        (3, "platforms = 3: give a list of x86"),
        ("win64", "platforms = 'win64': give a list of x86"),
        ([None], "unknown platform None; known are"),
    ):
        refused(shown, oscillator.export_fmu, tmp_path / "p.fmu", platforms=wrong, **START)
    for export in (oscillator.export_fmu, oscillator.export_c):
        with pytest.raises(cg.ArgumentError, match=r"takes the numbers by name: initial=\{\.\.\.\}"):
            export(tmp_path / "p", START["initial"], START["parameters"])


def test_progress_shows_the_files_that_are_compiled(
    oscillator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)  # not installed: a line
    path = oscillator.export_fmu(tmp_path / "o.fmu", progress=True, **START)
    with zipfile.ZipFile(path) as archive:
        listed = archive.read("sources/buildDescription.xml").decode().count("<SourceFile ")
    assert f"{listed}/{listed} files (100 %)" in capsys.readouterr().err
    oscillator.export_fmu(path, progress=False, **START)
    oscillator.export_fmu(path, **START)  # not a terminal
    assert capsys.readouterr().err == ""


def test_an_archive_that_is_not_an_fmu_is_not_replaced(oscillator: Any, tmp_path: Path) -> None:
    path = tmp_path / "letters.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "mine")
    before = path.read_bytes()
    refused("exists and is not an FMU", oscillator.export_fmu, path, error=cg.EmitError, **START)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", VERSIONS)
def test_any_text_is_described(version: str, tmp_path: Path) -> None:
    """Markup, control characters that XML does not have, and units that nobody can read; a name like a file of FMI."""
    x, v = cg.coordinates("x"), cg.rate(cg.coordinates("x"))
    system = cg.System(
        "fmi2",
        coordinates=[x],
        kinetic=v**2 / 2,
        potential=x**2,
        units={x: '<m> & "ft"'},
        descriptions={x: "a < b & \"c\"\n'd' \x07 \u2603"},
    )
    path = system.compile("lagrange").export_fmu(tmp_path / "é ☃.fmu", version, initial={"x": 1, "x_dot": 0})
    assert validate_fmu(os.fspath(path)) == []
    (found,) = [v for v in fmpy.read_model_description(os.fspath(path)).modelVariables if v.name == "x"]
    assert found.description == "a < b & \"c\"\n'd' \ufffd \u2603"
    assert found.unit == '<m> & "ft"'
    result = fmpy.simulate_fmu(
        os.fspath(path), stop_time=1, timeout=60, relative_tolerance=1e-9, output=["x"]
    )
    assert result["x"][-1] == pytest.approx(math.cos(2**0.5), abs=1e-6)


@pytest.mark.slow
@pytest.mark.integration("ziglang")
def test_libraries_for_other_platforms(oscillator: Any, tmp_path: Path) -> None:
    """They are compiled and exported; nothing here can run them."""
    magic = {
        "binaries/aarch64-linux/harmonic_oscillator.so": b"\x7fELF",
        "binaries/x86_64-windows/harmonic_oscillator.dll": b"MZ",
        "binaries/aarch64-darwin/harmonic_oscillator.dylib": b"\xcf\xfa\xed\xfe",
    }
    platforms = [place.split("/")[1] for place in magic]
    path = oscillator.export_fmu(tmp_path / "o.fmu", platforms=platforms, **START)
    with zipfile.ZipFile(path) as archive:
        for place, first in magic.items():
            library = archive.read(place)
            assert library.startswith(first), place
            assert b"fmi3DoStep" in library, place


def test_a_model_whose_independent_variable_is_not_the_time_is_refused(tmp_path: Path) -> None:
    example = cg.example("double_pendulum")
    model = example.system.compile("whittaker", along=example.system.coordinates[0])
    with pytest.raises(cg.ArgumentError, match="as its independent variable; that of an FMU is the time"):
        model.export_fmu(
            tmp_path / "d.fmu", initial={**example.initial, "theta1_dot": 1.0}, parameters=example.parameters
        )


def test_the_command_line_exports(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "o.fmu"
    assert main(["export-fmu", "harmonic_oscillator", "-o", str(path), "--fmi", "2.0", "--set", "k=9"]) == 0
    assert str(path) in capsys.readouterr().out
    description = fmpy.read_model_description(str(path))
    assert description.fmiVersion == "2.0"
    assert {v.name: v.start for v in description.modelVariables}["k"] == "9.0"
    assert main(["export-fmu", "harmonic_oscillator", "-o", str(path), "--fmi", "4.0"]) == 2
    assert "version = '4.0'" in capsys.readouterr().err

"""The code in README.md and docs/ runs as printed, and the commands there exist.

So does every example of a docstring.
"""

from __future__ import annotations

import doctest
import json
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import ROOT, Block, blocks
from integrations import compilers_with_sundials
from test_cpp import compiles_cpp

import chaplygin
import chaplygin as cg
from chaplygin.cli import main
from chaplygin.cli.parser import parser
from chaplygin.codegen.forms.choose import forms

PAGES = """
README.md CONTRIBUTING.md bench/README.md bench/RESULTS.md docs/c_bundle.md docs/index.md docs/conventions.md
docs/declare.md docs/embedding.md docs/fmu.md docs/forms.md docs/from_sympy.md docs/gym.md docs/limits.md
docs/linearization.md docs/runs.md docs/urdf.md docs/verification.md docs/versions.md docs/painleve_klein.md
""".split()
"""The code of the last one runs in test_painleve_klein.py."""

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler called cc")


def run_python(page: str, block: Block, namespace: dict[str, Any]) -> None:
    # Padded, so that a traceback shows the line of the page.
    code = compile("\n" * (block.line - 1) + block.text, page, "exec")
    exec(code, namespace)


def run_python_blocks(page: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        if block.language == "python":
            run_python(page, block, namespace)
    return namespace


def follows_the_cycloid(sol: cg.Solution, g: float = 5.0, omega: float = 1.0) -> None:
    """The skate on a slope."""
    t = sol.t
    assert sol.success
    np.testing.assert_allclose(sol["x"], g * np.sin(omega * t) ** 2 / (2 * omega**2), atol=1e-8)
    drift = g * (omega * t - np.sin(omega * t) * np.cos(omega * t)) / (2 * omega**2)
    np.testing.assert_allclose(sol["y"], drift, atol=1e-8)


def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks run in one namespace: the skate's path is the known cycloid, the pendulum keeps its energy."""
    monkeypatch.chdir(tmp_path)
    names = run_python_blocks("README.md")
    follows_the_cycloid(names["sol"])
    rates = np.linspace(0.5, 2, 1000)
    np.testing.assert_allclose(names["many"]["x"], 5 * np.sin(10 * rates) ** 2 / (2 * rates**2), atol=1e-7)
    energy = 0.125 * names["swing"]["q_dot"] ** 2 - 4.905 * np.cos(names["swing"]["q"])
    np.testing.assert_allclose(energy, -4.905 * np.cos(0.1), rtol=1e-7)


def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model does: the skate in every way, the block on its spring."""
    monkeypatch.chdir(tmp_path)
    names = run_python_blocks("docs/runs.md")
    follows_the_cycloid(names["sol"])
    g = 5.0
    assert set(names["skate"].equations("maggi").invariants) >= {"energy", "p_omega"}
    rates = np.linspace(0.5, 2, 1000)
    np.testing.assert_allclose(names["many"]["x"], g * np.sin(10 * rates) ** 2 / (2 * rates**2), atol=1e-7)
    assert names["run"].t == 0.5 + 0.1
    assert names["run"]["omega"] == 2.0
    assert (tmp_path / "skate_c" / "skate_core.c").is_file()
    by_rate = g * 10 * np.sin(10) * np.cos(10) - g * np.sin(10) ** 2
    for found in (names["gradient"], {n: names["varied"].sensitivity["x", n][-1] for n in ("g", "omega")}):
        np.testing.assert_allclose([found["g"], found["omega"]], [np.sin(10) ** 2 / 2, by_rate], rtol=1e-8)
    assert names["rest"].stability == "unstable"
    m1, m2, l1, l2, g = (names["arms"].parameters[n] for n in ("m1", "m2", "l1", "l2", "g"))
    by_hand = [
        (m1 + m2) * l1**2 + (m1 + m2) * g * l1 * np.sin(0.1),
        m2 * l1 * l2 * np.cos(0.1) + m2 * g * l2 * np.sin(0.2),
    ]
    np.testing.assert_allclose(names["couples"], by_hand, rtol=1e-14)
    given = {
        "initial": {"z": 1, "z_dot": 0},
        "parameters": {"mass": 1, "spring": 20, "load": 9.81, "mu": 0.3},
    }
    half = np.pi / np.sqrt(20)
    for tolerance in (1e-6, 1e-9, 1e-11):  # the sequence of modes does not depend on it
        ride = names["block"].compile().integrate((0, 10), **given, rtol=tolerance, atol=tolerance)
        assert [m.contacts["sole"] for m in ride.modes] == ["slip-", "slip+", "slip-", "stick"]
        ends = [m.t_end for m in ride.modes]
        np.testing.assert_allclose(ends, [half, 2 * half, 3 * half, 10], atol=10 * tolerance)
        assert len(ride.t_events[0]) == 1
    assert [m.contacts for m in names["ride"].modes] == [m.contacts for m in ride.modes]


def test_declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From zero: the ball bounces when it should, the belt carries the block, and the ball in the air turns."""
    monkeypatch.chdir(tmp_path)
    names = run_python_blocks("docs/declare.md")
    stick = names["ride"].modes[1]
    rate, furthest = (
        np.sqrt(20),
        0.3 * 9.81 / 20,
    )  # z = furthest (1 - cos rate t) until it is as fast as the belt
    caught = np.arcsin(0.5 / (furthest * rate)) / rate
    torn = (
        caught + np.cos(rate * caught) * furthest / 0.5
    )  # carried on at 0.5 to where the spring pulls with mu m g
    assert stick.contacts["sole"] == "stick"
    np.testing.assert_allclose([stick.t_start, stick.t_end], [caught, torn], atol=1e-8)


def test_urdf_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The jaws of the gripper move as one; a mimic joint leaves the recursion out."""
    monkeypatch.chdir(tmp_path)
    names = run_python_blocks("docs/urdf.md")
    assert names["gripper"].equations().form == "lagrange"
    with pytest.raises(cg.FormError, match="every velocity moves one body"):
        names["gripper"].equations("recursive")


def test_readme_shows_a_system_in_a_dozen_lines() -> None:
    """From the first symbol to the end of the declaration."""
    text = next(block.text for block in blocks("README.md") if "phi, x, y =" in block.text)
    declaration = text[text.index("phi, x, y =") : text.index("model = ")]
    assert len(declaration.strip().splitlines()) <= 12


def test_readme_is_short_and_its_table_of_pages_complete() -> None:
    """At most 700 words; the pages' own list names each of them."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700
    listed = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages == set(re.findall(r"\]\((\w+\.md)\)", listed))


def test_fmus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page on FMUs writes them with Python and with the command line, and simulates one."""
    monkeypatch.chdir(tmp_path)
    run_python_blocks("docs/fmu.md")
    (command,) = (block.text for block in blocks("docs/fmu.md") if block.language == "sh")
    assert main(shlex.split(command)[1:]) == 0
    assert {path.name for path in tmp_path.glob("*.fmu")} == {"ball.fmu", "ball2.fmu"}


@pytest.mark.skipif(not shutil.which("cc") or not shutil.which("cmake"), reason="no cc, or no CMake")
def test_c_bundles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page on C bundles from top to bottom. Its host ends where `integrate` does."""
    monkeypatch.chdir(tmp_path)
    model = run_python_blocks("docs/c_bundle.md")["model"]
    export, build = (block.text for block in blocks("docs/c_bundle.md") if block.language == "sh")
    assert main(shlex.split(export)[1:]) == 0
    (host,) = (block for block in blocks("docs/c_bundle.md") if block.language == "c")
    (tmp_path / host.argument).write_text(host.text, encoding="utf-8")
    build = build.replace("-O3", "-O0").replace("-B build", "-B build -DCMAKE_BUILD_TYPE=Debug")  # sooner
    subprocess.run(["sh", "-ec", build], check=True, stdout=subprocess.DEVNULL)
    initial = dict(zip(model.states, (1, 0, 0, 0, 0.3, -0.2, 4)))
    parameters = {**{name: model.example[name] for name in model.parameters}, "m": 2.5}
    sol = model.integrate((0, 2), initial, parameters, rtol=1e-12, atol=1e-12)
    expected = f"success: w3 = {sol['w3'][-1]:.6f}, energy = {sol.evaluate('energy')[-1]:.6f}\n"
    assert (tmp_path / "host.txt").read_text() == expected


@pytest.mark.skipif(find_spec("gymnasium") is None, reason="needs gymnasium")
def test_environments() -> None:
    """The cart-poles swing up, and a policy learns to steer the sleigh."""
    assert run_python_blocks("docs/gym.md")


def test_models_of_sympy(capsys: pytest.CaptureFixture[str]) -> None:
    """A pendulum of SymPy's runs, with its energy kept, and comes back."""
    names = run_python_blocks("docs/from_sympy.md")
    sol = names["sol"]  # m = 1, r = 0.5, g = 9.81
    energy = 0.125 * sol["w"] ** 2 - 4.905 * np.cos(sol["a"])
    np.testing.assert_allclose(energy, -4.905 * np.cos(0.3), rtol=1e-7)
    assert "Matrix([[m*r**2]])" in capsys.readouterr().out


def test_linearization() -> None:
    """The page on equilibria and linear equations: its closed forms hold."""
    assert run_python_blocks("docs/linearization.md")


def test_conventions() -> None:
    """Every sign on the page of conventions is right."""
    assert run_python_blocks("docs/conventions.md")


def test_conventions_name_every_form() -> None:
    text = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
    for form in forms():
        assert f"| `{form}` |" in text, form


PROGRAMS = {"c++": lambda: compiles_cpp("c++"), "sundials": compilers_with_sundials}
"""What blocks need besides modules, and whether it is there."""


def is_there(optional: str) -> bool:
    return bool(PROGRAMS[optional]()) if optional in PROGRAMS else find_spec(optional) is not None


def run_in_folder(page: str, folder: Path) -> dict[str, Any]:
    """The blocks of a page from top to bottom in an empty folder: files, shell commands, Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        if block.language in ("c", "cpp", "cython", "setup"):
            (folder / block.argument).write_text(block.text, encoding="utf-8")
        elif block.argument and not is_there(block.argument):
            continue
        elif block.language == "sh":
            # Not the console script, which may belong to another checkout or be missing.
            python = shlex.quote(sys.executable)
            command = re.sub(r"(^|\$\()python ", rf"\1{python} ", block.text, flags=re.M)
            command = command.replace("chaplygin emit", f"{python} -m chaplygin emit")
            command = command.replace("-O2", "-O0")  # in a third of the time
            environment = {**os.environ, "PATH": path, "CFLAGS": "-O0 -g0"}  # the latter for setup.py
            subprocess.run(["sh", "-ec", command], check=True, env=environment)
        else:
            run_python(page, block, namespace)
    return namespace


def sleigh_of(file: Path) -> dict[str, float]:
    """The states of the sleigh that a program of a page printed, in the order of its model."""
    lines = [line.split() for line in file.read_text().splitlines()]
    assert [line[0] for line in lines] == ["phi", "x", "y", "omega", "v"]
    return {name: float(value) for name, value, *_ in lines}


@needs_cc
@pytest.mark.integration
def test_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page on models in other programs, except what needs a tool that is missing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    run_in_folder("docs/embedding.md", tmp_path)
    exact = cg.example("chaplygin_sleigh").closed_form(10.0)
    printed = {"steps_cpp.txt": "c++", "cvode.txt": "sundials"}
    for file in ("steps.txt", "sleigh.txt", *(file for file, tool in printed.items() if is_there(tool))):
        for name, value in sleigh_of(tmp_path / file).items():
            assert abs(value - exact[name]) < (1e-9 if file == "sleigh.txt" else 1e-7), file


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist(page: str) -> None:
    """Each `chaplygin ...` parses; each `make ...` is a target."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for block in blocks(page):
        if block.language != "sh":
            continue
        for line in block.text.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["chaplygin"]:
                assert parser().parse_args(words[1:]).command
            elif words[:1] == ["make"]:
                assert re.search(rf"^{re.escape(words[1])}:", makefile, re.M), line


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), target
    for name in re.findall(r"`((?:codegen|runtime|systems|docs|bench|generated)/[\w./]*)`", text):
        assert (ROOT / name).exists(), name


SCRIPTS = sorted(set((ROOT / "docs").glob("*.py")) - {ROOT / "docs" / "conf.py"})  # test_site.py


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_of_the_docs_find_what_they_import(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make run` is one of them; each runs only as the main program."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(script.parent)
    runpy.run_path(str(script), run_name="imported")


def test_the_installation_of_the_readme_has_what_its_next_command_needs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    extras, after = re.search(r'`pip install "?\.(?:\[(.*?)\])?"?`(.*?)```\n\n', text, re.DOTALL).groups()
    assert "--plot" in after
    assert extras == "plot"


def test_tables_page() -> None:
    """The apogee of RocketPy, whose figures bench/bench_rocket.py has written."""
    names = run_python_blocks("docs/tables.md")
    flown = json.loads((ROOT / "tests" / "data" / "rocketpy.json").read_text())
    sol = names["sol"]
    assert names["apogee"] == pytest.approx(flown["t"], rel=1e-6)
    assert sol.y_events[1][0][sol.model.states.index("z")] == pytest.approx(flown["z"], rel=1e-6)
    assert 202 < names["ground"] < 204
    assert np.sort(names["half_axes"]) == pytest.approx([240, 990], abs=60)


PACKAGES = ("chaplygin.api", "chaplygin.cli", "chaplygin.codegen", "chaplygin.runtime", "chaplygin.systems")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules() -> Iterator[str]:
    """Every Python module; src/chaplygin is listed by file, because other folders are mapped into the package."""
    yield from ("chaplygin", "chaplygin.generated")
    for file in sorted(Path(str(chaplygin.__file__)).parent.glob("*.py")):
        if not file.stem.startswith("__"):
            yield f"chaplygin.{file.stem}"
    for package in PACKAGES:
        yield package
        path = import_module(package).__path__
        yield from (
            found.name
            for found in pkgutil.walk_packages(path, package + ".")
            if not found.name.endswith("._core")
        )


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples may write files
    failed, _ = doctest.testmod(import_module(name), optionflags=FLAGS, extraglobs={"cg": chaplygin})
    assert failed == 0


def test_the_architecture_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The six calls on one small system print what docs/architecture.md says."""
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parent.parent / "docs" / "architecture.md"
    text, _, _ = page.read_text(encoding="utf-8").partition("## Recipes")  # see test_recipes.py
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    failed, tried = doctest.DocTestRunner(optionflags=FLAGS).run(examples)
    assert failed == 0
    assert tried > 12


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("fitting.md", 20),
        ("ensembles.md", 20),
        ("studies.md", 20),
        ("study_folders.md", 10),
        ("taylor.md", 8),
        ("sensitivities.md", 15),
        ("orbits.md", 9),
    ],
)
def test_pages_on_one_subject(name: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of the page gives the stated figures."""
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parent.parent / "docs" / name
    examples = doctest.DocTestParser().get_doctest(
        page.read_text(encoding="utf-8"), {}, page.name, str(page), 0
    )
    failed, tried = doctest.DocTestRunner(optionflags=FLAGS).run(examples)
    assert failed == 0
    assert tried > least


def test_the_public_face_has_examples() -> None:
    """The main public names have at least one example each, so that the tests above have something to run."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("System", "Equations", "example", "coordinates", "Model", "ensemble", "study", "load_model"):
        public = getattr(chaplygin, name)
        examples = [example for test in finder.find(public, name) for example in test.examples]
        assert examples, name

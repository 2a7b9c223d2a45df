"""Every docstring example runs and gives the stated result."""

from __future__ import annotations

import doctest
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import chaplygin

PACKAGES = ("chaplygin.api", "chaplygin.cli", "chaplygin.codegen", "chaplygin.runtime", "chaplygin.systems")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules() -> Iterator[str]:
    """Every Python module; src/chaplygin is listed by file, because other folders are mapped into the package."""
    yield "chaplygin"
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

"""The public interface: errors, default forms, pickles and copies, notebook displays, and what type checkers say."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
from body_chains import body_chain
from typed_script import WRONG, reported

import chaplygin as cg
from chaplygin.codegen.emit.targets import emit
from chaplygin.errors import ArgumentError, ChaplyginError


def test_every_error_can_be_imported_from_the_package() -> None:
    found = {n for n in dir(cg.errors) if isinstance(getattr(cg.errors, n), type)}
    named = {n for n in found if issubclass(getattr(cg.errors, n), (ChaplyginError, Warning))}
    assert {"DeclarationError", "FormError", "CacheError", "BuildError", "ArgumentError"} <= named
    for name in named:
        assert getattr(cg, name) is getattr(cg.errors, name)
        assert name in cg.__all__


@pytest.mark.parametrize(
    ("name", "form"),
    [("harmonic_oscillator", "lagrange"), ("heavy_top", "poincare"), ("chaplygin_sleigh", "maggi")],
)
def test_the_default_form(name: str, form: str, tmp_path: Path) -> None:
    system = cg.example(name).system
    assert system.equations().form == form
    written = system.emit(tmp_path / "alone")
    named = system.emit(form, tmp_path / "named")
    assert [p.read_bytes() for p in written] == [p.read_bytes() for p in named]
    assert [p.read_bytes() for p in system.equations().emit(tmp_path / "eqs")] == [
        p.read_bytes() for p in named
    ]


def test_emit_needs_a_folder() -> None:
    system = cg.example("harmonic_oscillator").system
    for arguments in ((), ("lagrange",)):
        with pytest.raises(ArgumentError, match="folder is missing"):
            system.emit(*arguments)


def test_equations_compile() -> None:
    entry = cg.example("harmonic_oscillator")
    model = entry.system.equations("lagrange").compile()
    assert model.rhs(0, {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}).tolist() == [0, -4]


@pytest.mark.parametrize("name", ["heavy_top", "bouncing_ball", "block_on_belt", "fluid_cavity", "suslov"])
@pytest.mark.sample(1)
def test_pickles_and_copies(name: str) -> None:
    entry = cg.example(name)
    system = pickle.loads(pickle.dumps(entry)).system
    assert system.digest == entry.system.digest
    form = entry.forms[0]
    eqs = system.equations(form, **entry.options.get(form, {}))
    expected = emit(eqs.program).files
    for other in (pickle.loads(pickle.dumps(eqs)), copy.copy(eqs), copy.deepcopy(eqs)):
        assert emit(other.program).files == expected
    assert copy.copy(system).digest == copy.deepcopy(system).digest == system.digest


def test_an_example_keeps_its_options_and_changes() -> None:
    entry = cg.example("n_link_pendulum", n=3)
    entry.parameters["g"] = 1.5  # type: ignore[index]
    other = pickle.loads(pickle.dumps(entry))
    assert other.parameters == entry.parameters
    assert len(other.system.coordinates) == 3


def test_a_system_of_bodies_is_declared_again_in_another_process() -> None:
    system, _, _ = body_chain(2, "ball")
    with_more = system.with_events([cg.Event(system.coordinates[0] - 2, name="far")])
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).digest)"
    for given in (system, with_more):
        saved = pickle.dumps(given)
        done = subprocess.run([sys.executable, "-c", code], input=saved, capture_output=True, check=True)
        assert done.stdout.decode().strip() == given.digest


def test_notebooks_show_systems_and_equations() -> None:
    system = cg.example("chaplygin_sleigh").system
    shown = system._repr_html_()
    assert all(f"<td>{s.name}</td>" in shown for s in (*system.coordinates, *system.parameters))
    eqs = system.equations()
    assert "$$" in eqs._repr_html_()
    assert "energy" in eqs._repr_html_()
    chain = cg.example("n_link_pendulum", n=30).system
    assert len(chain._repr_html_()) < 20_000
    assert len(chain.equations()._repr_html_()) < 20_000


def test_texts_of_users_are_escaped() -> None:
    x = cg.coordinates("x")
    system = cg.System(
        "s", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, units={x: "<b>m</b>"}, descriptions={x: "<script>"}
    )
    assert "<script>" not in system._repr_html_()
    assert "<b>" not in system._repr_html_()


def test_examples_in_help_import_from_the_package_alone() -> None:
    """What a user reads in `help()` can be typed as it is: no example imports from an inner module."""
    seen, found = set(), []
    for name in cg.__all__ if hasattr(cg, "__all__") else dir(cg):
        value = getattr(cg, name)
        members = [value, *vars(value).values()] if isinstance(value, type | types.ModuleType) else [value]
        for member in members:
            text = getattr(member, "__doc__", None) or ""
            if id(member) not in seen and re.search(
                r"^\s*>>> (?:from|import) chaplygin\.(?:codegen|runtime)", text, re.M
            ):
                found.append(f"{name}: {getattr(member, '__name__', '')}")
            seen.add(id(member))
    assert len(seen) > 100
    assert not found


@pytest.mark.parametrize(
    "checker", ["mypy", pytest.param("pyright", marks=pytest.mark.integration("pyright"))]
)
def test_the_mistakes_of_a_script_are_reported_and_nothing_else(checker: str, tmp_path: Path) -> None:
    assert len(WRONG) == 5
    assert reported(checker, sys.executable, tmp_path) == WRONG

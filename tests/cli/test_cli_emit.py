"""The commands that show what is derived and emitted: list, show, forms, emit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commands import Captured, figures, output, refusal

import chaplygin as cg


def test_list_names_every_system(capsys: Captured) -> None:
    text = output(capsys, "list")
    for name in cg.examples():
        assert re.search(rf"^{name} ", text, re.M)


def test_show(capsys: Captured) -> None:
    text = output(capsys, "show", "chaplygin_sleigh")
    assert "[X_omega, X_v] = X_w" in text
    assert "[X_omega, X_w] = -X_v" in text
    assert "-b*omega' + v' = a*omega**2" in text
    assert re.search(r"energy +\(proved\)", text)
    assert re.search(r"constraint_1 +\(residual\)", text)
    assert "in the emitted right-hand side 12 in each call" in text


def test_show_follows_the_form_and_its_options(capsys: Captured) -> None:
    text = output(capsys, "show", "chaplygin_sleigh", "--form", "maggi", "--option", "independent=v,omega")
    assert text.index("v' ") < text.index("= -a*omega*v")
    assert "Poincaré" in output(capsys, "show", "double_pendulum", "--form", "poincare")


def test_show_latex(capsys: Captured) -> None:
    text = output(capsys, "show", "harmonic_oscillator", "--latex")
    assert text.startswith("\\begin{aligned}")
    assert r"\ddot{x}" in text or r"\dot{\dot{x}}" in text


def test_show_of_a_large_system_is_short(capsys: Captured) -> None:
    text = output(capsys, "show", "n_link_pendulum:12")
    assert "12 equations M theta' = f" in text
    assert max(map(len, text.splitlines())) < 400


def test_show_passes(capsys: Captured) -> None:
    """The heavy top's right-hand side takes 54 operations (see test_arrange.py) before products and sums are fused."""
    title, head, *rows, seconds = output(capsys, "show", "heavy_top", "--passes").splitlines()
    assert title == "heavy_top, poincare: the operations of one call after each pass, and what it took"
    assert head.split() == ["kernel", "lowered", "arrange", "hoist", "fuse"]
    counts = {row.split()[0]: [int(n) for n in row.split()[1:]] for row in rows}
    assert counts["rhs"][2] == 54
    word, *took = seconds.split()
    assert word == "seconds"
    assert all(re.fullmatch(r"\d+\.\d\d", t) for t in took)
    assert len(took) == 4
    assert float(took[1]) > 0  # many choices are tried
    assert all(row == sorted(row, reverse=True) for row in counts.values())
    found = json.loads(output(capsys, "show", "heavy_top", "--passes", "--json"))
    assert [n for _, n in found["rhs"]] == counts["rhs"]
    lowered = cg.example("heavy_top").system.equations().program
    assert {name: row[2] for name, row in counts.items()} == {
        k: lowered.operations(k) for k in lowered.kernels
    }


@pytest.mark.slow
def test_forms(capsys: Captured) -> None:
    rows = [line.split() for line in output(capsys, "forms").splitlines() if line]
    maggi, lagrange = rows[0].index("maggi"), rows[0].index("lagrange")
    marks = {row[0]: row for row in rows[1:]}
    assert marks["chaplygin_sleigh"][maggi] == "*"
    assert marks["chaplygin_sleigh"][lagrange] == "-"
    assert marks["double_pendulum"][lagrange] == "*"
    assert "hypothesis" in output(capsys, "forms", "-v")
    page = (Path(__file__).parents[2] / "docs" / "forms.md").read_text(encoding="utf-8")
    assert output(capsys, "forms").split("\n\n")[0] in page  # the matrix in the docs is up to date


def test_forms_of_one_system(capsys: Captured) -> None:
    heading, row = output(capsys, "forms", "chaplygin_sleigh").splitlines()[:2]
    marks = dict(zip(heading.split(), row.split(), strict=True))
    assert marks["system"] == "chaplygin_sleigh"
    assert (marks["maggi"], marks["multipliers"], marks["lagrange"]) == ("*", "+", "-")
    assert "from_urdf('arm.urdf') into a file" in refusal(capsys, "show", "arm.urdf")


def test_emit(capsys: Captured, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    text = output(capsys, "emit", "n_link_pendulum:2", "-o", str(folder))
    ends = ("_core.c", "_core.h", "_graph.txt", "_lanes.c", ".pyx", ".pxd", ".pyi")
    expected = {f"n_link_pendulum_2{end}" for end in ends}
    written = {file.name for file in folder.iterdir()}
    included = {
        name
        for file in folder.iterdir()
        for name in re.findall(r'^#?include "([^"]+)"', file.read_text("utf-8"), re.M)
    }
    assert written == expected | included
    assert {"chaplygin.h", "cg_math.h"} <= included
    assert text.count(" bytes)") == len(written)


def test_the_command_inside_emitted_files_makes_them_again(capsys: Captured, tmp_path: Path) -> None:
    output(capsys, "emit", "n_link_pendulum", "--n", "2", "-o", str(tmp_path / "a"))
    core = (tmp_path / "a" / "n_link_pendulum_2_core.c").read_bytes()
    command = re.search(rb"chaplygin (emit [^\n]*) -o DIR", core)
    assert command
    output(capsys, *command[1].decode().split(), "-o", str(tmp_path / "b"))
    assert (tmp_path / "b" / "n_link_pendulum_2_core.c").read_bytes() == core


def test_show_and_bench_as_json(capsys: Captured) -> None:
    found = figures(capsys, "show", "chaplygin_sleigh")
    assert found["states"] == ["phi", "x", "y", "omega", "v"]
    assert found["brackets"] == ["[X_omega, X_v] = X_w", "[X_omega, X_w] = -X_v"]
    assert {i["name"] for i in found["invariants"]} == {"energy", "constraint_1"}
    (row,) = figures(capsys, "bench", "harmonic_oscillator")["systems"]
    assert row["compiled_error"] < 1e-6

"""LaTeX of every form of every small catalogue system: well-formed, and accepted by LaTeX where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from agreement import applicable, system_of

import chaplygin as cg

SMALL = [name for name in cg.examples() if len(system_of(name).velocities) <= 4]
QUICK = ("chaplygin_sleigh", "double_pendulum", "heavy_top", "painleve_klein")


def texts(name: str) -> dict[str, str]:
    return {form: eqs.latex() for form, eqs in applicable(name).items()}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SMALL]
)
def test_latex_is_well_formed(name: str) -> None:
    for form, text in texts(name).items():
        depth = 0
        for char in re.sub(r"\\[{}]", "", text):
            depth += {"{": 1, "}": -1}.get(char, 0)
            assert depth >= 0, form
        assert depth == 0, form
        assert text.count(r"\left") == text.count(r"\right"), form
        for line in text.split(r"\\")[:-1]:
            assert line.count("&") == 1, (form, line)
        # Every state appears on the left of one equation, unless its rate is a velocity itself.
        assert text.count("&=") >= len(applicable(name)[form].velocities), form
        assert "_dot" not in text
        assert "_prime" not in text


@pytest.mark.slow
def test_latex_compiles(tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not installed")
    body = []
    for name in SMALL:
        for form, text in texts(name).items():
            body.append(f"\\section*{{{name.replace('_', ' ')}: {form}}}\n\\[\n{text}\n\\]\n")
    paper = "\\usepackage[paperwidth=60in,paperheight=60in]{geometry}\n"
    source = "\\documentclass{article}\n\\usepackage{amsmath}\n" + paper
    source += "\\begin{document}\n"
    (tmp_path / "all.tex").write_text(source + "\n".join(body) + "\\end{document}\n")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000

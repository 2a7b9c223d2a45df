"""`chaplygin study`: a function of a file, run and reported."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from commands import Captured
from runtime_models import needs_core

from chaplygin.cli import main

STUDY = """
import chaplygin as cg
from chaplygin.generated.harmonic_oscillator import model
from scipy import stats

def swings():
    collect = {"spread": cg.moments("x"), "low": cg.quantiles("x", 0.1), "end": cg.final("x")}
    start = {"x": stats.norm(1, 0.1), "x_dot": 0}
    numbers = {"m": 1, "k": 4}
    return dict(model=model, t_span=(0, 10), n=5000, initial=start, parameters=numbers, seed=1, collect=collect)

def precise_swings():
    return {**swings(), "until": cg.precision("spread", relative=0.01)}

def precise_mean():
    given = swings()
    del given["collect"]
    return {**given, "until": cg.precision(cg.moments("x"), relative=0.01)}

nothing = 3

def broken():
    return 1 / 0
"""


@needs_core
def test_study(capsys: Captured, tmp_path: Path) -> None:
    """x(10) = x0 cos 20, so its mean is cos 20 and its deviation a tenth of that."""
    file = tmp_path / "study.py"
    file.write_text(STUDY)
    assert main(["study", f"{file}:swings", "-o", str(tmp_path / "kept"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["done"] == facts["trajectories"] == 5000
    spread = facts["results"]["spread"]
    assert spread["mean"]["x"] == pytest.approx(math.cos(20), abs=4 * spread["error"]["x"])
    assert spread["std"]["x"] == pytest.approx(0.1 * math.cos(20), rel=0.05)
    assert facts["results"]["end"] == {"x": [5000]}
    assert main(["study", f"{file}:swings", "-o", str(tmp_path / "kept")]) == 0
    assert "5000 trajectories of harmonic_oscillator: 5000 ok" in capsys.readouterr().out
    assert main(["study", f"{file}:precise_swings", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["done"], facts["precise"]) == (4096, True)  # after which the error is 0.1 * 1.96 / 64
    assert main(["study", f"{file}:precise_mean", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"].keys() == {"until"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "give path/to/file.py:name"),
        (":nobody", "has no 'nobody'"),
        (":nothing", "must be a dict of the arguments of cg.study"),
        (":broken", f"line {STUDY.count(chr(10))}: ZeroDivisionError"),
    ],
)
def test_wrong_studies(name: str, text: str, capsys: Captured, tmp_path: Path) -> None:
    file = tmp_path / "study.py"
    file.write_text(STUDY)
    assert main(["study", f"{file}{name}"]) == 2
    assert text in capsys.readouterr().err

"""`chaplygin study`: a function of a file, run and reported. Ctrl-C is said once, with what to do about it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from cluster_models import study
from commands import Captured
from runtime_models import ctrl_c_heard, needs_core

import chaplygin as cg
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


N = 400
FILE = f"""
import os, signal, time
import numpy as np
import chaplygin as cg
from cluster_models import driven

def push(at):
    def f(t, y):
        if t == 0 and y[0] == at and not os.path.exists("pressed"):
            open("pressed", "w").close()
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)  # until the other thread has heard it
        return 1.0
    return f

def runs(at):
    start = {{"q": np.arange({N}.0), "q_dot": 0.0}}
    collect = {{"m": cg.moments("q")}}
    return dict(model=driven(), t_span=(0, 0.1), n={N}, initial=start, inputs={{"f": push(at)}}, collect=collect)

def half():
    return runs(150)

def none():
    return runs(0)
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("study.py").write_text(FILE)
    return "study.py"


def interrupted(*arguments: str) -> None:
    Path("pressed").unlink(missing_ok=True)
    with ctrl_c_heard():
        assert main(["study", *arguments, "--threads", "1"]) == 1


@needs_core
@pytest.mark.filterwarnings("error")
def test_it_is_said_once_and_how_to_go_on(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    interrupted(f"{file}:half", "-o", "kept")
    out, err = capsys.readouterr()
    assert out.count("interrupted") == 1
    assert f"interrupted: 150 of {N} trajectories are finished" in out
    assert err == "chaplygin: the same command runs the rest\n"
    assert main(["study", f"{file}:half", "-o", "kept", "--json"]) == 0
    out, err = capsys.readouterr()
    facts = json.loads(out)
    assert (facts["done"], facts["interrupted"], err) == (N, False, "")
    end = 1 + (np.arange(N) - 1) * np.cos(0.1)
    assert facts["results"]["m"]["mean"]["q"] == pytest.approx(end.mean(), rel=1e-9)


@needs_core
@pytest.mark.filterwarnings("error")
def test_json_and_a_study_that_is_not_kept(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    interrupted(f"{file}:none", "--json")
    out, err = capsys.readouterr()
    facts = json.loads(out)
    assert (facts["done"], facts["interrupted"], facts["results"]) == (0, True, {})
    assert err == "chaplygin: without -o FOLDER nothing is kept; with it, the same command runs the rest\n"


@needs_core
def test_results_of_a_study_in_which_nothing_has_ended(file: str, tmp_path: Path) -> None:
    given: dict[str, object] = {}
    exec(Path(file).read_text(), given)
    options = given["none"]()  # type: ignore[operator]
    said = f"0 of {N} trajectories are finished; the same call with out='.*kept' runs the rest"
    with ctrl_c_heard(), pytest.warns(RuntimeWarning, match=said):
        found = cg.study(**options, out=tmp_path / "kept", threads=1)
    assert dict(found.results) == {}
    for each in (found, cg.open_study(tmp_path / "kept")):
        with pytest.raises(KeyError, match="'m' has no result: no trajectory of the study has ended"):
            each.results["m"]
        for draw in (each.plot, each.plot.fan, each.plot.scatter):
            with pytest.raises(cg.ArgumentError, match="nothing to draw, since no trajectory has ended"):
                draw()


@needs_core
def test_a_name_that_is_not_collected() -> None:
    found = study(n=4)
    with pytest.raises(KeyError, match=r"'ends' is not in collect; did you mean end\?"):
        found.results["ends"]
    with pytest.raises(KeyError, match="'speed' is not in collect; its entries are end, m, median"):
        found.results["speed"]

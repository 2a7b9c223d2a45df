"""The stages of making a model tell `logging.getLogger("chaplygin")` what took how long, and print nothing."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chaplygin as cg

CODE = """
import logging, sys
import chaplygin as cg
if sys.argv[1:]:
    logging.basicConfig(level=sys.argv[1], format="%(name)s %(levelname)s %(message)s")
q = cg.coordinates("q")
cg.System("fresh", coordinates=[q], kinetic=cg.rate(q) ** 2 / 2, potential=q**4 / 7).compile()
"""


def test_each_stage_is_told_with_its_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "chaplygin")
    assert cg.example("harmonic_oscillator").system.equations("lagrange").program.kernels
    told = [(r.levelname, re.sub(r"\d+\.\d{3} s$", "... s", r.getMessage())) for r in caplog.records]
    assert [text for level, text in told if level == "INFO"] == [
        f"{stage} harmonic_oscillator, lagrange: ... s" for stage in ("derive", "lower", "plan")
    ]
    for part in (
        "lower harmonic_oscillator, lagrange: rhs",
        "plan harmonic_oscillator, lagrange: rhs",
        "arrange rhs",
    ):
        assert ("DEBUG", f"{part}: ... s") in told


def test_nothing_is_printed_unless_it_is_asked_for(tmp_path: Path) -> None:
    def printed(*arguments: str) -> str:
        command = [sys.executable, "-c", CODE, *arguments]
        env = {**os.environ, "CHAPLYGIN_CACHE": str(tmp_path / str(len(arguments)))}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
        return done.stdout + done.stderr

    assert printed() == ""
    lines = printed("INFO").splitlines()
    stages = [line.split()[2] for line in lines if line.startswith("chaplygin INFO ")]
    assert list(dict.fromkeys(stages)) == ["derive", "lower", "plan", "emit", "compile"]

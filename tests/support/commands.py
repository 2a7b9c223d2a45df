"""Calls of the command line by its function: what it prints, what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chaplygin.cli import main

MODEL = """
import sympy as sp
import chaplygin as cg

phi, x, y = cg.coordinates("phi x y")
omega, v, w = cg.velocities("omega v w")
m, J, g = cg.parameters("m J g", positive=True)
tau = cg.inputs("tau")

def skate():
    return cg.System(
        "skate",
        kinematics={phi: omega, x: v*sp.cos(phi) - w*sp.sin(phi), y: v*sp.sin(phi) + w*sp.cos(phi)},
        kinetic=m*(v**2 + w**2)/2 + J*omega**2/2, potential=-m*g*x, constraints=[w], forces={omega: tau},
        example={m: 70, J: 1.2, g: 5, phi: 0, x: 0, y: 0, omega: 1, v: 0, w: 0, tau: 0},
    )

spring = cg.example("harmonic_oscillator")
number = 3

def broken():
    return 1 / 0
"""

Captured = pytest.CaptureFixture[str]


def output(capsys: Captured, *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.out


def refusal(capsys: Captured, *arguments: str) -> str:
    """The error on stderr: one line, after the message about compilation time."""
    assert main(arguments) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("compiling ")]
    assert lines[0].startswith("chaplygin: error: ")
    assert len(lines) == 1
    return lines[0] + "\n"


def number_after(text: str, name: str, column: int) -> float:
    """A number in the table row that begins with `name`."""
    row = next(line.split() for line in text.splitlines() if line.split()[:1] == [name])
    return float(row[column])


def figures(capsys: Captured, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(capsys, *arguments, "--json"))
    return found

"""Warnings point at the line that called the package, however deep they arise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from runtime_models import needs_core

import chaplygin as cg
from chaplygin.generated.harmonic_oscillator import model

URDF = """<robot name="odd"><link name="base"/>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="1 2 3"/></joint>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""


def _body(tmp_path: Path) -> None:
    a, b = cg.coordinates("a b")
    body = cg.Body("odd", mass=1, inertia=(1, 1, 3), rotation=cg.turn(1, a) * cg.turn(2, b))
    cg.System("odd", coordinates=[a, b], bodies=[body])


def _urdf(tmp_path: Path) -> None:
    (tmp_path / "odd.urdf").write_text(URDF)
    cg.from_urdf(tmp_path / "odd.urdf")


def _branch(tmp_path: Path) -> None:
    x, y = cg.coordinates("x y")
    never = sp.Piecewise((x, sp.sin(x) > 2), (1, True))
    kinetic = (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2
    system = cg.System("never", coordinates=[x, y], kinetic=kinetic, potential=never)
    assert system.equations("lagrange").invariants


def _tolerance(tmp_path: Path) -> None:
    model.integrate((0, 1), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, rtol=1e-20, atol=1e-12)


def _ensemble(tmp_path: Path) -> None:
    cg.ensemble(model, (0, 1), {"x": np.ones(8), "x_dot": 0}, {"m": 1, "k": 4}, rtol=1e-20, atol=1e-12)


def _fit(tmp_path: Path) -> None:
    """SciPy calls the residuals."""
    data = {"x": (np.arange(9), np.cos(2 * np.arange(9)))}
    given = {"initial": {"x": 1, "x_dot": 0}, "parameters": {"m": 1, "k": 3.9}}
    cg.fit(model, data, free=["k"], **given, rtol=1e-20, atol=1e-12)


@needs_core
@pytest.mark.parametrize("call", [_body, _urdf, _branch, _tolerance, _ensemble, _fit])
@pytest.mark.sample(1)
def test_the_line_of_the_caller(call: Callable[[Path], None], tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(tmp_path)
    assert [each.filename for each in caught] == [__file__] * len(caught)
    assert caught

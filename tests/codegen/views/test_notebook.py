"""Notebook displays: tables of models and solutions, a picture of bounded size, completion of keys."""

from __future__ import annotations

import base64
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from runtime_models import BLOCK, hybrid, model, needs_core
from test_runtime_python import kernels

from chaplygin.runtime import PythonModel, Variable
from chaplygin.runtime.interface.tables import SHOWN

pytestmark = needs_core

GIVEN: Any = ([1.0, 0.0], [1.0, 4.0], [0.0])


def cells(html: str) -> list[list[str]]:
    """The rows of the table, which must be well-formed."""
    table = ET.fromstring(f"<div>{html}</div>").find("table")
    assert table is not None
    return [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]


def picture(html: str) -> bytes | None:
    image = ET.fromstring(f"<div>{html}</div>").find("img")
    if image is None:
        return None
    head, data = image.attrib["src"].split(",", 1)
    assert head == "data:image/png;base64"
    return base64.b64decode(data, validate=True)


def test_a_model_is_a_table_of_its_names() -> None:
    rows = cells(model("oscillator")._repr_html_())
    assert ["states", "q", "m", "position"] in rows
    assert ["", "k", "N/m", "stiffness"] in rows
    assert [row[0] for row in rows if row[0]] == ["states", "parameters", "inputs", "outputs", "invariants"]
    assert cells(PythonModel(kernels(), quiet=True)._repr_html_()) == rows
    assert ["contacts", "belt", "", ""] in cells(hybrid("block")._repr_html_())


def test_texts_are_escaped_and_tables_bounded() -> None:
    other = vars(kernels()) | {
        "name": "<script>",
        "states": [Variable(f"q{i}", "coordinate", "m & s", '<b title="x">') for i in range(500)],
    }
    pure = PythonModel(SimpleNamespace(**other), quiet=True)
    html = pure._repr_html_()
    assert "<script>" not in html
    rows = cells(html)
    assert ["states", "q0", "m & s", '<b title="x">'] in rows
    assert ["", f"and {500 - SHOWN} more", "", ""] in rows
    assert len(html) < 4000


def test_a_solution_shows_its_ends_and_a_picture() -> None:
    pytest.importorskip("matplotlib")
    sol = model("oscillator").integrate((0, 10), *GIVEN, method="rk4", step=1e-3)
    html = sol._repr_html_()
    assert cells(html)[1:3] == [["t", "0", "10"], ["q [m]", "1", f"{np.cos(20):.6g}"]]
    assert "10001 points, 10000 steps" in html
    image = picture(html)
    assert image is not None
    assert image.startswith(b"\x89PNG")
    assert len(html) < 60_000


@pytest.mark.parametrize("missing", [False, True])
def test_nothing_stops_a_solution_from_being_shown(monkeypatch: pytest.MonkeyPatch, missing: bool) -> None:
    if missing:
        for name in ("matplotlib", "matplotlib.figure"):
            monkeypatch.setitem(sys.modules, name, None)
    for sol in (
        model("oscillator").integrate((0, 1), *GIVEN),
        model("oscillator").integrate((0, 1), *GIVEN, t_eval=[]),
        model("oscillator").integrate((0, 0), *GIVEN),
        model("oscillator").integrate((0, 1), [1.0, 0.0], [0.0, 4.0], [0.0]),  # a singular mass matrix
        model("oscillator").integrate((0, 1), [1e308, -1e308], [1.0, 4.0], [0.0]),
        hybrid("block").integrate((0, 1), [2.0, 0.0], BLOCK, [0.0]),
    ):
        html = sol._repr_html_()
        assert sol.model.name in html
        assert len(cells(html)) >= 3
        assert not (missing and picture(html))


def test_keys_are_completed() -> None:
    sol = model("oscillator").integrate((0, 1), *GIVEN)
    assert sol._ipython_key_completions_() == ["q", "v", "w", "pull", "energy", "F", "t"]
    for name in sol._ipython_key_completions_():
        assert sol[name].shape == sol.t.shape

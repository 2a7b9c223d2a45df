"""Plots of runs: once in a notebook, and with a word on what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from runtime_models import needs_core

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.generated.harmonic_oscillator import model

pytestmark = needs_core
pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    pyplot.close("all")


def swing() -> Any:
    return model.integrate((0, 10), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4})


def test_a_figure_that_a_cell_ends_in_is_not_open_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython asks `_ipython_display_` first; the backend of notebooks then shows what is open in pyplot."""
    figure = swing().plot()
    assert pyplot.fignum_exists(figure.number)
    with pytest.raises(NotImplementedError):  # as it is shown anywhere
        figure._ipython_display_()
    assert pyplot.fignum_exists(figure.number)
    monkeypatch.setattr("chaplygin.runtime.results.figures.get_backend", lambda: "inline")
    with pytest.raises(NotImplementedError):
        figure._ipython_display_()
    assert not pyplot.fignum_exists(figure.number)


def test_cells_of_a_notebook_show_each_figure_once() -> None:
    """As the result, or at the end of the cell."""
    pytest.importorskip("matplotlib_inline")
    shells = pytest.importorskip("IPython.core.interactiveshell")
    hooks = pytest.importorskip("IPython.core.displayhook")
    capture = pytest.importorskip("IPython.utils.capture")
    results: list[bool] = []

    class Hook(hooks.DisplayHook):  # type: ignore[misc, name-defined]
        def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
            results.append("image/png" in format_dict)

    class Shell(shells.InteractiveShell):  # type: ignore[misc, name-defined]
        displayhook_class = Hook

        def enable_gui(self, gui: Any = None) -> None: ...

    before = pyplot.get_backend()
    shell = Shell.instance()
    shell.run_line_magic("matplotlib", "inline")
    shell.user_ns["sol"] = swing()
    try:
        for cell, count in [
            ("sol.plot()", 1),
            ("figure = sol.plot()", 1),
            ("figure", 1),
            ("sol.plot()\nsol.plot('x')", 2),
            ("None", 0),
        ]:
            results.clear()
            with capture.capture_output() as captured:
                shell.run_cell(cell).raise_error()
            assert sum("image/png" in each.data for each in captured.outputs) + sum(results) == count
    finally:
        Shell.clear_instance()
        pyplot.switch_backend(before)


def test_more_states_than_a_figure_has_panels_are_named() -> None:
    q = cg.coordinates(" ".join(f"q{i}" for i in range(13)))
    system = cg.System("many", coordinates=list(q), kinetic=sum(cg.rate(each) ** 2 for each in q))
    sol = python_model(system.equations().program, quiet=True).integrate((0, 1), np.arange(26.0))
    with pytest.warns(
        RuntimeWarning, match=r"first 24 of 26 states .* plot\(\['q11_dot', 'q12_dot'\]\)"
    ) as said:
        figure = sol.plot()
    assert said[0].filename == __file__
    assert len(figure.axes) == 24
    assert len(sol.plot(["q11_dot", "q12_dot"]).axes) == 2
    assert len(sol.plot(q[0]).axes) == 1

"""Plots of runs: once in a notebook, and with a word on what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.generated.harmonic_oscillator import model

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


def test_two_paths_in_one_picture_are_told_apart() -> None:
    """The curves by their names, start and end once; the axes have the names of both."""
    x, y = cg.coordinates("x y")
    outputs = {"above": y + 1, "beside": x + 2}
    free = cg.System("free", coordinates=[x, y], kinetic=cg.rate(x) ** 2 + cg.rate(y) ** 2, outputs=outputs)
    sol = python_model(free.equations().program, quiet=True).integrate((0, 1), [0, 0, 1, 2])
    _, ax = pyplot.subplots()
    for path in (("x", "y"), ("beside", "above"), ("x", "y")):
        sol.plot(path=path, ax=ax)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["x, y", "beside, above", "x, y (2)", "start", "end"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x, beside", "y, above")
    assert ax.get_aspect() == 1


def test_scales_are_equal_where_quantities_are_of_one_kind() -> None:
    """Of x [m] and its rate they are not, unless the caller says so."""
    sol = swing()
    assert sol.plot(path=("x", "x_dot")).axes[0].get_aspect() == "auto"
    assert sol.plot(path=("x", "x_dot"), equal=True).axes[0].get_aspect() == 1
    assert sol.plot(path=("x", "x")).axes[0].get_aspect() == 1
    with pytest.raises(cg.ArgumentError, match="equal is for path="):
        sol.plot("x", equal=True)


@pytest.mark.parametrize(("count", "columns"), [(8, 1), (9, 2), (19, 3)])
def test_many_panels_stand_in_columns(count: int, columns: int) -> None:
    """Read down, and each column has the times below it."""
    q = cg.coordinates(" ".join(f"q{i}" for i in range(10)))
    system = cg.System("several", coordinates=list(q), kinetic=sum(cg.rate(each) ** 2 for each in q))
    sol = python_model(system.equations().program, quiet=True).integrate((0, 1), np.arange(20.0))
    figure = sol.plot(sol.model.states[:count])
    figure.canvas.draw()
    assert len(figure.axes) == count
    left = [round(panel.get_position().x0, 6) for panel in figure.axes]
    assert sorted(left, key=left.index) == left
    assert len(set(left)) == columns
    shown = {round(panel.get_position().x0, 6) for panel in figure.axes if panel.get_xlabel() == "t"}
    assert shown == set(left)
    width, height = figure.get_size_inches()
    assert height < 1.8 * width


def test_legends_stand_beside_the_curves() -> None:
    sol = cg.example("bouncing_ball").system.compile().integrate((0, 1), *_thrown())
    figure = sol.plot()
    assert not any(panel.get_legend() for panel in figure.axes)
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert not any(box.overlaps(panel.get_window_extent()) for panel in figure.axes)


def _thrown() -> Any:
    ball = cg.example("bouncing_ball")
    return ball.initial, ball.parameters

"""Pictures of eigenvalues in the complex plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import Array
from ..results.plotting import finish, new_figure

Complex = NDArray[np.complex128]


def roots(eigenvalues: Complex, title: str, file: Any) -> Any:
    """The figure of `Linearization.plot`."""
    figure = new_figure("Linearization.plot", (5.5, 5.0), file)
    panel = figure.subplots()
    _axes(panel)
    panel.plot(eigenvalues.real, eigenvalues.imag, "x", color="C0")
    return finish(figure, title, file)


def locus(paths: Complex, values: Array, label: str, title: str, file: Any) -> Any:
    """The figure of `Family.plot`: the path of each eigenvalue, a column of `paths`, coloured by what is varied.

    Crosses are at its start.
    """
    figure = new_figure("Family.plot", (6.5, 5.0), file)
    panel = figure.subplots()
    _axes(panel)
    for path in paths.T:
        panel.plot(path.real, path.imag, color="0.8", linewidth=0.8, zorder=1)
        shown = panel.scatter(path.real, path.imag, c=values, s=8, cmap="viridis", zorder=2)
    panel.plot(paths[0].real, paths[0].imag, "x", color="black", zorder=3)
    if paths.shape[1]:
        figure.colorbar(shown, ax=panel, label=label)
    return finish(figure, title, file)


def _axes(panel: Any) -> None:
    panel.axvline(0.0, color="0.5", linewidth=0.8)
    panel.axhline(0.0, color="0.5", linewidth=0.8)
    panel.set_xlabel("Re")
    panel.set_ylabel("Im")
    panel.grid(visible=True, alpha=0.3)

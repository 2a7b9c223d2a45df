"""Figures of pyplot that notebooks show once. It imports Matplotlib; `plotting` imports it where one is made."""

from __future__ import annotations

from matplotlib import figure, get_backend, pyplot

_INLINE = ("inline", "module://matplotlib_inline.backend_inline")
"""What shows every open figure of pyplot at the end of a cell."""


class Figure(figure.Figure):
    """A figure that a cell may end in: shown as its result, it is no longer open at the end of the cell."""

    def _ipython_display_(self) -> None:
        """Close the figure, and leave it to IPython how it is shown."""
        if get_backend() in _INLINE:
            pyplot.close(self)
        raise NotImplementedError

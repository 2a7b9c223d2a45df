"""Small tables of text and HTML, for the display of objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from chaplygin._lazy import later

from .base_model import BaseModel

html = later("html")

SHOWN = 12
"""Most rows of one kind in a table."""


def with_unit(model: BaseModel, name: str) -> str:
    unit = model.units.get(name, "")
    return f"{name} [{unit}]" if unit else name


def aligned(rows: Iterable[Sequence[str]]) -> str:
    """Lines of text in which the cells of each column begin below each other."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip_longest(*cells, fillvalue="")]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def table(caption: str, head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table; all text is escaped."""
    titles = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    lines = []
    for first, *rest in rows:
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in rest)
        lines.append(f"<tr><th>{html.escape(first)}</th>{cells}</tr>")
    return f"<table><caption>{html.escape(caption)}</caption><tr>{titles}</tr>{''.join(lines)}</table>"

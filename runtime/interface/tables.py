"""Small tables of text and HTML, for the display of objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base_model import BaseModel

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
    titles = "".join(f"<th>{escape(text)}</th>" for text in head)
    lines = []
    for first, *rest in rows:
        cells = "".join(f"<td>{escape(text)}</td>" for text in rest)
        lines.append(f"<tr><th>{escape(first)}</th>{cells}</tr>")
    return f"<table><caption>{escape(caption)}</caption><tr>{titles}</tr>{''.join(lines)}</table>"

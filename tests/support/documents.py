"""Code blocks of Markdown files: ```` ```python ````, ```` ```sh ````, and ```` ```c main.c ```` with a file's name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w+)[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the rest of its first line, its text and its line number."""

    language: str
    argument: str
    text: str
    line: int


def blocks(name: str) -> list[Block]:
    """The fenced blocks of a file of the checkout, in order."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [
        Block(found[1], found[2].strip(), found[3], text.count("\n", 0, found.start(3)) + 1)
        for found in _BLOCK.finditer(text)
    ]


def sections(name: str, heading: str) -> dict[str, range]:
    """The line numbers of each `###` section below a `##` heading, by title."""
    text = (ROOT / name).read_text(encoding="utf-8")
    start = text.index(f"{heading}\n") + len(heading)
    end = text.find("\n## ", start)
    marks = [
        m
        for m in re.finditer(r"^### (.*)$", text, re.M)
        if start < m.start() < (len(text) if end < 0 else end)
    ]
    lines = [
        text.count("\n", 0, at) + 1 for at in (*(m.start() for m in marks), len(text) if end < 0 else end)
    ]
    return {mark[1]: range(first, last) for mark, first, last in zip(marks, lines, lines[1:])}

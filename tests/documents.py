"""Code blocks of Markdown files: ```` ```python ````, ```` ```sh ````, and ```` ```c main.c ```` with a file's name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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


def section(name: str, heading: str, level: str) -> dict[str, range]:
    """The line numbers of each subsection of a section, by its title; those before the first one by ""."""
    found: dict[str, range] = {}
    title, first, inside = "", 0, False
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate([*lines, "## end"], 1):
        ended = line.startswith("## ")
        if inside and (ended or line.startswith(f"{level} ")):
            found[title] = range(first, number)
            title, first = line.removeprefix(f"{level} "), number
        if ended:
            inside, title, first = line == heading, "", number
    return found

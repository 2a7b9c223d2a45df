"""What docs/architecture.md says of places is true: each file exists and defines what it is named for."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FACTS = re.findall(r"^\| (.+?) \| `([\w./]+)` \| `(\w+)` \|$", PAGE, re.M)
WALKS = re.findall(r"^(\d+)\. `([\w./]+)`: (.+)$", PAGE, re.M)
DEFINED = (
    r"^[ \t]*(?!return\b)(?:class|def|from .* import .*|(?:[\w*]+ )+)[ \t*]*{0}\b|^{0}\b ?[:=]|^.*\({0}\)\("
)
"""How a definition begins in Python, in a stub's import, or in C, also under the macro that completes a name."""


def test_each_fact_is_defined_in_the_file_that_is_named() -> None:
    assert len(FACTS) == 60
    wrong = [
        (file, name)
        for _, file, name in FACTS
        if not re.search(DEFINED.format(name), (ROOT / file).read_text(encoding="utf-8"), re.M)
    ]
    assert not wrong


def test_the_files_of_the_walks_are_there_and_numbered() -> None:
    starts = [i for i, (number, _, _) in enumerate(WALKS) if number == "1"]
    assert len(starts) == 3
    for first, end in zip(starts, [*starts[1:], len(WALKS)], strict=True):
        assert [int(number) for number, _, _ in WALKS[first:end]] == list(range(1, end - first + 1))
    assert not [file for _, file, _ in WALKS if not (ROOT / file).is_file()]

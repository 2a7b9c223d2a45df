"""docs/crossings.md: the table of how features meet. ``python tests/support/crossings_page.py`` writes it anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from crossings import FEATURES, Met, meet

PAGE = Path(__file__).resolve().parents[2] / "docs" / "crossings.md"
HEAD = """# How features meet

For those who use two features together: what happens then. Each cell is tried by `tests/test_crossings.py`: a system
put together from parts whose motions are known in closed form (a spring, a ball that bounces, a block that slides and
stops, a mass on a circle, a skate, a driven mass) is declared, compiled and run in the way that both features ask for,
and compared with the closed forms.

`+` works, `.` does not come up, since no call takes both, and a number is a refusal: the list below says which call
makes it, before it begins to integrate, and with which message. The diagonal is a feature by itself.

"""


def page(table: Mapping[tuple[str, str], Met]) -> str:
    """The text of the page for a table."""
    names = list(FEATURES)
    refusals = sorted({met[1:] for met in table.values() if met.sign == "-"})
    numbers = {refusal: i for i, refusal in enumerate(refusals, start=1)}
    lines = [
        "| | " + " | ".join(_column(i) for i in range(len(names))) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for i, name in enumerate(names):
        cells = [""] * i + [
            str(numbers[met[1:]]) if (met := table[name, other]).sign == "-" else met.sign
            for other in names[i:]
        ]
        lines.append(f"| {_column(i)} {name} | " + " | ".join(cells) + " |")
    lines += ["", "| | call | message |", "|---|---|---|"]
    lines += [
        f"| {n} | `{call}` | {message.replace('|', chr(92) + '|')} |"
        for (call, message), n in numbers.items()
    ]
    return HEAD + "\n".join(lines) + "\n"


def _column(i: int) -> str:
    """A, B ... Z, a, b ..."""
    return chr(ord("A") + i) if i < 26 else chr(ord("a") + i - 26)


def read(text: str) -> dict[tuple[str, str], Met]:
    """The table of a page."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| ")]
    refusals = {
        row[0].strip(): Met("-", row[1].strip().strip("`"), row[2].strip().replace("\\|", "|"))
        for row in rows
        if len(row) == 3 and row[0].strip().isdigit()
    }
    found = {}
    names = list(FEATURES)
    grid = [row for row in rows if len(row) > 3 and row[0].strip()]
    for i, row in enumerate(grid):
        name = row[0].strip().partition(" ")[2]
        for other, cell in zip(names[i:], row[1 + i :], strict=True):
            sign = cell.strip()
            found[name, other] = refusals[sign] if sign.isdigit() else Met(sign)
    return found


def tried(report: Callable[[str], None] = print) -> dict[tuple[str, str], Met]:
    """Every cell, as it is now. What is neither a result nor an early refusal is reported, and counts as refused."""
    names, found = list(FEATURES), {}
    for i, name in enumerate(names):
        for other in names[i:]:
            try:
                found[name, other] = meet(*dict.fromkeys((name, other)))
            except Exception as error:
                report(f"{name} x {other}: {type(error).__name__}: {error}")
                found[name, other] = Met("-", "?", f"{type(error).__name__}: {error}".replace("\n", " "))
    return found


if __name__ == "__main__":
    PAGE.write_text(page(tried()), encoding="utf-8")

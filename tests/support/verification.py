"""Reference states, and the figures of docs/verification.md: the tests that reach them hold the page to them."""

from __future__ import annotations

import json
import re
from pathlib import Path

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "reference_states.json").read_text())
"""States of the catalogue's systems to 20 digits."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "verification.md"


def says(row: str, error: float) -> None:
    """The first figure of the row that begins so is reached, and not far from what is."""
    found = re.search(rf"^\| {re.escape(row)}.*?\| (\d\S*)", PAGE.read_text(encoding="utf-8"), re.M)
    assert found is not None, row
    assert error <= float(found[1]) < 4 * error, (row, error)

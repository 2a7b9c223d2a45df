"""What type checkers say of a user's script; tests/test_packaging.py asks them about an installed wheel."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typed_script import WRONG, reported


@pytest.mark.parametrize(
    "checker", ["mypy", pytest.param("pyright", marks=pytest.mark.integration("pyright"))]
)
def test_the_mistakes_of_a_script_are_reported_and_nothing_else(checker: str, tmp_path: Path) -> None:
    assert len(WRONG) == 5
    assert reported(checker, sys.executable, tmp_path) == WRONG

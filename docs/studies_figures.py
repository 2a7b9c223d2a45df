"""The figures of docs/studies.md: `python docs/studies_figures.py` runs the examples of the page, which draw them here.

Needs matplotlib: pip install "chaplygin[plot]".
"""

from __future__ import annotations

import doctest
import os
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "studies.md"

if __name__ == "__main__":
    os.chdir(PAGE.parent)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    sys.exit(doctest.testfile(str(PAGE), module_relative=False, optionflags=flags).failed)

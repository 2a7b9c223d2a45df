"""Settings of every test run: models go to a cache of the tests' own, plots to no screen."""

from __future__ import annotations

import os
from pathlib import Path

_MODELS = Path(__file__).resolve().parent.parent / "build" / "test-models"
os.environ.setdefault("CHAPLYGIN_CACHE", str(_MODELS))
os.environ.setdefault("MPLBACKEND", "Agg")

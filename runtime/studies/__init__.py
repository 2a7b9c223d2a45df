"""Ensembles of which only statistics are kept: chunks, workers, folders; responses, rare events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .job import StudyJob as StudyJob
    from .observed import Extreme as Extreme
    from .run import run_study as run_study

__getattr__ = face(__name__, {"Extreme": ".observed", "StudyJob": ".job", "run_study": ".run"})

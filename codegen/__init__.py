"""Declared systems, equations, programs, sources, builds. SymPy lives here and nowhere else."""

from __future__ import annotations

from chaplygin._moved import keep

_OLD = {"system.system": "chaplygin.api.system"}
"""Modules that pickles name, and where their content is now."""

keep(__name__, _OLD)

"""`Uncompiled`: what has no runs of its own, and says where they are."""

from __future__ import annotations

from chaplygin.runtime.interface.hints import Hinted

from .model import Model


class Uncompiled(Hinted):
    """A system or its equations, in whose place a compiled model is often meant."""

    def _elsewhere(self, name: str) -> str | None:
        return f"its model has it: compile().{name}" if hasattr(Model, name) else None

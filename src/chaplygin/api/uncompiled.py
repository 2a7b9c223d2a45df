"""`Uncompiled`: what has no runs of its own, and says where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .model import Model


class Uncompiled:
    """A system or its equations, in whose place a compiled model is often meant."""

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            compiled = not name.startswith("_") and hasattr(Model, name)
            hint = f"; its model has it: compile().{name}" if compiled else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

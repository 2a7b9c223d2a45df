"""`Uncompiled`: what has no runs of its own, and says where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .model import Model


class Uncompiled:
    """A system or its equations, in whose place a compiled model is often meant."""

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            if not (name.startswith("_") or hasattr(type(self), name)) and hasattr(Model, name):
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}; its model has it: compile().{name}"
                )
            return super().__getattribute__(name)  # raises Python's own error, or again that of a property

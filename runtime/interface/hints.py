"""`Hinted`: objects that say where an attribute is that they do not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Hinted:
    """Base of what is used in place of something near it."""

    __slots__ = ()

    def _elsewhere(self, name: str) -> str | None:
        """Where an attribute is that this class does not have; None if it is nowhere near."""
        raise NotImplementedError

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            if not (name.startswith("_") or hasattr(type(self), name)):
                hint = self._elsewhere(name)
                if hint is not None:
                    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}; {hint}")
            return super().__getattribute__(name)  # raises Python's own error, or again that of a property

"""From distributions to arrays, the same whatever the order of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .arguments import split as split

__getattr__ = face(__name__, {"split": ".arguments"})

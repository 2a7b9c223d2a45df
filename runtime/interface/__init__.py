"""What both halves know of a compiled model: names, kinds, statuses, arguments, messages, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .arguments import nearest as nearest

__getattr__ = face(__name__, {"nearest": ".arguments"})

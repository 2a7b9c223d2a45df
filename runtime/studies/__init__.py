"""Ensembles of which only statistics are kept: chunks, workers, folders; responses, rare events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .observed import Extreme as Extreme

__getattr__ = face(__name__, {"Extreme": ".observed"})

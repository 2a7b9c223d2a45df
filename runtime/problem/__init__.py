"""What a run is given: options, inputs, events, the start, and whether it is consistent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .options import DEFAULTS as DEFAULTS

__getattr__ = face(__name__, {"DEFAULTS": ".options"})

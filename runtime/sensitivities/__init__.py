"""Derivatives of runs, by their variational equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .sensitivity import integrate as integrate
    from .variation import Variation as Variation, varied as varied, varied_run as varied_run

__getattr__ = face(
    __name__,
    {
        "Variation": ".variation",
        "integrate": ".sensitivity",
        "varied": ".variation",
        "varied_run": ".variation",
    },
)

"""Models of others as declarations: URDF, `sympy.physics.mechanics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .from_sympy import declared as declared
    from .urdf import robot as robot

__getattr__ = face(__name__, {"declared": ".from_sympy", "robot": ".urdf"})

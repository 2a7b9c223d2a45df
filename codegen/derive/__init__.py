"""What all equations of motion need: `EquationNodes`, friction, integrals, power, trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .friction import add_friction as add_friction
    from .point_mass_tree import point_tree as point_tree

__getattr__ = face(__name__, {"add_friction": ".friction", "point_tree": ".point_mass_tree"})

"""Models of others as declarations: URDF, `sympy.physics.mechanics`."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

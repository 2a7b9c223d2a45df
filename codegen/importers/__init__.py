"""Models of others as declarations: URDF, `sympy.physics.mechanics`."""

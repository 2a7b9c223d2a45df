"""Models of `sympy.physics.mechanics` as declarations: `from_sympy`."""

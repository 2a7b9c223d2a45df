"""Equations for people: LaTeX, notebooks, linear equations, SymPy systems."""

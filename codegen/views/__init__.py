"""Equations for people: LaTeX, notebooks, linear equations, SymPy systems."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

"""The expression graph: differentiation, evaluation, linear algebra, to and from SymPy."""

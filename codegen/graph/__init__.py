"""The expression graph: differentiation, evaluation, linear algebra, to and from SymPy."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

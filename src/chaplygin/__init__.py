"""Equations of motion of nonholonomic systems: declared, derived, compiled, integrated.

>>> import chaplygin as cg
>>> cg.__version__
'0.1.0'

Public names are loaded on first use, so that importing chaplygin and running an already compiled model never import
SymPy. They are listed in `__init__.pyi`.
"""

from ._lazy import face
from ._version import __version__ as __version__

__getattr__ = face(__name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})

"""Equations of motion of nonholonomic systems: declared, derived, compiled, integrated.

>>> import chaplygin as cg
>>> cg.__version__
'0.1.0'

Public names are loaded on first use, so that importing chaplygin and running an already compiled model never import
SymPy. They are listed in `__init__.pyi`.
"""

from __future__ import annotations

from ._version import __version__ as __version__

_found: dict[str, str] = {}


def _homes() -> dict[str, str]:
    """The defining module of every public name."""
    if not _found:
        import ast

        with open(f"{__file__}i", encoding="utf-8") as stub:
            imports = [node for node in ast.parse(stub.read()).body if isinstance(node, ast.ImportFrom)]
        _found.update({alias.name: str(node.module) for node in imports for alias in node.names})
    return _found


def __getattr__(name: str) -> object:
    if name == "__all__":
        return ["__version__", *_homes()]
    home = None if name.startswith("__") else _homes().get(name)
    if home is None:
        raise AttributeError(f"module 'chaplygin' has no attribute {name!r}")
    if home == __name__:  # a module of this package, which it has as an attribute once it is imported
        return __import__(f"{home}.{name}", fromlist=["_"])
    value = getattr(__import__(home, fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})

"""The catalogue: mechanical systems with their source, parameters, initial state and closed form.

Each system is one file in this folder, with plain numbers at module level, ``system()``, which declares it, and
``example()``, which combines both in an `Example`; options of ``example()`` (a size, a variant) are passed through.
SymPy is imported only when a declaration is needed, so the parameters and initial states also serve a model that is
already compiled.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from chaplygin.errors import UnknownSystemError
from chaplygin.runtime import interface
from chaplygin.runtime.interface.messages import short

from .entry import Example

__all__ = ["Example", "example", "examples"]

_SYSTEMS = tuple(sorted({file.stem for file in Path(__file__).parent.glob("[a-z]*.py")} - {"entry", "torus"}))
"""The files of this folder, but for what systems share."""


def examples() -> tuple[str, ...]:
    """The names of all systems in the catalogue, in alphabetical order.

    >>> "heavy_top" in examples()
    True
    """
    return _SYSTEMS


def example(name: str, **options: Any) -> Example:
    """The catalogue entry ``name``; ``options`` are those of the system's own file, such as ``n``.

    Raises UnknownSystemError, a KeyError, for an unknown name and TypeError for an unknown option; both messages list
    the valid names.

    >>> example("n_link_pendulum", n=3).initial["theta3"]
    0.5
    """
    if not isinstance(name, str) or name not in _SYSTEMS:
        hint = interface.nearest(name, _SYSTEMS) if isinstance(name, str) else ""
        raise UnknownSystemError(
            f"the catalogue has no system {short(name)}{hint or ';'} it has {', '.join(_SYSTEMS)}"
        )
    make = import_module(f".{name}", __name__).example
    known = list(signature(make).parameters)
    unknown = [option for option in options if option not in known]
    if unknown:
        takes = f"it takes {', '.join(known)}" if known else "it has no options"
        raise TypeError(f"example({name!r}): unknown option {unknown[0]!r}; {takes}")
    entry: Example = make(**options)
    return replace(entry, made_by=options)


Example._catalogue = staticmethod(example)

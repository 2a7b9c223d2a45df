"""The catalogue: mechanical systems with their source, parameters, initial state and closed form.

Each system is one file in this folder and one line in ``_SYSTEMS``. The file has plain numbers at module level,
``system()``, which declares it, and ``example()``, which combines both in an `Example`; options of ``example()``
(a size, a variant) are passed through. SymPy is imported only when a declaration is needed, so the parameters
and initial states also serve a model that is already compiled.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from inspect import signature
from typing import Any

from chaplygin.errors import UnknownSystemError
from chaplygin.runtime import interface
from chaplygin.runtime.interface.messages import short

from .entry import Example

__all__ = ["Example", "example", "examples"]

_SYSTEMS = (
    "bicycle",
    "block_on_belt",
    "bouncing_ball",
    "bricard",
    "brick_on_incline",
    "chaplygin_sleigh",
    "double_pendulum",
    "euler_rigid_body",
    "fluid_cavity",
    "gyrostat",
    "harmonic_oscillator",
    "heavy_top",
    "heisenberg",
    "hexapod",
    "humanoid",
    "kovalevskaya_top",
    "lagrange_top",
    "n_four_bars",
    "n_link_pendulum",
    "painleve_klein",
    "painleve_klein_rigid",
    "painleve_rod",
    "robot_arm",
    "rocket",
    "roller_racer",
    "rolling_disk",
    "rolling_ring",
    "rotating_particle",
    "sleigh_cartesian",
    "spatial_chain",
    "squeezer",
    "suslov",
    "torus_nonuniform",
    "torus_uniform",
    "turntable_sleigh",
    "two_mass_chain",
    "woodpecker",
)


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

"""The package's extension modules exist twice on x86-64: for every CPU, and for those with fused multiply-adds.

Both give the same bits. Without the instruction each multiply-add is a call of the C library, which is several times
slower. The second variant is in a folder below the package, which comes first in the package's search path.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from chaplygin._lazy import pathlib

try:
    from ._cpu import x86_64_v3
except ImportError:  # installed without a compiler
    x86_64_v3 = False

FOLDER = "x86_64_v3"
"""The extension modules for CPUs with AVX2 and FMA: x86-64-v3 in the System V ABI."""

SHIPPED = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "generated"))
"""The modules that come with the package, and their sources; the packages are next to each other everywhere."""


def has_fused_variant() -> bool:
    """Whether this CPU runs the modules in `FOLDER`."""
    return bool(x86_64_v3)


def search_path(package: Sequence[str]) -> list[str]:
    """The `__path__` of a package with extension modules: the variant for this CPU first."""
    variants = [os.path.join(folder, FOLDER) for folder in package]
    return [*(variants if has_fused_variant() else []), *package]


def sources_of(module: pathlib.Path) -> pathlib.Path:
    """The folder with the sources of a module, which both variants share."""
    return module.parent.parent if module.parent.name == FOLDER else module.parent


def is_shipped(module: pathlib.Path) -> bool:
    """Whether a module is one of those that come with the package."""
    return str(sources_of(module).resolve()) == SHIPPED

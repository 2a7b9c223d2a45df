"""The emitted modules of the catalogue, committed and compiled when the package is installed."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

from chaplygin.errors import CoreMissingError
from chaplygin.runtime.interface.cpu_variants import search_path

__all__ = ["include_path"]
__path__ = search_path(__path__)


class _Uncompiled:
    """The last place where Python looks for a module: one of which only the sources were installed."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        package, _, module = name.rpartition(".")
        if package == __name__ and any(
            os.path.isfile(os.path.join(folder, f"{module}.pyx")) for folder in __path__
        ):
            raise CoreMissingError(
                f"{name} was not compiled when chaplygin was installed, since there was no C compiler; install one "
                "(Debian, Ubuntu: apt install gcc; macOS: xcode-select --install), and chaplygin again; or take "
                f"chaplygin.example({module!r}).system.compile(backend='python')"
            )


sys.meta_path.append(_Uncompiled)


def include_path() -> list[str]:
    """Folders for code that uses a module of this package: for Cython's `include_path` and the compiler's `-I`.

    Cython finds ``chaplygin/generated/<name>.pxd`` in the first, the C compiler ``chaplygin.h`` in the second.

    >>> from pathlib import Path
    >>> pxd, headers = map(Path, include_path())
    >>> (pxd / "chaplygin" / "generated" / "heavy_top.pxd").exists(), (headers / "chaplygin.h").exists()
    (True, True)
    """
    runtime = find_spec("chaplygin.runtime")
    assert runtime is not None
    assert runtime.origin is not None
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    return [root, os.path.join(os.path.dirname(os.path.realpath(runtime.origin)), "c")]

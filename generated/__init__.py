"""The emitted modules of the catalogue, committed and compiled when the package is installed."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
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
        if package == __name__ and any(Path(folder, f"{module}.pyx").is_file() for folder in __path__):
            raise CoreMissingError(
                f"{name} was not compiled when chaplygin was installed, since there was no C compiler; install one "
                "(Debian, Ubuntu: apt install gcc; macOS: xcode-select --install), and chaplygin again; or take "
                f"chaplygin.example({module!r}).system.compile(backend='python')"
            )


sys.meta_path.append(_Uncompiled)


def include_path() -> list[str]:
    """Folders for code that uses a module of this package: for Cython's `include_path` and the compiler's `-I`.

    Cython finds ``chaplygin/generated/<name>.pxd`` in the first, the C compiler ``chaplygin.h`` in the second. In an
    editable install no folder has that shape, and one of links is made in the checkout's ``build``.

    >>> from pathlib import Path
    >>> pxd, headers = map(Path, include_path())
    >>> (pxd / "chaplygin" / "generated" / "heavy_top.pxd").exists(), (headers / "chaplygin.h").exists()
    (True, True)
    """
    runtime = find_spec("chaplygin.runtime")
    assert runtime is not None
    assert runtime.origin is not None
    here = Path(__file__).resolve().parent
    root = here.parent.parent if here.parent.name == "chaplygin" else _links(here)
    return [os.fspath(root), os.path.join(os.path.dirname(os.path.realpath(runtime.origin)), "c")]


def _links(here: Path) -> Path:
    """A folder with `chaplygin/generated` in it, which is a link to `here`, or has the same .pxd files."""
    root = here.parent / "build" / "cimport"
    package = root / "chaplygin"
    package.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # it is there already, or the system has no links
        os.symlink(here, package / "generated", target_is_directory=True)
    if not (package / "generated").is_symlink():
        (package / "generated").mkdir(exist_ok=True)
        for file in here.glob("*.px[di]"):
            shutil.copy(file, package / "generated")
    return root

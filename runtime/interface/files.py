"""The C files of the runtime, for programs that compile them with a model, and names of compiled libraries."""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[1] / "c"
"""The folder of the headers; those that programs and models include are in itself, the other files in its rooms."""
_ROOM = re.compile(r'^([ \t]*#[ \t]*include[ \t]+")\w+/', re.M)

DRIVER = ("cg_ahead.c", "cg_block.c", "cg_bracket.c", "cg_correct.c", "cg_detector.c", "cg_driver.c", "cg_evaluate.c",
          "cg_event_handling.c", "cg_events.c", "cg_held.c", "cg_jump.c", "cg_locate.c", "cg_method_table.c",
          "cg_modes.c", "cg_record.c", "cg_sides.c", "cg_status.c", "cg_surface.c", "cg_touch.c")  # fmt: skip
"""The files below `INCLUDE` to be compiled and linked: the integrators, events and contacts of `cg_driver.h` and
`cg_events.h`. They need the C library and its libm alone."""


@functools.cache
def runtime_files() -> dict[str, Path]:
    """{name: path} of the C files in every room and those of FMI, without the headers of single precision."""
    found = (*INCLUDE.rglob("*.[ch]*"), *(INCLUDE.parent / "fmi").iterdir())
    return {path.name: path for path in sorted(found) if path.parent.name != "float"}


def runtime_text(name: str) -> str:
    """The contents of one of these files, for a folder without rooms: what it includes is named without its room."""
    return _ROOM.sub(r"\1", runtime_files()[name].read_text(encoding="utf-8"))


def get_include() -> str:
    """The folder of the headers of the C library, for the compiler's ``-I``.

    With it and `get_library_sources`, the C files of a model (`System.emit`) are all that a program needs:
    ``chaplygin.h`` describes a model, ``cg_driver.h`` runs it, ``cg_events.h`` has its events and contacts.

    >>> import os
    >>> os.path.exists(os.path.join(get_include(), "cg_driver.h"))
    True
    """
    return str(INCLUDE)


def get_library_sources() -> list[str]:
    """The C99 files, also valid C++, that run any model: to be compiled and linked with it, as paths.

    They need `get_include()` and the C library with its libm, and contain every method, events and contacts. Ensembles
    and batches, in the folder `lanes` of `get_include()`, need vectors of GCC or Clang besides.

    >>> import os
    >>> [os.path.basename(path) for path in get_library_sources()][:3]
    ['cg_ahead.c', 'cg_block.c', 'cg_bracket.c']
    """
    return [str(runtime_files()[name]) for name in DRIVER]


def method_key(key: str, method: str) -> str:
    """The key in the cache of a method that was compiled for the model stored under `key`."""
    return hashlib.sha256(f"{key} {method}".encode()).hexdigest()[:40]


def library_name(name: str, part: object = None) -> str:
    """The file name of the library of a model, or of a part of it."""
    suffix = "dll" if sys.platform == "win32" else "so"
    return f"{name}.{suffix}" if part is None else f"{name}_{part}.{suffix}"

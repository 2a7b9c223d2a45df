"""The files next to a compiled module: those of its entry in the cache, or those that come with the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chaplygin.runtime.interface.cpu_variants import is_shipped, sources_of

from . import cache


def texts_beside(module: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """{file name: content} of the files next to a module whose names are wanted.

    Raises BuildError for one of the cache that is missing or has changed since it was stored.
    """
    folder = sources_of(module)
    if is_shipped(module) or not (folder / cache.ENTRY).exists():
        files = sorted(file for file in folder.iterdir() if file.is_file() and wanted(file.name))
        return {file.name: file.read_bytes() for file in files}
    return {
        name: cache.content(folder, name) for name in sorted(cache.facts_in(folder)["files"]) if wanted(name)
    }

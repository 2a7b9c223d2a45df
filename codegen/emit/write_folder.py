"""Writing emitted sources, and the headers that they include, into a folder of the user."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from chaplygin._version import __version__
from chaplygin.errors import EmitError
from chaplygin.runtime.interface.files import runtime_files, runtime_text
from chaplygin.runtime.interface.scalars import path

INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
_MARK = re.compile(rb"(?:/\*\s+\*|/\*|#) (?:Generated|Copied) by chaplygin ")
"""The beginning of every file that `emit` writes."""


def with_headers(texts: Mapping[str, str]) -> dict[str, str]:
    """The sources, with every header of the runtime that they include directly or indirectly."""
    mark = f"/* Copied by chaplygin {__version__} from its runtime. Do not edit. */\n"
    return {**texts, **{name: mark + text for name, text in headers_of(texts).items()}}


def headers_of(texts: Mapping[str, str]) -> dict[str, str]:
    """{file name: text} of the runtime's headers that the sources include directly or indirectly.

    Other headers that they include are those of a target that is not among the sources.
    """
    found: dict[str, str] = {}
    waiting = list(texts.values())
    while waiting:
        for name in dict.fromkeys(INCLUDED.findall(waiting.pop())):
            if name not in texts and name not in found and name in runtime_files():
                found[name] = runtime_text(name)
                waiting.append(found[name])
    return found


def write(folder: str | Path, texts: Mapping[str, str], *, force: bool = False) -> list[Path]:
    """Write {file name: text} into a folder, which is created if missing; return the paths.

    Files that an earlier `emit` wrote are replaced. Any other file with one of these names, or a symbolic link, raises
    an error before anything is written; with `force` it is replaced (the target of a link is not touched). Each file
    is replaced atomically, so the old one remains if the disk is full.

    Raises EmitError, and ArgumentError for what is not a path.
    """
    target = path("folder", folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name in texts if not force else ():
            _require_ours(target / name)
        for name, text in texts.items():
            replace(target / name, text.encode())
    except (OSError, UnicodeError) as error:
        if isinstance(error, EmitError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise EmitError(f"cannot write to {os.fspath(target)!r}: {reason}") from error
    return [target / name for name in texts]


def _require_ours(path: Path) -> None:
    if path.is_symlink():
        what = "is a symbolic link"
    elif not path.exists():
        return
    elif not path.is_file():
        what = "is not a file"
    else:
        with path.open("rb") as file:
            if _MARK.match(file.read(200)):
                return
        what = "was not written by chaplygin"
    raise EmitError(
        f"{os.fspath(path)!r} {what}; choose another folder, move the file away, or replace it with force=True "
        "(on the command line --force)"
    )


def replace(path: Path, content: bytes) -> None:
    """Replace a file by a new one; a symbolic link is not followed."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

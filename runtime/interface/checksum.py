"""Compiled files that carry their own digest, so that a truncated or damaged one is refused wherever it lies.

A seal follows the last byte that the linker wrote, where no loader looks: a mark, the SHA-256 of everything before it
in hexadecimal digits, and a newline. Loading a damaged library can end the process, so the seal is compared first. It
detects damage; it is not a signature.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
from pathlib import Path

from chaplygin.errors import LoadError

from .cpu_variants import is_shipped

_MARK = b"\nchaplygin sha256 "
_LENGTH = len(_MARK) + 64 + 1


def seal(file: Path) -> None:
    """Append the seal of a new file."""
    mark = _seal_of(file.read_bytes())
    with file.open("ab") as target:
        target.write(mark)


def check_seal(file: Path) -> None:
    """Raise `LoadError` if a compiled file has no seal, or not that of its content.

    Modules that come with the package have none: tools that install packages change and check these themselves.
    """
    if is_shipped(file):
        return
    try:
        content = file.read_bytes()
    except OSError as error:
        raise LoadError(f"{file} cannot be read: {error.strerror or error}") from error
    body, found = content[:-_LENGTH], content[-_LENGTH:]
    if not found.startswith(_MARK):
        raise LoadError(
            f"{file} does not end with the digest of a compiled model: it is truncated, or was not compiled by this "
            "version of chaplygin; compile the model again"
        )
    if found != _seal_of(body):
        raise LoadError(f"{file} is damaged: it does not match its own digest; compile the model again")


def open_library(path: str | os.PathLike[str]) -> ctypes.CDLL:
    """A shared library with a seal, which stays loaded. Raises `LoadError`."""
    check_seal(Path(path))
    try:
        return ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise LoadError(f"{os.path.basename(path)} cannot be loaded: {error}") from error


@functools.cache
def address_in(path: Path, name: str) -> int:
    """The address of a table in a library as `open_library` opens it. Raises `LoadError`."""
    return ctypes.addressof(ctypes.c_char.in_dll(open_library(path), name))


def _seal_of(content: bytes) -> bytes:
    return _MARK + hashlib.sha256(content).hexdigest().encode() + b"\n"

"""`Sources`, what is passed on to a build: emitted texts. Imports no SymPy, so that a build does not wait for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Sources:
    """Emitted texts by file name, with the digest of the declaration."""

    name: str
    digest: str
    files: Mapping[str, str]

"""The digest of derived equations, the key of their models in the cache."""

from __future__ import annotations

import hashlib

from chaplygin._version import __version__


def program_digest(system_digest: str, form: str, options: object) -> str:
    """The digest that identifies the emitted code: declaration, form with its options, generator version."""
    return hashlib.sha256(f"{system_digest}\n{form}\n{options!r}\n{__version__}".encode()).hexdigest()

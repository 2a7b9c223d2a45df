"""Compiled code for another host: it travels as what it was compiled from, and is compiled there once, in the cache."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaplygin.errors import BuildError
from chaplygin.runtime.interface.cpu_variants import SHIPPED, is_shipped, search_path, sources_of

from ..lower.sources import Sources
from . import cache
from .library import build, lane_library, texts_beside


@dataclass(frozen=True)
class Package:
    """A compiled file of the cache: the facts of its entry, and its sources by name.

    `surroundings` are those of the host that compiled it: an equal host finds it under the same key.
    """

    facts: dict[str, Any]
    texts: dict[str, bytes]
    surroundings: str
    generator: str

    def install(self) -> Path:
        """The file in the cache of this host, compiled if it is not there. Needs a C compiler, but no derivation.

        Raises BuildError if another version of the package has emitted the sources, NoCompilerError, CacheError.
        """
        if self.generator != cache.generator_stamp():
            raise BuildError(
                f"the sources of {self.facts['name']!r} come from another version of chaplygin; install the same one "
                "on all hosts"
            )
        facts, key = self.facts, self._key()
        options = {name: facts[name] for name in ("reproducible", "tuned")}
        if "lanes" in facts:
            stem = facts["file"].rpartition("_")[0]
            return lane_library(key, stem, lambda: self.texts, facts["lanes"], facts)
        files = {name: text.decode() for name, text in self.texts.items()}
        sources = Sources(facts["name"], facts["digest"], files)
        return build(sources, key=key, inline=facts["inline"], **options)

    def _key(self) -> str:
        """The key here: that of the other host, if all that it depends on is the same, or one of the sources."""
        facts = self.facts
        options = {name: facts[name] for name in ("reproducible", "tuned")}
        if self.surroundings == cache.surroundings(**options):
            return str(facts["key"])
        content = repr((facts.get("lanes"), sorted(self.texts.items())))
        digest = hashlib.sha256(content.encode()).hexdigest()
        return cache.model_key(digest, inline=facts.get("inline", True), **options)


@dataclass(frozen=True)
class Shipped:
    """A compiled file that comes with the package, with the digest of its C source."""

    name: str
    digest: str

    def install(self) -> Path:
        """The file here. Raises BuildError if it is missing or another one."""
        for folder in search_path([SHIPPED]):
            here = Path(folder) / self.name
            if here.is_file() and _digest(here) == self.digest:
                return here
        raise BuildError(
            f"{self.name} of chaplygin.generated is missing or another one; install the same version"
        )


def package_of(file: Path) -> Package | Shipped | None:
    """What to send in place of a compiled file; None for one that is neither in a cache nor comes with the package.

    Raises BuildError for a damaged entry of the cache.
    """
    if is_shipped(file):
        return Shipped(file.name, _digest(file))
    if not (file.parent / cache.ENTRY).exists():
        return None
    facts = cache.facts_in(file.parent)
    if facts["file"] != file.name:
        return None
    options = {name: facts[name] for name in ("reproducible", "tuned")}
    return Package(
        facts,
        texts_beside(file, lambda name: name != file.name),
        cache.surroundings(**options),
        cache.generator_stamp(),
    )


def _digest(module: Path) -> str:
    core = sources_of(module) / (module.name.split(".")[0] + "_core.c")
    return hashlib.sha256(core.read_bytes()).hexdigest() if core.is_file() else ""

"""Companions: expressions of a compiled model, compiled on their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..emit.c_companion import companion_file
from ..lower.companion import checked, companion, fingerprint, slope
from . import cache
from .extension import facts_of, lane_library

if TYPE_CHECKING:
    from ..derive.equations import Equations


def build_companion(
    module: Path,
    digest: str,
    equations: Callable[[], Equations],
    wanted: Sequence[Any],
    lanes: int,
    *,
    slopes: bool = False,
) -> Path:
    """A shared library that defines `<name>_companion_<lanes>`, cached or newly compiled.

    `module` is the path of the model's module in the cache, `digest` that of the model. It is compiled with the flags
    of the model, and the equations are derived only if it is not in the cache. With `slopes` it has one expression and
    its derivatives. Raises ArgumentError, naming the
    expression that is wrong, and the errors of `build_lanes`.
    """
    expressions = checked(wanted)
    facts = facts_of(module)
    own = hashlib.sha256(repr((facts["key"], fingerprint(expressions), lanes, slopes)).encode()).hexdigest()
    key = cache.model_key(own, reproducible=facts["reproducible"], tuned=facts["tuned"])

    def texts() -> dict[str, bytes]:
        nodes = equations().nodes
        made = slope(nodes, expressions[0], own) if slopes else companion(nodes, expressions, own)
        files = companion_file(made, digest, "model.gradient(...)" if slopes else "batch.evaluate(...)")
        return {name: text.encode() for name, text in files.items()}

    return lane_library(key, f"{facts['name']}_companion", texts, lanes, facts)

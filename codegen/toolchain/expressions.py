"""Companions: expressions of a compiled model, compiled on their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from ..derive.equation_nodes import EquationNodes
from ..emit.c_expressions import companion_file
from ..lower.expressions import checked, companion, fingerprint, guarded, slope
from ..plan.plan import plan
from . import cache
from .library import facts_of, lane_library

_COMMANDS = {
    "values": "batch.evaluate(...)",
    "slopes": "model.gradient(...)",
    "observed": "cg.study(..., collect=...)",
}


def build_companion(
    module: Path,
    digest: str,
    equations: Callable[[], EquationNodes],
    wanted: Sequence[Any],
    lanes: int,
    kind: Literal["values", "slopes", "observed"],
) -> Path:
    """A shared library that defines `<name>_companion_<lanes>`, cached or newly compiled.

    `module` is the path of the model's module in the cache, `digest` that of the model. It is compiled with the flags
    of the model, and the equations are derived only if it is not in the cache. "slopes": one expression and its
    derivatives; "observed": the guards of the expressions too. Raises ArgumentError, naming the expression that is
    wrong, and the errors of `build_lanes`.
    """
    expressions = checked(wanted)
    facts = facts_of(module)
    own = hashlib.sha256(repr((facts["key"], fingerprint(expressions), lanes, kind)).encode()).hexdigest()
    key = cache.model_key(own, reproducible=facts["reproducible"], tuned=facts["tuned"])

    def texts() -> dict[str, bytes]:
        nodes = equations()
        owners: tuple[int, ...] = ()
        if kind == "observed":
            made, owners = guarded(nodes, expressions, own)
        else:
            made = (
                slope(nodes, expressions[0], own) if kind == "slopes" else companion(nodes, expressions, own)
            )
        files = companion_file(plan(made), digest, _COMMANDS[kind], owners)
        return {name: text.encode() for name, text in files.items()}

    return lane_library(key, f"{facts['name']}_companion", texts, lanes, facts)

"""What an ensemble observes along its trajectories: integrals over time, and extremes; see ``cg_observe.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaplygin.errors import ArgumentError

from ..model.expressions import address_of, library_of

KINDS = ("integral", "peak", "minimum")
"""In the order of enum cg_observed_kind."""


@dataclass(frozen=True)
class Observer:
    """Quantities to observe, (kind, text); compiled for some numbers of lanes, and pickled as the paths of that.

    Without `paths` they are quantities that the model has by name, and trajectories run one at a time.
    """

    model: str
    quantities: tuple[tuple[str, str], ...]
    paths: Mapping[int, Path]

    @classmethod
    def of(cls, model: Any, wanted: Sequence[tuple[str, Any]], lanes: int) -> Observer:
        """From kinds, and names or SymPy expressions; raises the errors of `companion`."""
        texts = tuple((kind, str(what)) for kind, what in wanted)
        if model._equations is None and all(isinstance(what, str) for _, what in wanted):
            return cls(model.name, texts, {})
        expressions = [what for _, what in wanted]
        return cls(
            model.name, texts, {n: library_of(model, expressions, n, "observed") for n in sorted({1, lanes})}
        )

    @property
    def kinds(self) -> tuple[int, ...]:
        return tuple(KINDS.index(kind) for kind, _ in self.quantities)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.quantities)

    @property
    def named(self) -> bool:
        """Whether the model computes them itself."""
        return not self.paths

    def runs_in(self, lanes: int) -> bool:
        """Whether trajectories can be observed side by side in so many lanes."""
        return lanes in self.paths

    def address(self, lanes: int) -> int:
        """The `cg_companion_t` for a number of lanes."""
        if lanes not in self.paths:
            raise ArgumentError(f"what is observed in {self.model} is not compiled for {lanes} lanes")
        return address_of(self.paths[lanes], self.model, lanes)

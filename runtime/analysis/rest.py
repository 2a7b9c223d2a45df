"""An equilibrium or a steady motion as data: what a branch of them starts from and is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..interface.arguments import Array
from ..problem.continued import Continued
from .linearization import Linearization, linearized

if TYPE_CHECKING:
    from ..model.compiled_model import CompiledModel


@dataclass(frozen=True, eq=False)
class Rest(Continued):
    """v = (t, y, p, u), at which a model rests or moves steadily, and how it was found; see `SteadyState`."""

    model: CompiledModel
    about: str
    t: float
    v: Array
    unknowns: tuple[str, ...]
    keep: tuple[str, ...]
    free: tuple[str, ...]
    residual: float

    def _leaves(self) -> tuple[Array, Array, Any]:
        n, k = len(self.model.states), len(self.model.parameters)
        y, p, u = np.split(self.v[1:], [n, n + k])
        return y, p, u

    @cached_property
    def linearization(self) -> Linearization:
        """The linear equations near it."""
        return linearized(self.model, self.v, self.about)

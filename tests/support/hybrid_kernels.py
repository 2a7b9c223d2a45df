"""Kernels of hybrid systems as plain Python functions of named values, for tests that need no compiler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fused import fma

import chaplygin as cg
from chaplygin.api.python_model import python_kernels

ROUGH = (
    "block_on_belt", "brick_on_incline", "painleve_klein", "painleve_klein_rigid", "painleve_rod", "two_mass_chain",
    "woodpecker",
)  # fmt: skip
"""The catalogue systems with dry friction: named here, since to ask the systems takes time when tests are collected."""
WITH_EVENTS = ("bouncing_ball", "painleve_rod", "woodpecker")


class Kernels:
    """The kernels of derived equations; states, parameters, inputs and modes are given by name."""

    def __init__(self, equations: cg.Equations) -> None:
        self.program = equations.program
        self.python = python_kernels(self.program, fma).python

    def _arguments(self, values: Mapping[str, float]) -> tuple[list[float], list[float], list[float]]:
        p = self.program
        tables = (p.states, p.parameters, (*p.inputs, *p.modes))
        x, q, u = ([float(values[v.name]) for v in table] for table in tables)
        return x, q, u

    def __call__(self, kernel: str, values: Mapping[str, float], t: float = 0.0) -> np.ndarray:
        return np.array(self.python[kernel](t, *self._arguments(values)))

    def rates(self, values: Mapping[str, float], t: float = 0.0) -> dict[str, float]:
        """d/dt of the states by name."""
        return dict(zip((v.name for v in self.program.states), self("rhs", values, t), strict=True))

    def outputs(self, values: Mapping[str, float], t: float = 0.0) -> dict[str, float]:
        return dict(zip((v.name for v in self.program.outputs), self("outputs", values, t), strict=True))

    def contacts(self, values: Mapping[str, float], t: float = 0.0) -> dict[str, dict[str, float]]:
        """v, T, limit, dv/dt and N of every contact by name."""
        rows = self("contacts", values, t).reshape(-1, 5)
        keys = ("v", "T", "limit", "dv", "N")
        return {
            c.name: dict(zip(keys, map(float, row), strict=True))
            for c, row in zip(self.program.contacts, rows, strict=True)
        }

    def jvp(self, values: Mapping[str, float], v: Any, t: float = 0.0) -> np.ndarray:
        return np.array(self.python["jvp"](t, *self._arguments(values), list(v)))

    def reset(self, event: int, values: Mapping[str, float], t: float = 0.0) -> dict[str, float]:
        after = self.python["reset"](event, t, *self._arguments(values))
        return dict(zip((v.name for v in self.program.states), after, strict=True))

"""Masses of 1, the systems of most tests of runs: what acts on them is what is tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

import chaplygin as cg


def unit_masses(name: str, coordinates: Sequence[sp.Symbol], **acts: Any) -> cg.System:
    """A system whose kinetic energy is half the squares of its rates, and what acts on it."""
    kinetic = sum(cg.rate(q) ** 2 for q in coordinates) / 2
    return cg.System(name, **{"coordinates": coordinates, "kinetic": kinetic, **acts})

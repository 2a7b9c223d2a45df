"""From a model of `sympy.physics.mechanics` to a compiled one, beside SymPy's own route: equations, then lambdify.

The models are those of the tests, built anew in each round. SymPy's functions are Python code with common
subexpressions, and give M and f alone; ours is compiled, with its Jacobian and accelerations.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import chaplygin as cg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import mechanics_models as given

_ROUND = count()  # a new name is a model that no cache has
SUBJECTS = ["cart_and_links", "jointed_arm", "four_bar", "bicycle"]


@pytest.mark.parametrize("name", SUBJECTS)
def test_from_sympy(name: str, timed: Any) -> None:
    parameters = given.BICYCLE if name == "bicycle" else None

    def take() -> None:
        cg.from_sympy(given.MODELS[name](), f"{name}_{next(_ROUND)}", parameters=parameters).compile()

    timed("from a SymPy model to a compiled one", name, take, rounds=2)


@pytest.mark.parametrize("name", SUBJECTS)
def test_sympy_itself(name: str, timed: Any) -> None:
    timed(
        "the same model by SymPy: equations and lambdify",
        name,
        lambda: given.Oracle(given.MODELS[name]()),
        rounds=2,
    )

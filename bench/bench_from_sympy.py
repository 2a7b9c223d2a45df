"""From a model of `sympy.physics.mechanics` to a compiled one, beside SymPy's own routes.

Those form the equations, then call lambdify or PyDy. The models are those of the tests, built anew in each round.
SymPy's functions are Python code with common subexpressions, and give M and f alone; PyDy compiles M, f and a call of
LAPACK with Cython; ours is compiled, with its Jacobian and accelerations.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sizes import scaled
from sympy.physics import mechanics as me

import chaplygin as cg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import mechanics_models as given
from sympy_oracle import Oracle, formed

_ROUND = count()  # a new name is a model that no cache has
SUBJECTS = scaled(["cart_and_links", "jointed_arm", "four_bar", "bicycle"], ["cart_and_links"])


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
        lambda: Oracle(formed(given.MODELS[name]())),
        rounds=2,
    )


@pytest.mark.parametrize("name", SUBJECTS)
def test_pydy(name: str, timed: Any) -> None:
    generators = pytest.importorskip("pydy.codegen.ode_function_generators")

    def take() -> None:
        method = formed(given.MODELS[name]())
        mass, force = method.mass_matrix_full, method.forcing_full
        moving = {*method.q, *method.u}
        inputs = me.find_dynamicsymbols(mass.row_join(force)) - moving - {v.diff(given.t) for v in moving}
        constants = (mass.free_symbols | force.free_symbols) - {given.t}
        generators.generate_ode_function(
            force,
            list(method.q),
            list(method.u),
            constants=sorted(constants, key=str),
            mass_matrix=mass,
            specifieds=sorted(inputs, key=str) or None,
            generator="cython",
            constants_arg_type="array",
            specifieds_arg_type="array" if inputs else None,
        )

    timed("the same model by SymPy and PyDy: equations and Cython", name, take, rounds=2)


@pytest.mark.parametrize("name", scaled(["whipple", "ridden"], ["whipple"]))
def test_reading_symbrim(name: str, timed: Any) -> None:
    pytest.importorskip("symbrim")
    import symbrim_models

    given = getattr(symbrim_models, name)()
    timed("a model of SymBRiM read, without equations", name, lambda: cg.from_sympy(given, name), rounds=3)

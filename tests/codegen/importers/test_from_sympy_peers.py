"""Models of SymBRiM: bicycles and their riders. `bench_from_sympy` says how long they take to read."""

from __future__ import annotations

import pytest
from integrations import brought
from sympy_oracle import Oracle, difference, formed

import chaplygin as cg

pytestmark = pytest.mark.integration("symbrim")
pytest.importorskip("symbrim", reason=brought("symbrim"))
from symbrim_models import ridden, whipple  # noqa: E402


def test_a_bicycle_with_its_rider_is_read() -> None:
    """Of 17 velocities the two wheels take 2 each by rolling, the front one 1 by its height, the hands 3 each."""
    given = ridden()
    read = cg.from_sympy(given, "ridden")
    assert {x.name for x in read.system.coordinates} == {x.name for x in given.q}
    assert len(read.states) - 17 == 17 - 2 * 2 - 1 - 2 * 3


@pytest.mark.slow
def test_accelerations_of_the_bicycle_are_those_of_sympy() -> None:
    taken = cg.from_sympy(whipple(), "bicycle").compile()
    assert difference(taken, Oracle(formed(whipple()))) < 1e-10

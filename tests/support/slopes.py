"""Derivatives of a quantity at the end of a run, in each of the ways in which a model has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import chaplygin as cg


def check_slopes(
    model: Any,
    quantity: str,
    expected: Mapping[str, float],
    *given: Any,
    ended: tuple[int, ...] = (0,),
    **how: Any,
) -> Any:
    """Sensitivities and a gradient are as expected, and an ensemble has the bits of the run, which is returned.

    It ends with one of the statuses `ended`. `rel` and `abs` are those of `pytest.approx`, the others options of runs.
    """
    near = {name: how.pop(name) for name in ("rel", "abs") if name in how}
    wanted, by = pytest.approx(list(expected.values()), **near), list(expected)
    sol = model.integrate(*given, sensitivities=by, **how)
    assert sol.status in ended, (by, sol.message)
    assert [sol.sensitivity[quantity, name][-1] for name in by] == wanted
    many = cg.ensemble(model, *given, n=2, sensitivities=by, **how)
    np.testing.assert_array_equal(many.sensitivity.y[:, :, 1], sol.sensitivity.y[:, :, -1])
    slopes = model.gradient(cg.final(quantity), *given, by=by, **how)
    assert [slopes[name] for name in by] == wanted
    return sol

"""The quaternions of joints in a start that is to be moved: brought to length 1, with the derivative of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface.arguments import Array
from ..interface.base_model import BaseModel


def normalised(model: BaseModel, given: Mapping[str, Any], keep: Sequence[str] = ()) -> dict[str, Any]:
    """The values of a start by name, with quaternions of length 1; those in `keep` are held.

    Raises `ArgumentError` for one that has no direction, or that what is held makes too long.
    """
    found = dict(given)
    for names in _whole(model, given):
        held = np.array([name in keep for name in names])
        q = np.array([float(given[name]) for name in names])
        left, size = 1.0 - float(q[held] @ q[held]), float(np.linalg.norm(q[~held]))
        if abs(left - size**2) <= 4.0 * np.finfo(float).eps:
            continue
        if not (left >= 0.0 and size > 0.0):
            fixed = f" with {', '.join(name for name in names if name in keep)} held" if held.any() else ""
            raise ArgumentError(
                f"initial: {', '.join(names)} = {', '.join(f'{each:.6g}' for each in q)} cannot be given the length 1"
                f"{fixed}; 1, 0, 0, 0 is not turned"
            )
        q[~held] *= np.sqrt(left) / size
        found |= zip(names, q.tolist())
    return found


def slopes(model: BaseModel, names: Sequence[str], given: Mapping[str, Any]) -> Array:
    """The derivatives of the values of `names` after `normalised` by those before it."""
    found = np.eye(len(names))
    for four in _whole(model, given):
        if set(four) <= set(names):
            places = [names.index(name) for name in four]
            q = np.array([float(given[name]) for name in four])
            size = float(np.linalg.norm(q))
            found[np.ix_(places, places)] = (np.eye(4) - np.outer(q, q) / size**2) / size
    return found


def _whole(model: BaseModel, given: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The names of the quaternions that are given."""
    found = [model.states[i : i + 4] for i in model._quaternions]
    return [names for names in found if set(names) <= given.keys()]

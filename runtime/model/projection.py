"""A start that satisfies every constraint, with quaternions of length 1, near one that does not: `Model.consistent`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.assumptions import check_rows
from ..interface.base_model import BaseModel
from ..problem.given_inputs import parse
from ..problem.quaternions import normalised
from .nearest import Closure, NearestState


def consistent(
    model: BaseModel, initial: Any, parameters: Any, inputs: Any, keep: Sequence[str], t: float
) -> dict[str, float]:
    """See `BaseModel.consistent`."""
    if not (model._quaternions or "closure" in model.kernels):
        raise ArgumentError(f"{model.name} has no constraints and no joints with quaternions; keep the start")
    names, t = model.declared, arguments.number("t", t)
    given = arguments.named("initial", initial)
    if given is None:
        raise ArgumentError(
            f"initial = {arguments.short(initial)}: give values by name, a dict of {', '.join(names)}"
        )
    p = arguments.vector("parameters", parameters if parameters is not None else {}, model.parameters)
    flags = [model.variables[name].flags for name in model.parameters]
    check_rows("parameters", model.parameters, flags, p)
    controls = parse(inputs, model.inputs, flags=model._input_flags)
    closure = Closure(model, t, p, controls.of_time(t, np.zeros(len(model.states))))
    start = arguments.vector("initial", {**dict.fromkeys(names[closure.n :], 0.0), **given}, names)
    keep = arguments.plain_names("keep", keep)
    arguments.check_known("keep", keep, names)
    near = normalised(model, dict(zip(names, start.tolist())), keep)
    if "closure" not in model.kernels:
        return near
    found = NearestState(closure, np.array(list(near.values())), np.array([name in keep for name in names]))
    wrong = found.unmet()
    if wrong is not None:
        raise _refused(wrong, [name for name in names if name in keep], closure.n, names)
    return dict(zip(names, map(float, (*found.x, *found.eta)), strict=True))


def _refused(wrong: str, kept: Sequence[str], n: int, names: Sequence[str]) -> ArgumentError:
    """The error for a constraint that is not satisfied, "<name>: the residual ..."."""
    name, residual = wrong.split(": ")
    positions = name.startswith("holonomic")
    kept = [k for k in kept if (k in names[:n]) == positions]
    fixed = f" with {', '.join(kept)} held" if kept else ""
    if positions:
        what, advice = "coordinates near the given ones", "start nearer to the constraints"
        advice += " or keep less" if kept else ""
    else:
        what = "velocities"
        advice = "keep fewer" if kept else "the constraints contradict each other there"
    return ArgumentError(f"initial: no {what} satisfy {name}{fixed}: {residual}; {advice}")

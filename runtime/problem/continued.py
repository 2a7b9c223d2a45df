"""What a call has returned, as the start of the next one: its state, with its parameters and inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from .. import problem
from ..interface import arguments
from ..interface.arguments import Array
from ..interface.base_model import BaseModel


class Continued:
    """A result that can stand for `initial`: a run, a rest, a periodic motion, each with its `model`."""

    __slots__ = ()

    def _leaves(self) -> tuple[Array, Array, Any]:
        """The state (n,), the parameters (np,) and the inputs, from which the next call goes on; of N runs (n, N)."""
        raise NotImplementedError

    def _past(self) -> Any:
        """Of each event with which it ends, how large the time has been; 0 for others. () if it ends with none."""
        return ()

    def __array__(self, *_: Any, **__: Any) -> Any:
        """It has more than numbers."""
        raise TypeError(
            f"a {type(self).__name__} is not an array; pass it as initial=, or its numbers by name"
        )


def past_of(initial: Any) -> Any:
    """The events that have happened at the start of a run already, since it goes on from a run that ended with them."""
    if isinstance(initial, Continued):
        return initial._past()
    return initial.past if isinstance(initial, problem.Accepted) else ()


def continued(model: BaseModel, initial: Any, parameters: Any, inputs: Any) -> tuple[Any, Any, Any]:
    """The arguments of a run, with those of a result in the place of `initial`: given ones replace them by name."""
    if not isinstance(initial, Continued):
        return initial, parameters, inputs
    _check_model(model, initial)
    state, p, u = initial._leaves()
    if state.ndim > 1:
        raise ArgumentError("initial is an Ensemble, which begins another one; ens.rerun(i) begins one run")
    by_name = arguments.named("parameters", parameters)
    if by_name is not None:
        parameters = {**dict(zip(model.parameters, p.tolist())), **by_name}
    before = problem.parse(u, model.inputs, flags=model._input_flags)
    return (
        state,
        p if parameters is None else parameters,
        before if inputs is None else problem.changed_inputs(before, inputs, {}),
    )


def all_continued(model: BaseModel, given: dict[str, Any], drawn: tuple[str, ...] = ()) -> dict[str, Any]:
    """The arguments of many runs by kind, with those of a result in the place of `initial` where none are given.

    "past" is a further kind where there are events: see `past_of`. `drawn`: the names of what is drawn.
    """
    result = given["initial"]
    if not isinstance(result, Continued):
        return given
    _check_model(model, result)
    state, p, u = result._leaves()
    numbers = {
        name: row.item() if row.size == 1 else row for name, row in zip(model.parameters, np.asarray(p))
    }
    found: dict[str, Any] = {"initial": state, "parameters": numbers, "inputs": {}}
    named = {
        kind: arguments.named(kind, {} if given[kind] is None else given[kind])
        for kind in ("parameters", "inputs")
    }
    if named["inputs"] is not None:
        found["inputs"] = _kept(
            problem.parse(u, model.inputs, flags=model._input_flags), {*drawn, *named["inputs"]}
        )
    for kind, by_name in named.items():
        found[kind] = given[kind] if by_name is None else {**found[kind], **by_name}
    past = np.asarray(result._past())
    return {**found, "past": past} if past.any() else found


def _kept(inputs: problem.Inputs, changed: set[str]) -> dict[str, Any]:
    """The inputs of a result that are not changed, as they were given. Raises ArgumentError for numbers with rates."""
    kept = {}
    for rows in problem.with_rates(inputs.flags or (0,) * len(inputs.names)):
        name = inputs.names[rows[0]]
        if name in changed:
            continue
        spec = inputs.specs[rows[0]]
        if rows in inputs.moving or (rows[0] in inputs.signals and isinstance(spec, float)):
            raise ArgumentError(
                f"inputs: {name} has moved with its rates in the run of `initial`; give it anew"
            )
        kept[name] = spec
    return kept


def _check_model(model: BaseModel, result: Any) -> None:
    of = result.model
    if of is model or (of.digest, of.states) == (model.digest, model.states):
        return
    theirs, ours = (f"{each.name} ({each.form})" if each.form else each.name for each in (of, model))
    what = f"of {theirs}, and this model is {ours}" if theirs != ours else f"of another model {ours}"
    raise ArgumentError(
        f"initial is the {type(result).__name__} {what}; give its state by name: {', '.join(model.states)}"
    )


def last(y: Array) -> Array:
    """The last of the states (n, N) of a run. Raises ArgumentError for a run without points."""
    if not y.shape[1]:
        raise ArgumentError("initial is a run without points (t_eval is empty); give the state by name")
    return np.ascontiguousarray(y[:, -1])

"""What a call has returned, as the start of the next one: its state, with its parameters and inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from .consistency import Accepted
from .given_inputs import changed_inputs, parse

if TYPE_CHECKING:
    from ..interface.base_model import BaseModel


class Continued:
    """A result that can stand for `initial`: a run, a rest, a periodic motion, each with its `model`."""

    __slots__ = ()

    def _leaves(self) -> tuple[Array, Array, Any]:
        """The state (n,), the parameters (np,) and the inputs, from which the next call goes on."""
        raise NotImplementedError

    def _past(self) -> tuple[float, ...]:
        """Of each event with which it ends, how large the time has been; 0 for others. () if it ends with none."""
        return ()

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Ensembles, studies and batches take arrays."""
        raise TypeError(f"a {type(self).__name__} begins one run; for many, give numbers by name")


def past_of(initial: Any) -> tuple[float, ...]:
    """The events that have happened at the start of a run already, since it goes on from a run that ended with them."""
    if isinstance(initial, Continued):
        return initial._past()
    return initial.past if isinstance(initial, Accepted) else ()


def continued(model: BaseModel, initial: Any, parameters: Any, inputs: Any) -> tuple[Any, Any, Any]:
    """The arguments of a run, with those of a result in the place of `initial`: given ones replace them by name."""
    if not isinstance(initial, Continued):
        return initial, parameters, inputs
    _check_model(model, initial)
    state, p, u = initial._leaves()
    by_name = arguments.named("parameters", parameters)
    if by_name is not None:
        parameters = {**dict(zip(model.parameters, p.tolist())), **by_name}
    before = parse(u, model.inputs, flags=model._input_flags)
    return (
        state,
        p if parameters is None else parameters,
        before if inputs is None else changed_inputs(before, inputs, {}),
    )


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

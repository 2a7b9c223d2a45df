"""Quantities of a model as integrands of `scipy.integrate.quad` and `nquad`, evaluated without Python."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError, optional

from ..core._core import Integrand
from ..interface import arguments
from ..interface.messages import short
from ..model.compiled_model import CompiledModel


class _Data(ctypes.c_void_p):
    """The pointer to an integrand's data, which keeps the data alive."""

    integrand: Integrand


def scipy_integrand(
    model: CompiledModel, quantity: Any, over: Any, state: Any, parameters: Any, inputs: Any, t: float
) -> Any:
    """See `Model.to_scipy`."""
    scipy = optional("scipy", "Model.to_scipy", "scipy")
    kernel, index = _entry(model, quantity)
    places = {
        name: i for i, name in enumerate((model.independent, *model.states, *model.parameters, *model.inputs))
    }
    free = _free(over, places)
    controls, names = model._with_modes(_filled("inputs", inputs, model.inputs, free))
    u = arguments.vector("inputs", controls, names)
    model._check_modes(names[len(model.inputs) :], u[len(model.inputs) :])
    values = np.zeros(len(places) + len(model.modes))
    given = (
        [0.0 if model.independent in free else arguments.number("t", t)],
        arguments.vector("state", _filled("state", state, model.states, free), model.states),
        arguments.vector(
            "parameters", _filled("parameters", parameters, model.parameters, free), model.parameters
        ),
        u,
    )
    values[: len(places) + len(u) - len(model.inputs)] = np.concatenate(given)
    integrand = Integrand(model, kernel, index, np.array([places[name] for name in free], np.int32), values)
    data = _Data(integrand.address)
    data.integrand = integrand
    return scipy.LowLevelCallable(integrand.function, data)


def _entry(model: CompiledModel, quantity: Any) -> tuple[str, int]:
    """The kernel that computes a quantity, and where in its result it is."""
    name = arguments.plain_name(quantity)
    rates = tuple(f"der({state})" for state in model.states)
    for kernel, names in (("outputs", model.outputs), ("invariants", model._conserved), ("rhs", rates)):
        if name in names:
            return kernel, names.index(name)
    raise arguments.unknown_quantity(quantity, model.name, (*model.outputs, *model._conserved, *rates))


def _free(over: Any, places: Mapping[str, int]) -> list[str]:
    """The names of the variables of integration."""
    single = isinstance(over, str) or not isinstance(over, Sequence)
    names = [arguments.plain_name(name) for name in ([over] if single else over)]
    arguments.check_known("over", names, places)
    if not names or len(set(names)) < len(names):
        raise ArgumentError(f"over = {short(over)}; one name or several different ones are needed")
    return names


def _filled(kind: str, given: Any, names: Sequence[str], free: Sequence[str]) -> Any:
    """A dict with entries for the free variables, which it need not have; anything else unchanged."""
    by_name = arguments.named(kind, {} if given is None else given)
    if by_name is None:
        return given
    return dict.fromkeys((name for name in names if name in free), 0.0) | by_name

"""Quantities along a run with their derivatives: by name from the model's own kernels, else compiled expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError

from .. import core
from ..interface import arguments
from ..interface.arguments import Array
from ..model.derivatives import derivatives
from ..model.expressions import Expression
from ..sensitivities.differences import central

if TYPE_CHECKING:
    from ..model.compiled_model import CompiledModel


@dataclass(frozen=True)
class NamedQuantity:
    """The result `index` of a kernel, or of t, the states, the parameters and the inputs if `kernel` is None."""

    name: str
    kernel: str | None
    index: int

    def __str__(self) -> str:
        return self.name


Quantity = NamedQuantity | Expression


def quantity_of(label: str, model: CompiledModel, what: Any) -> Quantity:
    """A quantity, parameter or the time by name, or the compiled expression of them with its derivatives."""
    if arguments.name_of(what) is None:
        try:
            return Expression.with_slopes(model, what)
        except ArgumentError as error:
            raise ArgumentError(f"{label}: {error}") from None
    name = arguments.plain_name(what)
    variables = (model.independent, *model.states, *model.parameters, *model.inputs)
    for kernel, names in ((None, variables), ("outputs", model.outputs), ("invariants", model._conserved)):
        if name in names:
            found = NamedQuantity(name, kernel, names.index(name))
            _check_smooth(label, model, found)
            return found
    raise ArgumentError(f"{label}: {arguments.unknown_quantity(name, model.name, model.quantities)}")


def _check_smooth(label: str, model: CompiledModel, what: NamedQuantity) -> None:
    if what.kernel is None:
        return
    kink = core.kink_of(model, derivatives(model).backward(), what.kernel, what.index)
    if kink is not None:
        raise ArgumentError(
            f"{label}: {what} is not differentiable where {kink} switches; write it with smooth functions, such as a "
            "square instead of an absolute value"
        )


def integrand_of(what: Quantity, model: CompiledModel) -> tuple[str | None, Array | None, int]:
    """A quantity as `Trail.back` takes it."""
    if isinstance(what, Expression):
        return None, None, what.address
    lengths = {"outputs": len(model.outputs), "invariants": len(model._conserved)}
    variables = 1 + len(model.states) + len(model.parameters) + len(model.inputs)
    weights = np.zeros(variables if what.kernel is None else lengths[what.kernel])
    weights[what.index] = 1.0
    return what.kernel, weights, 0


def slope_in_time(what: Quantity, model: CompiledModel, t: Array, y: Array, p: Array, u: Array) -> float:
    """The derivative of a quantity by the time at t (1,), y (n, 1), with the state as it is."""
    if isinstance(
        what, Expression
    ):  # whose compiled derivatives leave the time out: differences of the fourth order
        h = 1e-3 * (1.0 + abs(float(t[0])))
        return float(central(lambda k: float(sampled(what, model, t + k * h, y, p, u)[0][0]), h))
    if what.kernel is None:
        return float(what.index == 0)
    weights = np.zeros(len(model.outputs if what.kernel == "outputs" else model._conserved))
    weights[what.index] = 1.0
    return float(derivatives(model).adjoint(what.kernel, float(t[0]), y[:, 0], p, u[:, 0], weights)[0])


def sampled(
    what: Quantity, model: CompiledModel, t: Array, y: Array, p: Array, u: Array
) -> tuple[Array, Array]:
    """A quantity at states y (n, T): values (T,), and the derivatives by x, p and the inputs (n + np + nu, T).

    u (nu and modes, T or 1) are the inputs and the modes of contacts.
    """
    inputs = u[: len(model.inputs)]
    if isinstance(what, Expression):
        columns = np.ascontiguousarray(y)
        rows = what.rows(model, t, columns, [p[i : i + 1] for i in range(len(p))], np.ascontiguousarray(u))
        found = rows[0], rows[1:]
    elif what.kernel is None:
        slopes = np.zeros((1 + len(y) + len(p) + len(inputs), len(t)))
        slopes[what.index] = 1.0
        rest = [np.broadcast_to(each, (len(each), len(t))) for each in (p[:, None], inputs)]
        return np.concatenate([t[None], y, *rest])[what.index], slopes[1:]
    else:
        found = core.slope_columns(model, derivatives(model).backward(), what.kernel, what.index, t, y, p, u)
    finite = np.isfinite(found[0]) & np.isfinite(found[1]).all(axis=0)
    if not finite.all():
        raise ArgumentError(
            f"{what} or one of its derivatives is not finite at t = {t[~finite][0]:.6g}: there it is not differentiable"
        )
    return found

"""Derivatives of a model's kernels by the time, the states, the parameters and the inputs, compiled on first use."""

from __future__ import annotations

from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from .. import core
from ..interface import arguments
from ..interface.arguments import Array
from ..interface.base_model import BaseModel
from ..interface.checksum import address_in
from ..interface.messages import short
from .builder import builder


def derivatives(model: Any) -> Derivatives:
    """The derivatives of a compiled model's kernels. Raises `ArgumentError` for a pure-Python model.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> found = derivatives(model)
    >>> found.variables("rhs")
    ('t', 'x', 'x_dot', 'm', 'k')
    >>> found.along("rhs", 0, {"x": 2, "x_dot": 0}, {"m": 1, "k": 4}, (), [0, 0, 0, 0, 1])  # by k: -x/m
    array([ 0., -2.])
    >>> found.adjoint("rhs", 0, {"x": 2, "x_dot": 0}, {"m": 1, "k": 4}, (), [0, 1])  # of the acceleration
    array([ 0., -4.,  0.,  8., -2.])
    """
    require_compiled("derivatives", model)
    if model._derivatives is None:
        model._derivatives = Derivatives(model)
    found: Derivatives = model._derivatives
    return found


def require_compiled(what: str, model: Any) -> None:
    """Raise `ArgumentError` for a pure-Python model, naming what needs a compiled one, and how to get that."""
    if not isinstance(model, BaseModel):
        raise ArgumentError(f"{what} needs a model, not {type(model).__name__}: compile the system first")
    if not hasattr(model, "lane_sets"):
        raise ArgumentError(
            f"{what}: {model.name} runs in pure Python, and a compiled model is needed: compile without "
            "backend='python', which takes a C compiler (gcc, clang, or pip install 'chaplygin[zig]'; the command "
            "`chaplygin doctor` says what is missing)"
        )


def lanes_for(count: int) -> int:
    """How many directions of `count` are computed together."""
    return min(core.widest_lanes(), 4 if count <= 4 else 8)


class Derivatives:
    """The kernels f(t, x, p, u) of a model with their directional and adjoint derivatives; see `derivatives`.

    The kernels are "rhs", "outputs", "invariants" (with the residuals), "guards", "contacts", "project", "correction",
    "initial" and "closure" (with the declared variables as x) and "reset_<i>" for each event i that has one, as far as
    the model has them; "closure" has no adjoint. The modes of contacts follow the inputs in u, and are constant.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._tables: dict[tuple[str, int], int] = {}
        self.variations: dict[tuple[int, bool], Any] = {}
        """Those that were made of the model; see `Variation.of`."""

    def variables(self, kernel: str) -> tuple[str, ...]:
        """What a kernel is differentiated by: the time, its x, the parameters, the inputs."""
        model = self._model
        return (model.independent, *self._x(kernel), *model.parameters, *model.inputs)

    def _x(self, kernel: str) -> tuple[str, ...]:
        entry = self._model._entries.get(kernel)  # those of resets are one there
        declared = entry is not None and entry.takes == "declared"
        names: tuple[str, ...] = self._model.declared if declared else self._model.states
        return names

    def timed(self, p: Array) -> bool:
        """Whether the independent variable is in the right-hand side or in events, also with a derivative of zero.

        It is not where a parameter that is zero, such as the amplitude of a drive, takes it out.
        """
        model = self._model
        zero = [name for name, value in zip(model.parameters, p) if value == 0]
        kernels = ["rhs", *(k for k in ("guards", "when") if k in model.kernels)]
        kernels += [f"reset_{i}" for i in model._resets]
        depends_on = builder("derivatives").depends_on
        return any(depends_on(model, kernel, model.independent, zero) for kernel in kernels)

    def along(self, kernel: str, t: float, x: Any, p: Any, u: Any, directions: Any) -> Array:
        """f_t v_0 + f_x v_x + f_p v_p + f_u v_u for v (n,), or for each column of (n, k): (length,) or (length, k).

        The n entries of v are in the order of `variables`. x, p and u are vectors or dicts.
        Raises `ArgumentError`, and `KernelError` where the equations are singular.
        """
        return self._found("along", kernel, t, x, p, u, directions)[1]

    def value_and_jacobian(self, kernel: str, v: Array) -> tuple[Array, Array]:
        """f and `jacobian` where `variables` have the values v; for loops over models without contacts.

        Nothing here is as a user gave it, so nothing is read but whether it is finite.
        """
        model = self._model
        n = len(self._x(kernel))
        x, p, u = v[1 : 1 + n], v[1 + n : len(v) - len(model.inputs)], v[len(v) - len(model.inputs) :]
        if not np.isfinite(v).all():
            self.jacobian(kernel, v[0], x, p, u)  # names what is not
        table = self._table("along")
        value, found = core.differentiated(model, table, kernel, v[0], x, p, u, np.eye(len(v)))
        return value, found

    def adjoint(self, kernel: str, t: float, x: Any, p: Any, u: Any, weights: Any) -> Array:
        """(f_t, f_x, f_p, f_u)^T w for w (length,), or for each column of (length, k): (n,) or (n, k).

        The n results are in the order of `variables`; the rest is as for `along`.
        """
        return self._found("adjoint", kernel, t, x, p, u, weights)[1]

    def jacobian(self, kernel: str, t: float, x: Any, p: Any, u: Any = ()) -> Array:
        """(f_t, f_x, f_p, f_u): a row for each result and a column for each of `variables`."""
        return self.along(kernel, t, x, p, u, np.eye(len(self.variables(kernel))))

    def address(self, kind: str, lanes: int) -> int:
        """The address of the `cg_derivatives_t`, for loops in C: `kind` "along" or "adjoint", 1, 2, 4 or 8 lanes.

        It is taken from the cache, or compiled with the flags of the model. Raises BuildError, NoCompilerError, and
        EmitError for a model without its graph file.
        """
        return self._symbol(kind, kind, lanes)

    def variational(self, lanes: int) -> int:
        """The address of the `cg_variational_t` of the model: its variational equations, and the jumps of tangents."""
        return self._symbol("along", "variational", lanes)

    def backward(self) -> int:
        """The address of the `cg_backward_t` of the model: the adjoint of its right-hand side for sweeps over runs."""
        return self._symbol("adjoint", "backward", 1)

    def _table(self, kind: str) -> int:
        """The address for calls from Python: of as many lanes as runs with a tangent for each state have."""
        return self.address(kind, lanes_for(len(self._model.states)))

    def _symbol(self, kind: str, table: str, lanes: int) -> int:
        key = table, lanes
        if key not in self._tables:
            path = builder("derivatives").build_derivatives(self._model, kind, lanes)
            self._tables[key] = address_in(path, f"{self._model.name}_{table}_{lanes}")
        return self._tables[key]

    def _found(
        self, kind: str, kernel: str, t: float, x: Any, p: Any, u: Any, given: Any
    ) -> tuple[Array, Array]:
        model = self._model
        table = self._table(kind)
        known = core.differentials(model, table)
        if kernel not in known:
            hint = arguments.nearest(str(kernel), tuple(known))
            raise ArgumentError(
                f"{short(kernel)} is not a kernel of {model.name} with derivatives; these are {', '.join(known)}{hint}"
            )
        names = self._x(kernel)
        controls, of_controls = model._with_modes(u)
        state, parameters = arguments.vector("y", x, names), arguments.vector("p", p, model.parameters)
        inputs = arguments.vector("u", controls, of_controls)
        inputs = np.concatenate([inputs, np.zeros(len(model.inputs) + len(model.modes) - len(inputs))])
        v = arguments.array("directions" if kind == "along" else "weights", given)
        _, n_given, _ = known[kernel]
        if v.ndim not in (1, 2) or v.shape[0] != n_given:
            raise ArgumentError(
                f"{model.name}.{kernel}: {'directions have' if kind == 'along' else 'weights have'} shape {v.shape}; "
                f"({n_given},) or ({n_given}, k) is needed"
            )
        moment, columns = arguments.number("t", t), arguments.wide(v)
        value, found = core.differentiated(model, table, kernel, moment, state, parameters, inputs, columns)
        return value, found if v.ndim == 2 else found[:, 0]

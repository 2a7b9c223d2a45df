"""Kernels as functions of JAX: calls of `cg_jax.c` through XLA's foreign function interface."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaplygin.errors import ArgumentError, optional

from ..interface.checksum import open_library
from ..interface.description import arguments_of
from ..model.builder import builder
from ..model.derivatives import derivatives
from .lengths import lengths

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..gradients.loss_function import LossFunction
    from ..model.compiled_model import CompiledModel

_TARGET = "chaplygin_kernel"
_added: dict[str, CompiledModel] = {}
"""The models that the library knows, by name: compiled functions of JAX refer to them until the process ends."""


def _jax() -> Any:
    return optional("jax", "Model.to_jax", "jax")


def jax_function(model: CompiledModel, kernel: str) -> Any:
    """See `Model.to_jax`."""
    entry = model._entry(kernel)
    if entry.takes == "event":
        raise ArgumentError(f"to_jax: {kernel} takes an event; JAX gets only kernels of arrays")
    _jax()
    name = _add(model)
    if kernel == "rhs":
        return _with_derivative(model, name)
    call = _call(model, name, kernel)
    arguments = [a for a in arguments_of(entry.takes) if a not in ("out", "work")]
    if "v" in arguments:
        return lambda t, x, p, v, u=(): call(t=t, x=x, p=p, u=u, v=v)
    return lambda t, x, p, u=(): call(t=t, x=x, p=p, u=u)


def _with_derivative(model: CompiledModel, name: str) -> Callable[..., Any]:
    """The right-hand side with its derivatives, as matrices that JAX can transpose: by x alone or by everything."""
    jax = _jax()

    call, jacobian = _call(model, name, "rhs"), _call(model, name, "jacobian")
    n, n_u = len(model.states), len(model.inputs)

    rhs = jax.custom_jvp(lambda t, x, p, u: call(t=t, x=x, p=p, u=u))

    def derivative(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        given = dict(zip("txpu", primals))
        zero = [isinstance(tangent, jax.custom_derivatives.SymbolicZero) for tangent in tangents]
        if zero == [True, False, True, True]:
            return rhs(*primals), jacobian(**given).reshape(n, n) @ tangents[1]
        adjoint = _call(model, _add(model, adjoint=True), "rhs", adjoint=True)
        rows = jax.vmap(lambda weights: adjoint(**given, v=weights))(jax.numpy.eye(n))
        t, x, p, u = (jax.numpy.zeros(v.shape) if none else v for v, none in zip(tangents, zero))
        return rhs(*primals), rows @ jax.numpy.concatenate([t.reshape(1), x, p, u[:n_u]])  # without modes

    rhs.defjvp(derivative, symbolic_zeros=True)
    return lambda t, x, p, u=(): rhs(*(_array(model, value) for value in (t, x, p, u)))


def _call(model: CompiledModel, name: str, kernel: str, adjoint: bool = False) -> Callable[..., Any]:
    """The call of one kernel, or of its adjoint derivatives along v, with its arguments by name."""
    jax = _jax()

    entry = model._entry(kernel)
    names = [a for a in arguments_of(entry.takes) if a not in ("out", "work")]
    sizes, length = lengths(model, entry), entry.length
    if adjoint:
        names, sizes["v"] = [*names, "v"], length
        length = len(derivatives(model).variables(kernel))
    shapes = {a: (sizes[a],) if a in sizes else () for a in names}

    def call(**given: Any) -> Any:
        arrays = [_array(model, given[a]) for a in names]
        for a, array in zip(names, arrays):
            if array.shape != shapes[a]:
                raise ArgumentError(
                    f"{model.name}.{kernel}: {a} has shape {array.shape}; {shapes[a]} is needed (jax.vmap maps over "
                    "more axes)"
                )
        shape = jax.ShapeDtypeStruct((length,), "float64")
        made = jax.ffi.ffi_call(_TARGET, shape, vmap_method="broadcast_all")
        return made(*arrays, model=name, kernel=kernel)

    return call


def _array(model: CompiledModel, value: Any) -> Any:
    jax = _jax()

    if not jax.config.jax_enable_x64:
        raise ArgumentError(
            f"to_jax: {model.name} computes in double precision: jax.config.update('jax_enable_x64', True)"
        )
    return jax.numpy.asarray(value, "float64")


def _add(model: CompiledModel, adjoint: bool = False) -> str:
    """Make a model, or its adjoint derivatives, known to the library; returns its name there.

    It is the same in every process, so that JAX can keep compiled functions. Models of one declaration differ in their
    bits only if one of them is not reproducible.
    """
    file = getattr(model.owner, "__file__", None)
    contracted = file and not builder("library").facts_of(Path(file))["reproducible"]
    name = model.digest + ("-contracted" if contracted else "") + ("-adjoint" if adjoint else "")
    if name not in _added:
        table = derivatives(model).address("adjoint", 1) if adjoint else None
        if not _library().cg_jax_add(name.encode(), ctypes.c_void_p(model.address), ctypes.c_void_p(table)):
            raise MemoryError
        _added[name] = model
    return name


@functools.cache
def _library() -> ctypes.CDLL:
    """The library of `cg_jax.c`, compiled for this JAX and registered with it."""
    jax = _jax()

    library = open_library(builder("derivatives").build_jax_library())
    jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(library.cg_jax_call), platform="cpu")
    return library


def jax_objective(objective: LossFunction) -> Any:
    """See `Objective.to_jax`."""
    jax = optional("jax", "Objective.to_jax", "jax")
    count = len(objective.names)
    shapes = jax.ShapeDtypeStruct((), "float64"), jax.ShapeDtypeStruct((count,), "float64")

    def both(values: Any) -> Any:
        return jax.pure_callback(objective, shapes, values, vmap_method="sequential")

    loss = jax.custom_vjp(lambda values: both(values)[0])
    loss.defvjp(both, lambda slopes, weight: (weight * slopes,))
    return lambda values: loss(_array(objective.model, values))

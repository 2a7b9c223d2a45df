"""Kernels and losses as functions of other packages.

JAX: calls of `cg_jax.c` through XLA's foreign function interface. numba: a wrapper with checked types and lengths
around the kernel's address. SciPy: quantities as integrands of `scipy.integrate.quad` and `nquad`, evaluated without
Python. PyTorch: losses along a run.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError, optional

from ..core._core import Integrand
from ..interface import arguments
from ..interface.checksum import open_library
from ..interface.description import KernelEntry, arguments_of
from ..interface.messages import short
from ..model.builder import builder
from ..model.compiled_model import CompiledModel
from ..model.derivatives import derivatives

if TYPE_CHECKING:
    from ..gradients.loss_function import LossFunction

_TARGET = "chaplygin_kernel"
_added: dict[str, CompiledModel] = {}
"""The models that the library knows, by name: compiled functions of JAX refer to them until the process ends."""
_TYPES: dict[str, Any] = {"event": ctypes.c_int32, "t": ctypes.c_double}
"""Arguments that are numbers; the others are pointers."""


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


def numba_function(model: CompiledModel, kernel: str) -> Any:
    """See `Model.to_numba`."""
    entry = model._entry(kernel)
    numba = optional("numba", "Model.to_numba", "numba")
    names, sizes = arguments_of(entry.takes), lengths(model, entry)
    types = [_TYPES.get(name, ctypes.c_void_p) for name in names]
    function = ctypes.CFUNCTYPE(ctypes.c_int, *types)(model.addresses[kernel])
    arrays = [name for name in names if name not in (*_TYPES, "work")]
    wrong = " or ".join(f"len({name}) != {sizes[name]}" for name in arrays)
    needed = ", ".join(f"{name}: {sizes[name]}" for name in arrays)
    scratch = (
        f"np.empty({sizes['work']})" if sizes["work"] else "out"
    )  # not touched then; empty(0) takes 0.1 us
    passed = ", ".join(name if name in _TYPES else f"{name}.ctypes" for name in names)
    text = f"""
def {kernel}({", ".join(name for name in names if name != "work")}):
    if {wrong}:
        raise ValueError("{kernel} of {model.name} takes arrays of the lengths {needed}")
    work = {scratch}
    return function({passed})
"""
    scope = {"np": np, "function": function}
    exec(text, scope)  # of names and numbers alone: the shape of the call differs from kernel to kernel
    vector = numba.float64[::1]
    numbers = {"event": numba.int32, "t": numba.float64}
    signature = numba.int32(*(numbers.get(name, vector) for name in names if name != "work"))
    return numba.njit(signature, nogil=True)(scope[kernel])


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


def torch_objective(objective: LossFunction) -> Any:
    """See `Objective.to_torch`."""
    torch = optional("torch", "Objective.to_torch", "torch")

    def forward(context: Any, values: Any) -> Any:
        value, slopes = objective(values.detach().cpu().double().numpy())
        context.save_for_backward(torch.as_tensor(slopes, dtype=values.dtype, device=values.device))
        return torch.as_tensor(value, dtype=values.dtype, device=values.device)

    def backward(context: Any, weight: Any) -> Any:
        (slopes,) = context.saved_tensors
        return weight * slopes

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    made: Any = type("Loss", (torch.autograd.Function,), methods)
    return made.apply


def lengths(model: CompiledModel, entry: KernelEntry) -> dict[str, int]:
    """The length of each array that a kernel takes, in doubles. x: the states, or the declared variables."""
    return {
        "x": len(model.declared if entry.takes == "declared" else model.states),
        "p": len(model.parameters),
        "u": len(model.inputs) + len(model.modes),
        "v": len(model.states),
        "out": entry.length,
        "work": model.n_work,
    }

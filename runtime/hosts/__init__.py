"""Models as functions of other packages: numba, SciPy, JAX, PyTorch, Gymnasium."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .jax_functions import jax_function as jax_function, jax_objective as jax_objective
    from .numba_functions import numba_function as numba_function
    from .scipy_functions import scipy_integrand as scipy_integrand
    from .torch_functions import torch_objective as torch_objective

__getattr__ = face(
    __name__,
    {
        "jax_function": ".jax_functions",
        "jax_objective": ".jax_functions",
        "numba_function": ".numba_functions",
        "scipy_integrand": ".scipy_functions",
        "torch_objective": ".torch_functions",
    },
)

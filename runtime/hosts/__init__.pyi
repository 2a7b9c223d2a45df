from .functions import (
    jax_function as jax_function,
    jax_objective as jax_objective,
    numba_function as numba_function,
    scipy_integrand as scipy_integrand,
    torch_objective as torch_objective,
)

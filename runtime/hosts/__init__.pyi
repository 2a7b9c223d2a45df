from .jax_functions import jax_function as jax_function, jax_objective as jax_objective
from .numba_functions import numba_function as numba_function
from .scipy_functions import scipy_integrand as scipy_integrand
from .torch_functions import torch_objective as torch_objective

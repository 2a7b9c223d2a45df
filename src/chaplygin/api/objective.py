"""`Objective`: what `Model.objective` returns."""

from __future__ import annotations

from typing import Any

from chaplygin.runtime import hosts
from chaplygin.runtime.gradients.loss_function import LossFunction


class Objective(LossFunction):
    """A loss as a function of the vector of the values of `names`: the loss and its gradient, shape (k,).

    `start` (k,) has the given values, `bounds` the pair of arrays (k,) that follow from assumptions such as
    ``positive=True``, infinite where there are none. Made by `Model.objective`; `docs/fitting.md` has examples.
    """

    def to_jax(self) -> Any:
        """The loss as a function of JAX of a vector (k,), which can be compiled, mapped and differentiated backward.

        Raises `MissingExtraError` without the extra ``[jax]``. JAX has to compute in double precision.
        """
        return hosts.jax_objective(self)

    def to_torch(self) -> Any:
        """The loss as a function of PyTorch of a tensor (k,), whose ``backward()`` gives the gradient.

        Raises `MissingExtraError` without the extra ``[torch]``.
        """
        return hosts.torch_objective(self)

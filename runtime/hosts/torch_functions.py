"""Losses along a run as functions of PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chaplygin.errors import optional

if TYPE_CHECKING:
    from ..gradients.loss_function import LossFunction


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

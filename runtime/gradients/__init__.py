"""Gradients of losses along runs, by the adjoint of their steps, and fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .gradient import loss_gradient as loss_gradient

__getattr__ = face(__name__, {"loss_gradient": ".gradient"})

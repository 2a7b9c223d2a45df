"""Gradients of losses along runs, by the adjoint of their steps, and fits."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

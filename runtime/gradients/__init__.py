"""Gradients of losses along runs, by the adjoint of their steps, and fits."""

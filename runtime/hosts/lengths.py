"""What a caller passes to a kernel."""

from __future__ import annotations

from ..interface.description import KernelEntry
from ..model.compiled_model import CompiledModel


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

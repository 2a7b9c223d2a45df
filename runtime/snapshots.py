"""Shared by compiled and pure-Python steppers: snapshots, and inputs that change during a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import arguments
from .base_model import BaseModel
from .errors import ArgumentError
from .inputs import Inputs, parse


@dataclass(frozen=True)
class Snapshot:
    """The complete state of a stepper at `t`: state, step control, counters, inputs. Created by `Stepper.save`."""

    t: float
    model: str
    digest: str
    method: str
    inputs: Inputs
    block: bytes
    sensitivities: tuple[str, ...] = ()


def check_snapshot(snapshot: Any, model: BaseModel, method: str, sensitivities: tuple[str, ...] = ()) -> None:
    """Reject anything that was not saved by a stepper of this model and method, with these sensitivities."""
    if not isinstance(snapshot, Snapshot):
        raise ArgumentError(f"restore needs a snapshot returned by save, not {type(snapshot).__name__}")
    if (snapshot.model, snapshot.digest, snapshot.method) != (model.name, model.digest, method):
        raise ArgumentError("the snapshot belongs to another model or method")
    if snapshot.sensitivities != sensitivities:
        raise ArgumentError(
            f"the snapshot has sensitivities by {', '.join(snapshot.sensitivities) or 'nothing'}, the stepper by "
            f"{', '.join(sensitivities) or 'nothing'}"
        )
    block, inputs = snapshot.block, snapshot.inputs
    if type(block) is not bytes or not isinstance(inputs, Inputs) or inputs.names != model.inputs:
        raise ArgumentError(
            "the snapshot is damaged: its block is not bytes, or its inputs do not belong to this model"
        )


def changed_inputs(before: Inputs, values: Any, named: Mapping[str, Any]) -> Inputs:
    """The inputs after `set_inputs`: a vector replaces all of them, a dict or keywords only the named ones."""
    names = before.names
    given = arguments.named("inputs", {} if values is None else values)
    if given is None:
        if named:
            raise ArgumentError("set_inputs takes a vector or names, not both")
        return parse(values, names, flags=before.flags)
    changed = given | dict(named)
    unknown = [name for name in changed if name not in names]
    if unknown:
        arguments.check_names("inputs", unknown, names)
    flags = tuple(bits for name, bits in zip(names, before.flags) if name in changed)
    part = parse(changed, tuple(name for name in names if name in changed), flags=flags)
    numbers, signals, functions = before.values.copy(), dict(before.signals), dict(before.functions)
    for position, name in enumerate(part.names):
        index = names.index(name)
        signals.pop(index, None)
        functions.pop(index, None)
        numbers[index] = part.values[position]
        if position in part.signals:
            signals[index] = part.signals[position]
        if position in part.functions:
            functions[index] = part.functions[position]
    return Inputs(names, numbers, signals, functions, before.flags)

"""What a compiled model says of itself: its variables, kernels and methods."""

from __future__ import annotations

from typing import NamedTuple

KINDS = tuple(
    "coordinate velocity parameter input declared output reaction invariant residual guard mode".split()
)
"""Kinds of named quantities, in the order of `enum cg_kind` in chaplygin.h."""

TAKES = ("state", "direction", "declared", "event")
"""What a kernel takes, in the order of `enum cg_takes` in chaplygin.h."""


def arguments_of(takes: str) -> list[str]:
    """The arguments of a kernel by what it takes, in the order of its type in chaplygin.h."""
    return [
        *["event"] * (takes == "event"),
        "t",
        "x",
        "p",
        "u",
        *["v"] * (takes == "direction"),
        "out",
        "work",
    ]


class KernelEntry(NamedTuple):
    """A kernel: its name, what its result is, what it takes (one of `TAKES`), and the length of its result."""

    name: str
    text: str
    takes: str
    length: int


class Variable(NamedTuple):
    """A named quantity: its kind (one of `KINDS`), unit, description and example (or NaN).

    `flags`: its assumptions; see `chaplygin.runtime.interface.assumptions`.
    """

    name: str
    kind: str
    unit: str = ""
    description: str = ""
    example: float = float("nan")
    flags: int = 0


OF_LEAST_NORM = "multiplier; of least norm"
"""How the description of a multiplier begins that redundant constraints do not determine."""


class Method(NamedTuple):
    """An integration method: its name, a few words about it, its order, and what it needs."""

    name: str
    summary: str
    order: int
    adaptive: bool = True
    """Whether it controls its steps by tolerances; otherwise it takes a fixed step."""
    implicit: bool = False
    """Whether it needs the model's Jacobian."""

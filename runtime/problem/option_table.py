"""The options of a run: the one table of their names, types, defaults and meanings.

A row is all that a new option needs, apart from the code that uses it. Signatures and docstrings of what runs a model,
the command line and `RunOptions` follow from the rows; a test compares the comments of `cg_run_t` and the binding with
them. Every option applies to runs of every kind: single ones, steppers, batches, ensembles, studies, sensitivities,
gradients; what a kind of run cannot do with some value is refused there.
"""

from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypedDict

from ..interface.limits import DEFAULT_METHODS


class Option(NamedTuple):
    """A row of the table. `meaning` is one line, for docstrings, help texts and the comments in C."""

    default: Any
    meaning: str
    text: Callable[[str], Any] = float
    """Reads a value on the command line; bool: a switch that is on if it is named."""
    kinds: str = ""
    """What it can be, if the type does not say so."""
    left_out: str = ""
    """What None stands for."""
    choices: Mapping[str | None, int] | None = None
    """All that it can be, and the number of each in C."""
    elsewhere: Mapping[str, Any] = MappingProxyType({})
    """The defaults of some functions, by name, in place of `default`."""
    member: str = ""
    """The member of `cg_run_t` that C code reads."""


class RunKeywords(TypedDict, total=False):
    """The options of a run, for functions that take them as keywords: a row each."""

    method: Annotated[
        str | None,
        Option(
            None,
            "name of one of the methods of the model",
            text=str,
            left_out=DEFAULT_METHODS,
        ),
    ]
    rtol: Annotated[float, Option(1e-9, "relative tolerance", elsewhere={"periodic": 1e-12}, member="rtol")]
    atol: Annotated[
        Any,
        Option(
            1e-9,
            "absolute tolerance of each state",
            kinds="a number, a vector or a dict by state",
            elsewhere={"periodic": 1e-12},
            member="atol",
        ),
    ]
    max_step: Annotated[float, Option(inf, "length of the longest step", member="max_step")]
    first_step: Annotated[
        float | None,
        Option(None, "length of the first step", left_out="chosen automatically", member="first_step"),
    ]
    step: Annotated[
        float | None, Option(None, "length of the steps of a fixed-step method", member="first_step")
    ]
    max_steps: Annotated[
        int,
        Option(
            10_000_000,
            "most trial steps, accepted and rejected, of a run or of one advance",
            text=int,
            elsewhere={"stepper": 2**61},
            member="max_steps",
        ),
    ]
    at_samples: Annotated[
        bool,
        Option(
            True,
            "end steps at the samples of inputs",
            text=bool,
            kinds="False: fixed steps pass them",
            member="passes",
        ),
    ]
    kinks: Annotated[bool, Option(False, "end a step at each kink of the equations too", text=bool)]
    paradox: Annotated[
        str,
        Option(
            "stop",
            "what to do if contacts allow several modes",
            text=str,
            choices={"stop": 0, "keep": 1, "stick_first": 2},
        ),
    ]
    project: Annotated[
        str | None,
        Option(
            "constraints",
            "move ends of steps back onto constraints, or (all) onto invariants of coordinates too",
            text=str,
            choices={"constraints": 1, "all": 2, None: 0},
            member="projection",
        ),
    ]


OPTIONS: dict[str, Option] = {name: row.__metadata__[0] for name, row in RunKeywords.__annotations__.items()}


def defaults_of(function: str) -> dict[str, Any]:
    """The defaults of the options of a function of that name."""
    return {name: row.elsewhere.get(function, row.default) for name, row in OPTIONS.items()}


def explained(name: str) -> str:
    """What an option means, and what it can be."""
    row = OPTIONS[name]
    more = said(row.choices) if row.choices else row.kinds or (row.left_out and f"None: {row.left_out}")
    return f"{row.meaning} ({more})" if more else row.meaning


def said(choices: Mapping[str | None, int]) -> str:
    """All of them, in words."""
    words = [repr(choice) for choice in choices if choice is not None]
    return f"{', '.join(words)} or None" if None in choices else f"one of {', '.join(words)}"

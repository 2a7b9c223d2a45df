"""How to run a model: the options of the table with their checks, and functions that take them as keywords."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from textwrap import fill
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from chaplygin.errors import ArgumentError, warn_caller

from ..interface import arguments
from ..interface.arguments import Array
from .option_table import OPTIONS, RunKeywords, defaults_of, explained, said

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..interface.base_model import BaseModel

Called = TypeVar("Called", bound=Callable[..., Any])

SMALLEST_RTOL = 100 * sys.float_info.epsilon


class StepOptions(NamedTuple):
    """Limits of the steps of a run. `first` is the step of a fixed-step method, and 0 if it is chosen automatically."""

    first: float
    largest: float
    limit: int


_EXPLAINED = "\n".join(
    fill(f"{name}: {explained(name)}", 110, initial_indent=4 * " ", subsequent_indent=8 * " ")
    for name in OPTIONS
)
_VALUES = defaults_of("")


class RunOptions(SimpleNamespace):
    """The options of a run as attributes, by the names of the table; those that are left out have its defaults.

    Frozen; docs/runs.md says more of each. The values are as given until `checked`, which also chooses the method if
    none is given.

    >>> RunOptions(rtol=1e-6).steps(adaptive=True)
    StepOptions(first=0.0, largest=inf, limit=10000000)
    """

    def __init__(self, **given: Unpack[RunKeywords]) -> None:
        if not given.keys() <= OPTIONS.keys():
            raise unknown(type(self), given)
        super().__init__(**{**_VALUES, **given})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"options are frozen; take changed({name}=...)")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("options are frozen")

    def changed(self, **others: Unpack[RunKeywords]) -> RunOptions:
        """The same options but for some."""
        return RunOptions(**{**vars(self), **others})

    def with_method(self, model: BaseModel) -> RunOptions:
        """The options with a method: if none is given, the default one of a model for these tolerances.

        Raises `ArgumentError` for a method that the model does not have, and for wrong tolerances.
        """
        if self.method is None:
            return self.changed(method=model.default_method(self.rtol, self.atol))
        if not isinstance(self.method, str) or self.method not in model.methods:
            raise arguments.unknown_method(self.method, model.methods)
        return self

    def checked(self, model: BaseModel) -> RunOptions:
        """The options for a model, with a method; `atol` is a number or a vector by state.

        Raises `ArgumentError` naming the option that is wrong. The options that concern steps are left to `steps`.
        """
        last = model._options_checked
        if last is not None and last[0] is self:  # mostly the defaults of a function
            return last[1]  # type: ignore[no-any-return]
        chosen = self.with_method(model)
        for name in CHOSEN:
            code(name, getattr(self, name))
        kinks = arguments.boolean("kinks", self.kinks)
        rtol, atol = self.rtol, self.atol
        plain = type(rtol) is type(atol) is float and SMALLEST_RTOL <= rtol < math.inf and 0 < atol < math.inf
        if plain and kinks is self.kinks:
            model._options_checked = self, chosen
            return chosen
        rtol, atol = self.tolerances(model.states)
        return chosen.changed(rtol=rtol, atol=atol, kinks=kinks)

    def ready(self, model: BaseModel) -> RunOptions:
        """As `checked`, and the options that concern steps fit the method."""
        found = self.checked(model)
        found.steps(model.methods[found.method].adaptive)
        return found

    def tolerances(self, states: Sequence[str]) -> tuple[float, Array]:
        """`rtol`, and `atol` as a vector by state.

        As in `solve_ivp`, an `rtol` too small for float64 is raised, with a warning; with 0 only `atol` applies.
        """
        rtol, atol = arguments.number("rtol", self.rtol), self.absolute_tolerances(states)
        if rtol < 0:
            raise ArgumentError("rtol and atol must not be negative")
        if rtol == 0 and (atol == 0).any():
            name = states[int(np.flatnonzero(atol == 0)[0])]
            raise ArgumentError(f"rtol and atol of {name} are both zero; no step can satisfy them")
        if 0 < rtol < SMALLEST_RTOL:
            warn_caller(f"rtol = {rtol:g} is too small for float64; using {SMALLEST_RTOL:.2g}")
            rtol = SMALLEST_RTOL
        return rtol, atol

    @property
    def smallest_atol(self) -> float:
        """The smallest absolute tolerance of checked options."""
        return self.atol if type(self.atol) is float else float(np.min(self.atol))

    def absolute_tolerances(self, states: Sequence[str]) -> Array:
        """`atol` as a vector by state."""
        atol = self.atol
        if isinstance(atol, (Mapping, list, tuple)) or (isinstance(atol, np.ndarray) and atol.ndim > 0):
            absolute = arguments.vector("atol", atol, states)
        else:
            absolute = np.full(len(states), arguments.number("atol", atol))
        if (absolute < 0).any():
            raise ArgumentError("rtol and atol must not be negative")
        return absolute

    def steps(self, adaptive: bool) -> StepOptions:
        """The limits of the steps, for a method that adapts them or for one with a fixed step."""
        largest = arguments.positive_number("max_step", self.max_step, finite=False)
        limit = self.max_steps
        if not arguments.is_integer(limit) or not 1 <= limit < 2**62:
            raise ArgumentError(f"max_steps = {arguments.short(limit)} must be a positive integer")
        if not arguments.boolean("at_samples", self.at_samples) and adaptive:
            raise ArgumentError(
                "at_samples=False is for fixed-step methods; this method is adaptive, and its steps end at the samples"
            )
        if adaptive and self.step is not None:
            raise ArgumentError(
                "step is for fixed-step methods; this method is adaptive: use first_step or max_step"
            )
        name = "first_step" if self.step is None else "step"
        first, given = 0.0, getattr(self, name)
        if given is not None:
            first = arguments.positive_number(name, given)
        elif not adaptive and math.isinf(largest):
            raise ArgumentError("this is a fixed-step method: give step=")
        return StepOptions(first, largest, int(limit))


DEFAULTS = RunOptions()
CHOSEN = tuple(name for name, row in OPTIONS.items() if row.choices)
GRADIENT_MEMORY = 2**28
"""Bytes for the states of a run and their derivatives, above which a gradient takes some of its steps again."""


def code(name: str, value: Any) -> int:
    """The number that C code has for the value of an option with choices."""
    choices = OPTIONS[name].choices or {}
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise ArgumentError(f"{name} = {arguments.short(value)} must be {said(choices)}")
    return choices[value]


def corrects(model: Any, project: str | None) -> str | None:
    """The kernel of a model that moves states back to what `project` names; None if nothing is to be moved."""
    for wanted, kernel in (("all", "correction_all"), ("constraints", "correction")):
        if project in (wanted, "all") and kernel in model.kernels:
            return kernel
    return None


@cache
def _defaults(function: str) -> RunOptions:
    return RunOptions(**defaults_of(function))


def of_call(function: Callable[..., Any], given: Any) -> RunOptions:
    """The options among the keywords of a call of `function`, which is decorated by `shown`."""
    defaults = _defaults(function.__name__)
    if not given:
        return defaults
    if not given.keys() <= OPTIONS.keys():
        raise unknown(function, given)
    return defaults.changed(**given)


def of_others(function: Callable[..., Any], given: Mapping[str, Any]) -> RunOptions:
    """The options among all the keywords of a call of `function`, its own ones included."""
    own = inspect.signature(function).parameters.keys() - OPTIONS.keys()
    return of_call(function, {name: value for name, value in given.items() if name not in own})


_ELSEWHERE = {
    **dict.fromkeys(("y0", "x0", "state", "state0"), "initial"),
    **dict.fromkeys(("args", "p", "params"), "parameters"),
    **dict.fromkeys(("u", "controls"), "inputs"),
    **dict.fromkeys(("dt", "h"), "step"),
    "solver": "method",
    "tol": "rtol",
}
"""What SciPy and others call an argument."""


def unknown(function: Callable[..., Any], given: Iterable[str]) -> TypeError:
    """The error for unknown keywords, as Python's own, with the name that was probably meant."""
    name = next(name for name in given if name not in OPTIONS)
    known = list(inspect.signature(function).parameters)
    here = _ELSEWHERE.get(name)
    steps = " with method='rk4', of fixed steps, or max_step" if here == "step" else ""
    hint = f"; did you mean {here}{steps}?" if here in known else arguments.nearest(name, known)
    return TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")


_TYPES = {name: inspect.formatannotation(row.__origin__) for name, row in RunKeywords.__annotations__.items()}
"""As signatures show them."""


def shown(function: Called) -> Called:
    """Decorator: `help` and completion list the options with their defaults and meanings, in place of ``**options``."""
    own, defaults = inspect.signature(function), defaults_of(function.__name__)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_TYPES[name])
        for name, default in defaults.items()
    ]
    kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    function.__signature__ = own.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    if function.__doc__ is not None:  # as with python -OO
        function.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n\nOptions of the run:\n\n{_EXPLAINED}"
    return function

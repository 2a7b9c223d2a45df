"""The options of a run: the one home of their names, defaults and checks.

`RunOptions` is what `integrate`, `stepper` and `ensemble` take as keywords, compiled or in pure Python. A new option is
a field there, its type in `RunKeywords`, and the place that uses it.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeVar

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array

if TYPE_CHECKING:
    from ..interface.base_model import BaseModel

RULES = ("stop", "keep", "stick_first")
"""What to do if several contact modes fit; the indices are those of cg_paradox_rule in cg_events.h."""


def rule(paradox: Any) -> int:
    """The number of a paradox rule."""
    if not isinstance(paradox, str) or paradox not in RULES:
        raise ArgumentError(
            f"paradox = {arguments.short(paradox)} must be one of {', '.join(map(repr, RULES))}"
        )
    return RULES.index(paradox)


Called = TypeVar("Called", bound=Callable[..., Any])

SMALLEST_RTOL = 100 * float(np.finfo(np.float64).eps)


class Steps(NamedTuple):
    """Limits of the steps of a run. `first` is the step of a fixed-step method, and 0 if it is chosen automatically."""

    first: float
    largest: float
    limit: int


@dataclass(frozen=True)
class RunOptions:
    """How to run a model; docs/runs.md says what each option means.

    `atol` is a number, a vector, or a dict by state. The values are as given until `checked`.

    >>> RunOptions(rtol=1e-6).steps(adaptive=True)
    Steps(first=0.0, largest=inf, limit=10000000)
    """

    method: str | None = None
    rtol: float = 1e-9
    atol: Any = 1e-9
    max_step: float = math.inf
    first_step: float | None = None
    step: float | None = None
    max_steps: int = 10_000_000
    kinks: bool = False
    paradox: str = "stop"
    project: str | None = "constraints"

    def with_method(self, model: BaseModel) -> RunOptions:
        """The options with a method: if none is given, the default one of a model for these tolerances.

        Raises `ArgumentError` for a method that the model does not have, and for wrong tolerances.
        """
        if self.method is None:
            return replace(self, method=model.default_method(self.rtol, self.atol))
        if not isinstance(self.method, str) or self.method not in model.methods:
            raise arguments.unknown_method(self.method, model.methods)
        return self

    def checked(self, model: BaseModel) -> RunOptions:
        """The options for a model, with a method; `atol` is a number or a vector by state.

        Raises `ArgumentError` naming the option that is wrong. The options that concern steps are left to `steps`.
        """
        chosen = self.with_method(model)
        rule(self.paradox)
        projection(self.project)
        kinks = arguments.boolean("kinks", self.kinks)
        rtol, atol = self.rtol, self.atol
        plain = type(rtol) is type(atol) is float and SMALLEST_RTOL <= rtol < math.inf and 0 < atol < math.inf
        if plain and kinks is self.kinks:
            return chosen
        rtol, atol = self.tolerances(model.states)
        return replace(chosen, rtol=rtol, atol=atol, kinks=kinks)

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
            warnings.warn(
                f"rtol = {rtol:g} is too small for float64; using {SMALLEST_RTOL:.2g}",
                RuntimeWarning,
                stacklevel=2,
            )
            rtol = SMALLEST_RTOL
        return rtol, atol

    @property
    def chosen(self) -> str:
        """The method of checked options."""
        if self.method is None:
            raise AssertionError("these options have not been checked")
        return self.method

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

    def steps(self, adaptive: bool) -> Steps:
        """The limits of the steps, for a method that adapts them or for one with a fixed step."""
        largest = arguments.number("max_step", self.max_step, finite=False)
        if not largest > 0:
            raise ArgumentError(f"max_step = {largest} must be positive")
        limit = self.max_steps
        if not arguments.is_integer(limit) or not 1 <= limit < 2**62:
            raise ArgumentError(f"max_steps = {arguments.short(limit)} must be a positive integer")
        if adaptive and self.step is not None:
            raise ArgumentError(
                "step is for fixed-step methods; this method is adaptive: use first_step or max_step"
            )
        name = "first_step" if self.step is None else "step"
        first, given = 0.0, getattr(self, name)
        if given is not None:
            first = arguments.number(name, given)
            if not first > 0:
                raise ArgumentError(f"{name} = {first} must be positive")
        elif not adaptive and math.isinf(largest):
            raise ArgumentError("this is a fixed-step method: give step=")
        return Steps(first, largest, int(limit))


PROJECTIONS = {"constraints": 1, "all": 2}

DEFAULTS = RunOptions()
STEPPER = RunOptions(max_steps=2**61)
"""The defaults of a stepper: its caller decides how long it runs."""
PERIODIC = RunOptions(rtol=1e-12, atol=1e-12)
"""The defaults of a search for periodic motions."""
GRADIENT_MEMORY = 2**28
"""Bytes for the states of a run and their derivatives, above which a gradient takes some of its steps again."""


class RunKeywords(TypedDict, total=False):
    """`RunOptions` as keywords of a function, for type checkers and editors, which cannot derive it."""

    method: str | None
    rtol: float
    atol: Any
    max_step: float
    first_step: float | None
    step: float | None
    max_steps: int
    kinks: bool
    paradox: str
    project: str | None


def projection(project: Any) -> int:
    """The number of a value of `project`, as of cg_projection in cg_run.h."""
    if project is None:
        return 0
    if not isinstance(project, str) or project not in PROJECTIONS:
        raise ArgumentError(f"project = {arguments.short(project)} must be 'constraints', 'all' or None")
    return PROJECTIONS[project]


def corrects(model: Any, project: str | None) -> str | None:
    """The kernel of a model that moves states back to what `project` names; None if nothing is to be moved."""
    for wanted, kernel in (("all", "correction_all"), ("constraints", "correction")):
        if project in (wanted, "all") and kernel in model.kernels:
            return kernel
    return None


def of_call(function: Callable[..., Any], given: Any, defaults: RunOptions = DEFAULTS) -> RunOptions:
    """The options among the keywords of a call of `function`, which is decorated by `shown`."""
    if not given:
        return defaults
    if not given.keys() <= vars(defaults).keys():
        raise unknown(function, given)
    return RunOptions(**{**vars(defaults), **given})


def of_others(function: Callable[..., Any], given: Mapping[str, Any]) -> RunOptions:
    """The options among all the keywords of a call of `function`, its own ones included."""
    own = inspect.signature(function).parameters.keys() - vars(DEFAULTS).keys()
    return of_call(function, {name: value for name, value in given.items() if name not in own})


def unknown(function: Callable[..., Any], given: Iterable[str]) -> TypeError:
    """The error for unknown keywords, as Python's own, with the name that was probably meant."""
    name = next(name for name in given if name not in vars(DEFAULTS))
    hint = arguments.nearest(name, list(inspect.signature(function).parameters))
    return TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")


def shown(defaults: RunOptions = DEFAULTS) -> Callable[[Called], Called]:
    """Decorator: `help` and completion list the options with their defaults, in place of ``**options``."""

    def with_signature(function: Called) -> Called:
        own = inspect.signature(function)
        options = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=getattr(defaults, field.name),
                annotation=field.type,
            )
            for field in fields(RunOptions)
        ]
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        function.__signature__ = own.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
        return function

    return with_signature

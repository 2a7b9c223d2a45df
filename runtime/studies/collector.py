"""`Collector`: what every entry of `collect` has, and the quantities that it names, checked before anything runs.

An entry makes a part of each chunk of trajectories (`part`), adds parts in the order of the trajectories (`add`), and
turns their sum into the result (`result`).

A quantity is anything that ``ens[name]`` gives or a parameter, by name or as a symbol, a SymPy expression of such
names, or an integral or extreme along the trajectory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..model.expressions import Expression
from ..statistics.views import View
from .chunk import Chunk
from .observed import Condition, Observed

Own = TypeVar("Own", bound="Collector")


@dataclass(frozen=True, eq=False)
class Collector(ABC):
    """An entry of `collect`; `what`: quantities by name; `at`: times (T,), None for the end."""

    what: tuple[Any, ...]
    at: Any = None
    view: ClassVar[type[View]] = View
    """How pictures, tables and datasets see the result."""
    estimate: ClassVar[str] = ""
    """The attribute of the result with the numbers of which its `interval` has the confidence intervals."""
    alone: ClassVar[bool] = False
    """Whether it is of exactly one quantity."""
    timed: ClassVar[bool] = True
    """Whether it can be at given times."""
    finite: ClassVar[bool] = True
    """Whether a trajectory fails where one of the quantities is not finite."""

    def bound(self: Own, entry: str, model: Any, t_span: tuple[float, float]) -> Own:
        """The entry with its arguments checked for a model; raises ArgumentError naming `entry`."""
        what = tuple(self._quantity(f"collect: {entry}", model, each) for each in self.what)
        return replace(self, what=what).checked(entry, t_span)

    def checked(self: Own, entry: str, t_span: tuple[float, float]) -> Own:
        """The entry with its numbers checked; raises ArgumentError naming `entry`."""
        if len(set(self.names)) < len(self.names):
            raise ArgumentError(f"collect: {entry}: {', '.join(self.names)} must be different quantities")
        if self.at is None:
            return self
        moments = np.atleast_1d(arguments.array(f"collect: {entry}: times", self.at))
        if not moments.size:
            raise ArgumentError(f"collect: {entry}: at least one time is needed")
        return replace(self, at=arguments.times(f"collect: {entry}: times", moments, *t_span))

    def _quantity(self, entry: str, model: Any, what: Any) -> str | Expression | Observed | Condition:
        """The name of a quantity, or its expression, which is compiled before anything runs."""
        if isinstance(what, (Observed, Condition)):
            if self.at is not None:
                raise ArgumentError(f"{entry}: {what} is one number for each trajectory; leave the times out")
            return what.bound(entry, model)
        name = arguments.name_of(what)
        if name is not None:
            self._check(entry, model, name)
            return name
        if not hasattr(what, "free_symbols"):
            raise ArgumentError(f"{entry}: {arguments.short(what)} is not a quantity of {model.name}")
        for symbol in sorted(what.free_symbols, key=str):
            self._check_modes(entry, model, str(symbol))
        try:
            return Expression.of(model, what)
        except ArgumentError as error:
            raise ArgumentError(f"{entry}: {error}") from None

    def _check(self, entry: str, model: Any, name: str) -> None:
        known = (*model.quantities, "t", *model.parameters)
        if name not in known:
            raise ArgumentError(
                f"{entry}: {arguments.short(name)} is not a quantity of {model.name}; it has {', '.join(known)}"
                f"{arguments.nearest(name, known)}"
            )
        self._check_modes(entry, model, name)

    def _check_modes(self, entry: str, model: Any, name: str) -> None:
        if model.contacts and name in model.outputs and name not in model.states:
            raise ArgumentError(
                f"{entry}: {name} may depend on the contact modes, which an ensemble does not keep; only cg.integral, "
                "cg.peak and cg.minimum know them"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.what))

    def viewed(self, read: Callable[[], Any]) -> View:
        """A view of the result that `read` gives."""
        return self.view(self.names, self.at, read)

    @property
    def times(self) -> int:
        """T, or 1 at the end."""
        return 1 if self.at is None else len(self.at)

    @property
    def single(self) -> bool:
        """Whether the result has one number of each quantity for every trajectory."""
        return False

    @abstractmethod
    def part(self, chunk: Chunk) -> Any:
        """What a chunk contributes: arrays, and objects of them, that can be pickled."""

    @abstractmethod
    def form(self, first: int, count: int) -> Any:
        """What the part of trajectories first <= i < first + count looks like: it with a `Form` for each array."""

    @abstractmethod
    def add(self, total: Any, part: Any, first: int, count: int) -> Any:
        """`total`, None at first, with the part of the trajectories from `first` on, of a study of `count`.

        `count` may be larger than for the parts before.
        """

    @abstractmethod
    def result(self, total: Any) -> Any:
        """The result."""

    def _shaped(self, values: Any) -> Any:
        """(T, ...) as it is with times, its one entry at the end."""
        return values if self.at is not None else values[0]

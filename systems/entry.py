"""The type of a catalogue entry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from chaplygin._lazy import later

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from chaplygin.api.system import System

__all__ = ["Example", "Solver"]

np = later("numpy")

Solver = Callable[..., dict[str, list[Any]]]
"""``solve(times, parameters, initial, digits)``: mpmath numbers by state name at sorted times."""


@dataclass(frozen=True, eq=False)
class Example:
    """One system of the catalogue with everything needed to run it.

    ``parameters`` and ``initial`` are plain numbers in SI units by declared name; ``initial`` gives every
    coordinate and every velocity of the declaration, so it fits each form in ``forms`` (the first is the
    natural one); ``options`` are the options that a form needs, by the form's name. ``conserved`` names the
    declared outputs that are constant along every motion, in addition to the invariants that the derivation
    finds. The declaration is built, and SymPy imported, on first access to ``system``.

    >>> from chaplygin.systems import example
    >>> top = example("heavy_top")
    >>> top.parameters["m"], top.initial["w3"], top.forms[0]
    (2.0, 4.0, 'poincare')
    """

    name: str
    description: str
    source: str
    parameters: Mapping[str, float]
    initial: Mapping[str, float]
    t_span: tuple[float, float]
    forms: tuple[str, ...]
    build: Callable[[], System] = field(repr=False)
    conserved: tuple[str, ...] = ()
    solve: Solver | None = field(default=None, repr=False)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    large: bool = False
    """Whether a declaration takes seconds: what goes through every form of the whole catalogue leaves it out."""
    made_by: Mapping[str, Any] | None = field(default=None, repr=False)
    """The options of `example(name, ...)` that created this entry; None if it is not from the catalogue."""
    _catalogue: ClassVar[Callable[..., Example]]
    """`chaplygin.systems.example`, which sets itself here: pickles of its entries are read by it."""

    @classmethod
    def of(cls, file: str, **fields: Any) -> Example:
        """The entry of the module `file` of this folder, which tells the fields that are left out.

        They are its name, its ``PARAMETERS``, ``INITIAL``, ``system`` and ``closed_form``, and the span from 0 to 10.
        """
        there = vars(sys.modules[file])
        own = {
            "name": file.rpartition(".")[2],
            "parameters": there["PARAMETERS"],
            "initial": there.get("INITIAL"),
            "t_span": (0.0, 10.0),
            "build": there["system"],
            "solve": there.get("closed_form"),
        }
        return cls(**own | fields)

    @classmethod
    def maker(cls, file: str, **fields: Any) -> Callable[[], Example]:
        """The function `example` of a module whose entry has no options."""
        return lambda: cls.of(file, **fields)

    def __post_init__(self) -> None:
        # Copies, so that changes by a user do not affect the catalogue.
        object.__setattr__(self, "parameters", dict(self.parameters))
        object.__setattr__(self, "initial", dict(self.initial))
        object.__setattr__(self, "options", {form: dict(given) for form, given in self.options.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle an entry of the catalogue by its name and options, any other by its fields."""
        if self.made_by is None:
            return Example, tuple(getattr(self, f.name) for f in fields(self))
        return _of_catalogue, (self.name, dict(self.made_by), dict(self.parameters), dict(self.initial))

    @cached_property
    def system(self) -> System:
        """The declaration."""
        return self.build()

    @property
    def closed_form(self) -> Callable[[ArrayLike], dict[str, Any]] | None:
        """The exact motion from ``initial`` with ``parameters``, or None if it is not known.

        It takes the time since ``t_span[0]``, a number or an array of shape (N,), and returns
        ``{name: value}`` over the declared coordinates and velocities, each a float or an array of shape
        (N,).

        >>> from chaplygin.systems import example
        >>> exact = example("harmonic_oscillator").closed_form
        >>> round(exact(0.0)["x"], 12)
        1.0
        """
        if self.solve is None:
            return None
        solve = self.solve

        def closed_form(t: ArrayLike) -> dict[str, Any]:
            times = np.atleast_1d(np.asarray(t, dtype=np.float64))
            if times.ndim != 1 or not np.all(np.isfinite(times)):
                raise ValueError("closed_form: t must be a finite number or a one-dimensional array of them")
            order = np.argsort(times, kind="stable")
            motion = solve([float(times[i]) for i in order], self.parameters, self.initial, 20)
            values = {name: np.empty(times.size) for name in motion}
            for name, sequence in motion.items():
                values[name][order] = [float(value) for value in sequence]
            return {name: float(value[0]) if np.ndim(t) == 0 else value for name, value in values.items()}

        return closed_form


def _of_catalogue(
    name: str, options: Mapping[str, Any], parameters: Mapping[str, float], initial: Mapping[str, float]
) -> Example:
    return replace(Example._catalogue(name, **options), parameters=parameters, initial=initial)


def by_symbol(symbols: Iterable[Any], numbers: Mapping[str, float]) -> dict[Any, float]:
    """The numbers of these symbols, for the ``example`` of a declaration."""
    return {s: numbers[s.name] for s in symbols}


def running_integral(integrand: Callable[[Any], Any], times: Sequence[Any], panel: Any) -> list[Any]:
    """The integral of ``integrand`` from 0 to each of the sorted ``times``, at mpmath's current precision.

    Gauss-Legendre quadrature on panels no longer than ``panel``, which must be short compared with the distance
    to the integrand's nearest singularity; times before 0 are reached by integrating backward.
    """
    from mpmath import mp

    def piece(start: Any, end: Any) -> Any:
        panels = max(1, int(mp.ceil(abs(end - start) / panel)))
        return mp.quad(integrand, mp.linspace(start, end, panels + 1), method="gauss-legendre")

    results = [mp.zero] * len(times)
    forward = [i for i, t in enumerate(times) if t >= 0]
    backward = [i for i, t in enumerate(times) if t < 0][::-1]
    for indices in (forward, backward):
        reached, total = mp.zero, mp.zero
        for i in indices:
            if times[i] != reached:
                total, reached = total + piece(reached, times[i]), times[i]
            results[i] = total
    return results

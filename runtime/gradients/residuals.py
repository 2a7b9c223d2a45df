"""Residuals of runs against measured series, with their exact Jacobian, for least squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError, KernelError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.derivatives import require_compiled
from ..model.nearest import Nearest
from ..problem.given_inputs import parse
from ..problem.options import of_call
from ..sensitivities.start import check_constant
from .loss import DataSeries, series_of
from .loss_function import bounds

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..model.compiled_model import CompiledModel
    from ..problem.option_table import RunKeywords
    from ..results.solution import Solution

_PLACES = ("parameters", "initial", "inputs")


@dataclass(frozen=True)
class Measured:
    """One run with its measured series: the given numbers by place and name, and what is free in it.

    `columns` has for each free name of the run its column among all free values.
    """

    series: tuple[DataSeries, ...]
    given: Mapping[str, Mapping[str, Any]]
    free: tuple[str, ...]
    columns: tuple[int, ...]
    t_span: tuple[float, float]
    times: Array


class Residuals:
    """(quantity at t - value) / sigma of all samples (n,), as a function of the values (k,) of what is free.

    A run begins at the start on the constraints that is nearest to the given one; see `docs/sensitivities.md`.

    For ``scipy.optimize.least_squares(residuals, residuals.start, residuals.jacobian, bounds=residuals.bounds)``. The
    Jacobian (n, k) is that of the variational equations, integrated with the run. `names` has the free parameters
    first, once for all runs, then the free initial values and inputs, with several runs as ``phi[0]``, ``phi[1]``.
    """

    def __init__(
        self, model: CompiledModel, runs: Sequence[Measured], names: Sequence[str], options: RunKeywords
    ) -> None:
        self.model, self.runs, self.names, self._options = model, tuple(runs), tuple(names), options
        self.start = np.empty(len(names))
        for run in self.runs:
            for name, column in zip(run.free, run.columns):
                self.start[column] = next(run.given[p][name] for p in _PLACES if name in run.given[p])
        self.bounds = bounds(model, self.names)
        self._last: tuple[bytes, Array, Array] | None = None

    def __call__(self, values: Any) -> Array:
        """The residuals (n,), infinite where a run fails."""
        return self._at(values)[0]

    def jacobian(self, values: Any) -> Array:
        """Their derivatives by the values, (n, k)."""
        return self._at(values)[1]

    def _at(self, values: Any) -> tuple[Array, Array]:
        point = arguments.vector("values", values, self.names)
        last = self._last  # of whatever thread; it is replaced as a whole
        if last is None or last[0] != point.tobytes():
            parts = [self._of(run, point) for run in self.runs]
            off, slopes = (np.concatenate(rows) for rows in zip(*parts))
            self._last = last = point.tobytes(), off, slopes
        return last[1].copy(), last[2].copy()

    def _of(self, run: Measured, point: Array) -> tuple[Array, Array]:
        count = sum(len(s.times) for s in run.series)
        slopes = np.zeros((count, len(self.names)))
        try:
            solution = self.solution(run, point, sensitivities=run.free)
        except KernelError:  # no start satisfies the constraints
            return np.full(count, np.inf), slopes
        if solution.status < 0 or len(solution.t) < len(run.times):
            return np.full(count, np.inf), slopes
        sensitivity = solution.sensitivity
        assert sensitivity is not None  # the run was asked for it
        values, first = [], 0
        for s in run.series:
            at, name = np.searchsorted(solution.t, s.times), arguments.plain_name(s.what)
            values.append((solution[name][at] - s.values) / s.sigma)
            for free, column in zip(run.free, run.columns):
                rows = slice(first, first + len(at))
                slopes[rows, column] = sensitivity[name, free][at] / s.sigma
            first += len(at)
        return np.concatenate(values), slopes

    def solution(self, run: Measured, point: Array, t_eval: Any = None, **more: Any) -> Solution:
        """The run with free values from (k,)."""
        moved = dict(zip(run.free, point[list(run.columns)].tolist()))
        given: dict[str, Any] = {
            place: {name: moved.get(name, value) for name, value in part.items()}
            for place, part in run.given.items()
        }
        moments = run.times if t_eval is None else t_eval
        given["initial"] = Nearest.of(self.model, given["initial"])
        return self.model.integrate(run.t_span, **given, t_eval=moments, **more, **self._options)

    def check(self) -> None:
        """Raise `KernelError` if a run with the first guesses does not reach its last sample."""
        for i, run in enumerate(self.runs):
            found = self.solution(run, self.start)
            if len(found.t) == len(run.times) and found.status >= 0:
                continue
            sample, at = next((s.what, t) for s in run.series for t in s.times if not t <= found.t_reached)
            which = f"run {i} " if len(self.runs) > 1 else "the run "
            raise KernelError(
                f"fit: {which}with the first guesses {found.message}, before the sample of "
                f"{arguments.plain_name(sample)} at t = {at:.6g}; give other guesses, or leave such samples out",
                found.status,
            )


def residuals(
    model: CompiledModel,
    data: Any,
    *,
    free: Any,
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    t0: float | None = None,
    **options: Unpack[RunKeywords],
) -> Residuals:
    """The residuals of a model against measured series, as a function for ``scipy.optimize.least_squares``.

    The arguments are those of `fit`.

    >>> import chaplygin as cg
    >>> from scipy.optimize import least_squares
    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> data = {"x": ([0.5, 1.0, 1.5], [0.540302, -0.416147, -0.989992])}  # cos(2 t)
    >>> given = {"x": 1, "x_dot": 0}, {"m": 1, "k": 3}
    >>> found = cg.residuals(model, data, free=["k"], initial=given[0], parameters=given[1], t0=0)
    >>> least_squares(found, found.start, found.jacobian).x.round(4)
    array([4.])
    """
    require_compiled("fit", model)
    for name, why in (
        ("t_eval", "the times are those of the samples"),
        ("sensitivities", "they are those by free"),
    ):
        if name in options:
            raise ArgumentError(f"{name} cannot be given to a fit: {why}")
    of_call(residuals, options).ready(model)
    several = isinstance(data, (list, tuple))
    sets = list(data) if several else [data]
    if not sets:
        raise ArgumentError("data is empty; give a dict of name: (times, values) for each run")
    places = {
        place: _each(place, value, len(sets), several)
        for place, value in (("parameters", parameters), ("initial", initial), ("inputs", inputs))
    }
    wanted = _free(free, model, [{p: places[p][i] for p in _PLACES} for i in range(len(sets))])
    names = [name for name in wanted if name in model.parameters]
    runs = []
    for i, each in enumerate(sets):
        label = f"data[{i}]" if several else "data"
        own = [name for name in wanted if name not in model.parameters]
        columns = [names.index(name) for name in wanted if name in model.parameters]
        columns += range(len(names), len(names) + len(own))
        names += [f"{name}[{i}]" if several else name for name in own]
        shared = [name for name in wanted if name in model.parameters]
        given = {place: places[place][i] for place in _PLACES}
        runs.append(_measured(label, each, model, given, (*shared, *own), tuple(columns), t0))
    return Residuals(model, runs, names, options)


def _measured(
    label: str,
    data: Any,
    model: CompiledModel,
    given: Mapping[str, Mapping[str, Any]],
    free: tuple[str, ...],
    columns: tuple[int, ...],
    t0: float | None,
) -> Measured:
    begin = -np.inf if t0 is None else arguments.number("t0", t0)
    series = series_of(label, data, model, (-np.inf, np.inf))
    for s in series:
        name = arguments.plain_name(s.what)
        if name not in model.quantities:
            raise ArgumentError(f"{label}: {s.what} is an expression; declare it as an output of the system")
        if name in model.inputs:
            raise ArgumentError(
                f"{label}: {name} is an input, which a run is given; measure what follows from it"
            )
        if s.times[0] < begin:
            raise ArgumentError(
                f"{label}: {name} has a sample at t = {s.times[0]:.6g}, before t0 = {begin:.6g}"
            )
    times = np.unique(np.concatenate([s.times for s in series]))
    span = float(times[0]) if t0 is None else begin, float(times[-1])
    if not span[1] > span[0]:
        raise ArgumentError(
            f"{label}: all samples are at t = {times[-1]:.6g}, where the run begins; give t0 before it"
        )
    return Measured(tuple(series), given, free, columns, span, times)


def _each(place: str, value: Any, count: int, several: bool) -> list[dict[str, Any]]:
    """The dict of each run: one for all, or a list of one for each."""
    listed = isinstance(value, (list, tuple)) and arguments.named(place, value) is None
    found = list(value) if listed else [value] * count
    if len(found) != count or (listed and not several):
        raise ArgumentError(f"{place} has {len(found)} entries for {count} run{'s' if count > 1 else ''}")
    dicts = []
    for entry in found:
        given = arguments.named(place, {} if entry is None else entry)
        if given is None:
            raise ArgumentError(f"{place} = {arguments.short(entry)}; a dict by name is needed")
        dicts.append(given)
    return dicts


def _free(free: Any, model: CompiledModel, given: Sequence[Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """The names of what is free, each with a first guess in every run."""
    names = list(arguments.plain_names("free", free))
    known = (*model.parameters, *dict.fromkeys((*model.declared, *model.states)), *model.inputs)
    arguments.check_known("free", names, known)
    if not names or len(set(names)) < len(names):
        raise ArgumentError(f"free = {names}; one name or several different ones are needed")
    for name in names:
        if not all(any(name in run[place] for place in _PLACES) for run in given):
            place = next((p for p in ("parameters", "inputs") if name in getattr(model, p)), "initial")
            raise ArgumentError(f"free: {name} has no first guess; give it in {place}")
        for run in given:
            if name in run["inputs"]:
                check_constant("free", parse({name: run["inputs"][name]}, [name]), name)
            for place in _PLACES:
                if name in run[place]:
                    arguments.number(f"{place}: {name}", run[place][name])
    return names

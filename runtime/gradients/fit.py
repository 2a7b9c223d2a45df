"""Parameters and initial values fitted to measured series by nonlinear least squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..results.plotting import finish, labelled, new_figure, title, unit_of_time
from ..statistics.results import interval_level
from .loss_function import bounds as bounds_of
from .residuals import Residuals, residuals

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..model.compiled_model import CompiledModel
    from ..problem.option_table import RunKeywords

scipy = later("scipy")

_SAME = 1e-10
"""Ratio of the extreme singular values of the scaled Jacobian below which parameters are not told apart."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a fit of k values to n samples; ``fit[name]`` is one of the values.

    Attributes
    ----------
    names, values : what was free, and its values (k,).
    covariance : (k, k), (J^T J)^-1 with the Jacobian J of the residuals in units of sigma; times `scale`^2 if the
        standard deviations of the samples were not given.
    errors : the standard errors (k,).
    degrees : n - k, the degrees of freedom.
    scale : the root of the sum of the squared residuals over `degrees`: the estimated standard deviation of a sample,
        or, with sigma given, a number near 1 if the model explains the data.
    sigma_known : whether the standard deviations of the samples were given.
    residuals : for each run, a dict by quantity of (value of the model - sample) / sigma.
    at_bound : names of the values that ended on a bound; their errors mean little.
    n_runs : integrations with sensitivities.
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    degrees: int
    scale: float
    sigma_known: bool
    residuals: tuple[dict[str, Array], ...]
    at_bound: tuple[str, ...]
    n_runs: int
    problem: Residuals

    def __getitem__(self, name: Any) -> float:
        return float(self.values[self._index(name)])

    def _index(self, name: Any) -> int:
        key = arguments.plain_name(name)
        arguments.check_known("fit", [key], self.names)
        return self.names.index(key)

    @property
    def errors(self) -> Array:
        found: Array = np.sqrt(np.diag(self.covariance))
        return found

    @property
    def correlation(self) -> Array:
        """(k, k)."""
        found: Array = self.covariance / np.outer(self.errors, self.errors)
        return found

    def interval(self, name: Any, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of one value: Student's t, or the normal distribution if sigma is known."""
        high = 0.5 + 0.5 * interval_level(level)
        width = scipy.stats.norm.ppf(high) if self.sigma_known else scipy.stats.t.ppf(high, self.degrees)
        i = self._index(name)
        half = float(width * self.errors[i])
        return float(self.values[i]) - half, float(self.values[i]) + half

    def contains(self, values: Mapping[Any, float], level: float = 0.95) -> bool:
        """Whether the joint confidence region of the named values contains these: an ellipsoid by Fisher's F, or chi
        squared if sigma is known."""
        given = arguments.by_name("values", values)
        rows = [self._index(name) for name in given]
        off = np.array([arguments.number(name, value) for name, value in given.items()]) - self.values[rows]
        size = float(off @ np.linalg.solve(self.covariance[np.ix_(rows, rows)], off))
        k = len(rows)
        if self.sigma_known:
            return size <= float(scipy.stats.chi2.ppf(interval_level(level), k))
        return size <= k * float(scipy.stats.f.ppf(interval_level(level), k, self.degrees))

    def summary(self) -> str:
        """A table of the values with their standard errors and 95 % intervals."""
        width = max(map(len, self.names))
        lines = [f"{'':{width}}  {'value':>14} {'std. error':>12}   95 % interval"]
        for name, value, error in zip(self.names, self.values, self.errors):
            low, high = self.interval(name)
            bound = "  (on its bound)" if name in self.at_bound else ""
            lines.append(f"{name:{width}}  {value:14.8g} {error:12.3g}   {low:.6g} to {high:.6g}{bound}")
        what = "sqrt(chi^2 / degrees)" if self.sigma_known else "sigma of a sample"
        count = self.degrees + len(self.names)
        lines.append(f"{count} samples, {self.degrees} degrees of freedom, {what} {self.scale:.4g}")
        return "\n".join(lines)

    __str__ = summary

    def __repr__(self) -> str:
        parts = ", ".join(f"{n} {v:.6g} +- {e:.2g}" for n, v, e in zip(self.names, self.values, self.errors))
        return f"<Fit: {parts}>"

    def plot(self, file: Any = None, *, run: int = 0) -> Any:
        """A figure of the samples of a run and the fitted motion, one panel for each quantity; needs ``[plot]``.

        It is written to `file` if given.
        """
        if not arguments.is_integer(run) or not 0 <= run < len(self.problem.runs):
            raise ArgumentError(
                f"plot: run = {arguments.short(run)}; there are {len(self.problem.runs)}, from 0"
            )
        measured, model = self.problem.runs[run], self.problem.model
        moments = np.linspace(*measured.t_span, 500)
        solution = self.problem.solution(measured, self.values, moments)
        count = len(measured.series)
        figure = new_figure("Fit.plot", (7.0, 1.0 + 1.8 * count), file)
        panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        for panel, series in zip(panels, measured.series):
            name = arguments.plain_name(series.what)
            panel.plot(solution.t, solution[name], linewidth=1.2)
            error = series.sigma if series.known else np.full_like(series.sigma, self.scale)
            panel.errorbar(series.times, series.values, error, fmt=".", color="0.3", elinewidth=0.7)
            panel.set_ylabel(labelled(name, model.units.get(name, "")))
            panel.grid(visible=True, alpha=0.3)
        panels[-1].set_xlabel(labelled(model.along or "t", unit_of_time(model)))
        return finish(figure, title(model), file)


def fit(
    model: CompiledModel,
    data: Any,
    *,
    free: Any,
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    t0: float | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    **options: Unpack[RunKeywords],
) -> Fit:
    """Fit parameters and initial values of a model to measured series by nonlinear least squares.

    `data` is a dict of name -> (times, values) or (times, values, sigma), or a table with the times in the column "t",
    such as a data frame; for several runs at once a list of them, where `initial`, `parameters` and `inputs` can be
    lists too. `free` names parameters, which all runs share, and initial values and inputs, of which each run has its
    own. Their values in `parameters`, `initial` and `inputs` are the first guesses. The runs begin at `t0`, by default
    with their first sample. `bounds` are pairs by name; without them, those that follow from assumptions such as
    ``positive=True`` hold. The rest is as for `Model.integrate`.

    It minimises the sum of squares by ``scipy.optimize.least_squares`` with the exact Jacobian, from the variational
    equations. Covariance, intervals and regions are those of the linearised problem: G. A. F. Seber, C. J. Wild,
    Nonlinear Regression, Wiley 1989, sections 2.1 and 5.1.

    Raises `ArgumentError` naming the entry that is wrong: gaps in the data, unknown names, a missing first guess, fewer
    samples than free values, values that the data do not determine; and if there is no convergence. `KernelError` if a
    run fails with the first guesses.

    >>> import chaplygin as cg, numpy as np
    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> t = np.linspace(0, 5, 40)
    >>> x = np.cos(2 * t) + 0.01 * np.random.default_rng(1).standard_normal(40)
    >>> start = {"initial": {"x": 0.9, "x_dot": 0}, "parameters": {"m": 1, "k": 3.5}}
    >>> found = cg.fit(model, {"x": (t, x)}, free=["k", "x"], **start)
    >>> found.contains({"k": 4, "x": 1})
    True
    """
    problem = residuals(
        model, data, free=free, initial=initial, parameters=parameters, inputs=inputs, t0=t0, **options
    )
    low, high = bounds_of(model, problem.names, bounds)
    _check(problem, low, high)

    def slopes(values: Array) -> Array:
        rows = problem.jacobian(values)
        if not rows.any():  # no step leads on from here: SciPy's would be NaN
            raise ArgumentError(
                f"fit: the data do not depend on {', '.join(problem.names)} at {_listed(problem, values)}, which the "
                "search came to; give nearer first guesses, or bounds"
            )
        return rows

    # no gtol: it is compared with the gradient itself, which is small already where the samples are
    found = scipy.optimize.least_squares(
        problem,
        problem.start,
        slopes,
        bounds=(low, high),
        x_scale="jac",
        xtol=1e-12,
        ftol=1e-12,
        gtol=None,
    )
    if found.status <= 0:
        raise ArgumentError(
            f"fit: no convergence in {found.nfev} evaluations, which ended at {_listed(problem, found.x)}; give nearer "
            "first guesses, or bounds"
        )
    return _fitted(problem, found)


def _check(problem: Residuals, low: Array, high: Array) -> None:
    for name, value, least, most in zip(problem.names, problem.start, low, high):
        if not least <= value <= most:
            raise ArgumentError(
                f"free: the first guess {name} = {value:.6g} is outside its bounds, {least:g} to {most:g}"
            )
    known = {s.known for run in problem.runs for s in run.series}
    if len(known) > 1:
        raise ArgumentError("data: sigma is given for some series only; give it for all or for none")
    count = sum(len(s.times) for run in problem.runs for s in run.series)
    if count <= len(problem.names):
        samples = "1 sample" if count == 1 else f"{count} samples"
        raise ArgumentError(
            f"data: {samples} cannot determine {len(problem.names)} free values and their errors"
        )
    problem.check()
    if not problem.jacobian(problem.start).any():
        raise _flat(problem.names, " at the first guess")


def _listed(problem: Residuals, values: Array) -> str:
    return ", ".join(f"{n} = {v:.6g}" for n, v in zip(problem.names, values))


def _flat(names: Sequence[str], where: str = "") -> ArgumentError:
    return ArgumentError(f"free: the data do not depend on {', '.join(names)}{where}; leave it out of free")


def _fitted(problem: Residuals, found: Any) -> Fit:
    jacobian, off = found.jac, found.fun
    scales = np.linalg.norm(jacobian, axis=0)
    flat = [name for name, scale in zip(problem.names, scales) if not scale > 0]
    if flat:
        raise _flat(flat)
    _, singular, directions = np.linalg.svd(jacobian / scales, full_matrices=False)
    if singular[-1] < _SAME * singular[0]:
        mixed = [n for n, part in zip(problem.names, directions[-1]) if abs(part) > 0.05]
        raise ArgumentError(
            f"free: the data do not tell {', '.join(mixed)} apart; fix one of them, by leaving it out of free"
        )
    degrees = len(off) - len(problem.names)
    known = problem.runs[0].series[0].known
    scale = float(np.sqrt(off @ off / degrees))
    inverse = (directions.T / singular**2) @ directions / np.outer(scales, scales)
    parts, first = [], 0
    for run in problem.runs:
        part = {}
        for s in run.series:
            part[arguments.plain_name(s.what)] = off[first : first + len(s.times)]
            first += len(s.times)
        parts.append(part)
    return Fit(
        names=problem.names,
        values=found.x,
        covariance=inverse if known else inverse * scale**2,
        degrees=degrees,
        scale=scale,
        sigma_known=known,
        residuals=tuple(parts),
        at_bound=tuple(name for name, active in zip(problem.names, found.active_mask) if active),
        n_runs=int(found.nfev) * len(problem.runs),
        problem=problem,
    )

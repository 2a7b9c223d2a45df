"""Responses: what a run gives as a function of its uncertain numbers, for any number of them at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError, warn_caller

from ..draws.arguments import split
from ..draws.distributions import HIGHEST, LOWEST
from ..draws.draws import Plan
from ..draws.joint import JointDraw
from ..ensembles.executors import Threads
from ..ensembles.job import arrays
from ..interface import arguments
from ..interface.arguments import Array
from ..model.derivatives import require_compiled
from ..problem.options import RunOptions, of_call, shown
from .chunk import Chunk
from .collect import final
from .collector import Collector
from .job import StudyJob, observer_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..problem.option_table import RunKeywords


@dataclass(frozen=True, eq=False)
class Response:
    """Quantities of a run as a function of the d numbers that are uncertain; made by `response`.

    ``f(x)``: x (d, n) has a row for each of `names`; the result is (n,), or (k, n) for k quantities. ``f.evaluate(u)``:
    the same at the quantiles of probabilities u (n, d) in [0, 1]; the result is (n,) or (n, k). `dists`: the
    distributions, in the order of `names`. `problem`: the dict with which SALib makes the probabilities u. Runs that
    fail, or have a quantity that is not finite, are NaN, with a RuntimeWarning.
    """

    job: StudyJob
    plan: Plan
    threads: Threads

    @property
    def names(self) -> tuple[str, ...]:
        """What is uncertain, in the order of `initial`, `parameters`, `inputs`."""
        return self.plan.names

    @property
    def dists(self) -> list[Any]:
        """The distribution of each of `names`."""
        return [source.given for source in self.plan.sources]

    @property
    def problem(self) -> dict[str, Any]:
        """SALib's description of the probabilities of `names`, each uniform between 0 and 1."""
        count = len(self.names)
        return {"num_vars": count, "names": list(self.names), "bounds": [[0.0, 1.0]] * count}

    def __call__(self, x: Any) -> Array:
        table = arguments.array("x", x)
        if table.ndim != 2 or len(table) != len(self.names):
            raise ArgumentError(
                f"x has shape {table.shape}; ({len(self.names)}, n) is needed, a row for each name"
            )
        return self._answer(table)

    def evaluate(self, u: Any) -> Array:
        """The quantities at the quantiles of probabilities u (n, d): (n,), or (n, k) for k quantities."""
        given = arguments.array("u", u)
        if given.ndim != 2 or given.shape[1] != len(self.names):
            raise ArgumentError(
                f"u has shape {given.shape}; (n, {len(self.names)}) is needed, a column for each name"
            )
        for name, column, law in zip(self.names, given.T, self.dists):
            if not ((column >= 0) & (column <= 1)).all():
                raise ArgumentError(f"u: {name}: probabilities must lie between 0 and 1")
            for end, value in zip((0, 1), law.support()):
                if not np.isfinite(value) and (column == end).any():
                    raise ArgumentError(f"u: {name}: the quantile of {end} is infinite")
        table = self.plan.quantiles(np.clip(given.T, LOWEST, HIGHEST))
        return np.ascontiguousarray(self._answer(table).T)

    def _answer(self, table: Array) -> Array:
        rows, ok, _ = self.run(table)
        if not ok.all():
            warn_caller(f"{np.sum(~ok)} of {len(ok)} runs failed and are NaN")
        return rows[0] if len(rows) == 1 else rows

    def run(self, table: Array) -> tuple[Array, NDArray[np.bool_], NDArray[np.int32]]:
        """The quantities (k, n) at drawn numbers (d, n), which runs did not fail (n,), and how each ended (n,).

        Of runs that failed the quantities are NaN.
        """
        count = table.shape[1]
        given, _ = self.plan.complete(self.job.given, table)
        job = replace(self.job, count=count, given=given)
        job = replace(job, observer=observer_of(job))  # for as many lanes as so many runs take
        ensemble, _ = job.ensemble(0, count, self.threads)
        (entry,) = job.collect.values()
        chunk = Chunk(ensemble, 0, [entry])
        found = entry.result(entry.add(None, entry.part(chunk), 0, count))
        rows = list(found.values()) if isinstance(found, dict) else [found]
        return np.array(rows), chunk.ok, chunk.status

    def __repr__(self) -> str:
        (entry,) = self.job.collect.values()
        return f"<Response of {self.job.model.name}: {', '.join(entry.names)} from {', '.join(self.names)}>"


@shown
def response(
    model: Any,
    t_span: tuple[float, float],
    what: Any,
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    *,
    threads: int | None = None,
    lanes: int | None = None,
    **options: Unpack[RunKeywords],
) -> Response:
    """What a run gives as a function of its uncertain numbers, for analyses of sensitivity by other packages.

    `what`: a quantity at the end of each run (a name, a symbol, a SymPy expression, or a condition, which is 1 or 0),
    an integral or extreme along it, a list of quantities, or an entry of `collect` with one number for each run.
    `initial`, `parameters` and `inputs`: as in `ensemble`, but without arrays; those with a distribution are the
    arguments of the function, and SymPy expressions follow from them. They must be independent, so `jointly` is
    refused. The other keywords are as in `ensemble`. All runs of a call are one ensemble.

    With `scipy.stats.sobol_indices` the values are drawn from `dists`. With SALib it is the probabilities: u, uniform
    between 0 and 1, stands for the quantile of u, so that every distribution can be used, and indices are the same:

        spec = SALib.ProblemSpec(f.problem).sample_sobol(1024).evaluate(f.evaluate).analyze_sobol()

    Raises `ArgumentError` naming the wrong entry.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> from scipy import stats
    >>> start = {"x": stats.norm(1, 0.3), "x_dot": stats.norm(0, 0.4)}
    >>> f = response(model, (0, 1), "x", start, {"m": 1, "k": 1})
    >>> f([[1, 0], [0, 1]]).round(6)    # cos 1, sin 1
    array([0.540302, 0.841471])
    >>> indices = stats.sobol_indices(func=f, n=16384, dists=f.dists, rng=np.random.default_rng(1))
    >>> indices.first_order.round(2)    # in the ratio (0.3 cos 1)^2 to (0.4 sin 1)^2
    array([0.19, 0.81])
    """
    given = {"initial": initial, "parameters": parameters, "inputs": inputs}
    made = of_model(model, t_span, "what", what, given, lanes, threads, of_call(response, options))
    for source in made.plan.sources:
        if isinstance(source.given, JointDraw):
            raise ArgumentError(
                f"{source.kind}: jointly({', '.join(source.names)}) makes these dependent; a response is a function of "
                "independent numbers"
            )
        if source.law.dimensions != 1:
            raise ArgumentError(
                f"{source.kind}: {source.names[0]} has no quantiles, since it is drawn by a "
                f"{type(source.given).__name__}; a response is a function of numbers with distributions"
            )
    return made


def of_model(
    model: Any, t_span: Any, called: str, what: Any, given: Mapping[str, Any], lanes: Any, threads: Any,
    options: RunOptions, seed: Any = None,
) -> Response:  # fmt: skip
    """The response of a model, with its arguments checked, of which `what` is `called` something in the errors.

    Joint distributions are not refused.
    """
    require_compiled("a response", model)
    options = options.ready(model)
    rest, plan = split(model, dict(given), seed, "random", False)
    if plan is None or not plan.sources:
        raise ArgumentError(
            "initial, parameters, inputs: none of them has a distribution, so nothing is uncertain"
        )
    if plan.functions:
        raise ArgumentError(
            f"{', '.join(plan.functions[0])} is drawn by a function, of which it is not known how likely its numbers "
            "are; give a distribution"
        )
    plan.remedy = "Truncate the distribution"
    for name, row in arrays(rest):
        raise ArgumentError(f"{name} has shape {row.shape}; give a number or a distribution")
    entry = (
        what
        if isinstance(what, Collector)
        else final(*(what if isinstance(what, (list, tuple)) else (what,)))
    )
    if not entry.single:
        raise ArgumentError(
            f"{called}: this entry does not give one number for each run; cg.final does, without times"
        )
    try:
        job = StudyJob.of(model, t_span, 1, rest, None, options, lanes, {called: entry})
    except ArgumentError as error:
        raise ArgumentError(str(error).removeprefix("collect: ")) from None
    return Response(job, plan, Threads(threads))

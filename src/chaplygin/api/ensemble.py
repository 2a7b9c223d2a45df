"""Ensembles: many trajectories of one model, on all cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError, warn_caller
from chaplygin.runtime.draws.arguments import split
from chaplygin.runtime.draws.joint import drawn_together
from chaplygin.runtime.ensembles.ensemble import Ensemble
from chaplygin.runtime.ensembles.executors import Executor, Threads
from chaplygin.runtime.ensembles.job import EnsembleJob, number_of_trajectories
from chaplygin.runtime.ensembles.progress import Progress
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.interface.statuses import PIVOT
from chaplygin.runtime.interface.table_values import with_values
from chaplygin.runtime.model.derivatives import require_compiled
from chaplygin.runtime.problem import pivots
from chaplygin.runtime.problem.options import of_call, shown

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from chaplygin.runtime.problem.option_table import RunKeywords

    from .model import Model

OF_STUDIES = frozenset(("collect", "until", "workers", "out", "on_failure"))
"""Arguments of `study` alone."""


@shown
def ensemble(
    model: Model,
    t_span: tuple[float, float],
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    *,
    n: int | None = None,
    t_eval: Any = None,
    threads: int | None = None,
    chunk: int | None = None,
    lanes: int | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
    seed: int | None = None,
    sampling: str = "random",
    reject: bool = False,
    sensitivities: Any = None,
    sensitivity_control: bool = True,
    interpolants: Any = None,
    **options: Unpack[RunKeywords],
) -> Ensemble:
    """Integrate n trajectories of `model` over `t_span`, each with its own step control.

    `initial`, `parameters`, `inputs`: as in `integrate`, where each entry is a number, the same for all
    trajectories, an array (n,) with one for each, a frozen distribution or a `gaussian_kde` of `scipy.stats`, a
    function f(rng) that draws a number (not of inputs), or a SymPy expression of the others; a vector has shape
    (k,) or (k, n). Samples of an input have values (times,) for all trajectories or (n, times), a row for each. A
    list of dicts and ``cg.jointly(...)`` draws quantities together.
    `n`: the number of trajectories; it can be left out if an array or rows determine it.
    `t_eval`: times at which states are kept; None keeps those at the end.
    `threads`: the most threads, by default one for each core; a short ensemble uses fewer.
    `chunk`: trajectories that a thread takes at a time.
    `lanes`: trajectories that a thread runs side by side, 1, 2, 4 or 8; None chooses.
    `progress`: True shows a progress bar, None only in a terminal and if the run takes a while.
    `executor`: what runs the trajectories in place of threads; see `chaplygin.runtime.ensembles.executors`.
    `seed`: an integer from 0 to 2**64 - 1 that decides what is drawn; None takes a new one, kept in ``ens.draws.seed``.
        Where nothing is drawn it has no effect.
    `sampling`: "random", "sobol", "halton", "latin" or "antithetic".
    `reject`: True draws again what breaks a declared assumption, which is otherwise an error.
    `sensitivities`, `sensitivity_control`: as in `integrate`; see `EnsembleSensitivity`.
    `interpolants`: the values of tables that are declared without, by name: one row for all trajectories, a row for
    each, ``cg.choice(rows)``, or whatever ``cg.jointly(names, ...)`` draws several numbers from.

    Returns an `Ensemble`. It depends on neither `threads` nor `chunk`, nor, for a model compiled with
    ``reproducible=True``, on `lanes`: each trajectory has the bits of its single run. One that fails has its status and
    does not affect the others; Ctrl-C keeps those that are finished. docs/ensembles.md says more, and by which formula
    numbers are drawn. For statistics in place of all states see `study`.

    Raises `ArgumentError` naming the wrong entry, and the error of an input function that raises one.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> ens = ensemble(model, (0, 10), {"x": [0, 1, 2], "x_dot": 0}, {"m": 1, "k": 4})
    >>> ens["x"].round(6)    # 0, 1 and 2 times cos 20
    array([0.      , 0.408082, 0.816164])
    >>> ens.failed
    array([], dtype=int64)
    """
    require_compiled("ensemble", model)
    for name in options:
        if name in OF_STUDIES:
            raise ArgumentError(
                f"{name}= belongs to cg.study(...), which keeps statistics in place of every state"
            )
    how = of_call(ensemble, options)
    parameters = with_values(model, parameters, interpolants, True, drawn_together)
    given = {"initial": initial, "parameters": parameters, "inputs": inputs}
    given, plan = split(model, given, seed, sampling, reject, t_span)
    count = number_of_trajectories(n, given)
    draws = None
    if plan is not None:
        given, draws = plan.fill(given, 0, count, count)
    job = EnsembleJob.of(
        model, t_span, count, **given, t_eval=t_eval, lanes=lanes, options=how, draws=draws,
        sensitivities=sensitivities, sensitivity_control=sensitivity_control,
    )  # fmt: skip
    bar = Progress(job.count, None if progress is None else arguments.boolean("progress", progress))
    return _run(job, _executor(executor, threads, chunk), bar)


def _executor(given: Executor | None, threads: Any, chunk: Any) -> Executor:
    """What runs the trajectories: what is given, or threads."""
    if given is not None:
        if threads is not None or chunk is not None:
            raise ArgumentError("threads and chunk are not for a run with its own executor; leave them out")
        if isinstance(given, type) or not callable(getattr(given, "run", None)):
            raise ArgumentError(f"executor = {arguments.short(given)} must have a method run(part, report)")
        return given
    return Threads(threads, chunk)


def _run(job: EnsembleJob, executor: Executor, bar: Progress) -> Ensemble:
    """Check the starts of a job, have its trajectories run, and collect them."""
    model = job.model
    part = job.part()
    part.check()
    pivot = None
    if PIVOT in model._entries:
        pivot = pivots.Pivots(model, np.full(job.count, job.t_span[0]), part.x0.copy(), part.start.table())
    try:
        interrupted = executor.run(part, bar.show)
    finally:
        bar.close()
    results = part.results
    if interrupted:
        finished = results.complete(job.t_span[0])
        warn_caller(f"ensemble interrupted: {finished} of {job.count} trajectories are finished")
    if pivot is not None:
        n = len(model.states)
        for m in range(results.y.shape[1]):
            times = results.t if job.t_eval is None else np.full(job.count, job.t_eval[m])
            pivot.see(times, np.ascontiguousarray(results.y[:n, m]))
        pivot.report("trajectories")
    return Ensemble(part, interrupted)

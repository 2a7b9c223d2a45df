"""Ensembles: many trajectories of one model, on all cores."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from chaplygin.errors import ArgumentError
from chaplygin.runtime import studies
from chaplygin.runtime.draws.arguments import split
from chaplygin.runtime.ensembles.ensemble import Ensemble
from chaplygin.runtime.ensembles.executors import Executor, Threads
from chaplygin.runtime.ensembles.job import EnsembleJob, number_of_trajectories
from chaplygin.runtime.ensembles.progress import Progress
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.interface.base_model import BaseModel
from chaplygin.runtime.model.compiled_model import CompiledModel
from chaplygin.runtime.problem import pivots
from chaplygin.runtime.problem.consistency import Accuracy, check_ensemble
from chaplygin.runtime.problem.options import of_call, shown

if TYPE_CHECKING:
    from chaplygin.runtime.studies.collector import Collector
    from chaplygin.runtime.studies.precision import Precision
    from chaplygin.runtime.studies.study import Study

ON_FAILURE = ("exclude", "raise", "nan")


@overload
def ensemble(
    model: Any,
    t_span: tuple[float, float],
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    *,
    n: int | None = None,
    collect: None = None,
    **options: Any,
) -> Ensemble: ...


@overload
def ensemble(
    model: Any,
    t_span: tuple[float, float],
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    *,
    n: int | None = None,
    collect: Mapping[str, Collector],
    **options: Any,
) -> Study: ...


@overload
def ensemble(
    model: Any,
    t_span: tuple[float, float],
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    *,
    n: int | None = None,
    collect: Mapping[str, Collector] | None = None,
    until: Precision,
    **options: Any,
) -> Study: ...


@shown
def ensemble(
    model: Any,
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
    collect: Mapping[str, Collector] | None = None,
    until: Precision | None = None,
    workers: Any = None,
    out: Any = None,
    on_failure: str = "exclude",
    sensitivities: Any = None,
    sensitivity_control: bool = True,
    **options: Any,
) -> Ensemble | Study:
    """Integrate n trajectories of `model` over `t_span`, each with its own step control.

    Every entry of `initial`, `parameters` and `inputs` is either a number, the same for all trajectories, or an array
    with one number for each; a vector can have shape (k,) or (k, n). `n` can be left out if an array determines it.
    Sampled inputs and input functions are shared by all trajectories. Inputs that are not given are 0.

    An entry can also be a frozen distribution of `scipy.stats`, in either of its interfaces, or a SymPy expression of
    other parameters, states and inputs, as in ``{"m": stats.norm(1, 0.1), "J": 0.4 * m}`` with a symbol m, which is
    compiled; the numbers are then in ``ens.draws``. ``cg.jointly(names, ...)`` draws several quantities together and
    stands in a list beside the dict of the others. `seed`: an integer from 0 to 2**64 - 1; without it a new one, kept
    in ``ens.draws.seed``. `sampling`: "random", "sobol", "halton", "latin" or "antithetic". The draws of trajectory i
    depend on the seed and i alone (with "latin" also on n): with the default they are the quantiles at row i of
    ``Generator(Philox(key=seed)).random((n, K))``, where 0 becomes 2**-53 and k of the K = 4 ceil(k/4) columns are
    used, in the order of `initial`, `parameters`, `inputs`: one for each distribution, one for samples, and as many as
    names for other joint ones. Quantiles are those of SciPy to 1e-11. Draws that break a declared assumption are an
    error; ``reject=True`` draws such trajectories again, and counts them in ``ens.draws.redrawn``.

    `threads`: the maximum number of threads, by default one for each core; the calling thread is one of them, and a
    short ensemble uses no other. `lanes`: how many trajectories a thread runs side by side, 1, 2, 4 or 8; None uses the
    width of a CPU vector register if there are that many trajectories and the lanes are already compiled, and compiles
    them from 512 trajectories on. `progress`: True shows a progress bar (tqdm, or a line on stderr), None only in a
    terminal and if the run takes a while. `executor`: what runs the trajectories in place of threads; see
    `chaplygin.runtime.ensembles.executors`. The other keywords are as in `integrate`.

    Ctrl-C ends the run quickly: finished trajectories are kept, the others are NaN with status -5, and a RuntimeWarning
    is issued. A trajectory that fails does not affect the others, but an input function that raises an exception, or
    returns anything other than a finite number, ends the whole ensemble with that error. The status of a trajectory
    that ended at a terminal event is 1. ``ens[...]`` calls input functions again, except where a state is not finite:
    quantities that depend on them are NaN there.

    The result does not depend on `threads` or `chunk`, nor, for a model compiled with `reproducible=True`, on `lanes`:
    every trajectory is bit for bit that of a single run. With `reproducible=False` the last bits can differ between
    lane widths and from single runs. A trajectory that meets an event or changes a mode of contact is served alone, and
    returns to its lane. Trajectories run one at a time in each thread, and more lanes are rejected, if there are input
    functions, with `kinks` in a model that has any, with the methods "rodas5p" and "auto", and if integrals or extremes
    are collected of a model with events or contacts. Arrays of more than 16 MB are not copied: do not change them while
    the ensemble is in use (`rerun` and ``ens[...]`` read them).

    `collect`: a dict of what to keep in place of every final state, by names of your choice: `cg.final`, `cg.series`,
    `cg.table`, `cg.moments`, `cg.quantiles`, `cg.histogram`, `cg.probability`, `cg.first_passage`, `cg.events`,
    `cg.integral`, `cg.peak`, `cg.minimum`; the last three also in place of a quantity of the others, as in
    ``cg.quantiles(cg.peak(x), [0.99])`` and ``cg.probability(cg.peak(x) > 2)``. The trajectories then run in chunks,
    memory does not grow with n except by what is kept of each trajectory, and the result is a `Study` with the same
    bits whatever `threads`, `lanes` and `workers`. `until`: ``cg.precision(...)`` of
    an entry ends the study when its confidence interval is narrow enough; n is then the most that run. `workers`: a
    number of processes, a ``dask.distributed.Client``, or an executor with the interface of `concurrent.futures`; the
    model travels as its C source, which each host compiles once (see docs/cluster.md). A worker that dies costs a
    retry, and a trajectory that crashes every process, with a warning, only itself: its status is -100, "crashed". In
    threads it ends this process. `out`: a folder that keeps the part of each chunk of 65,536 trajectories as soon as it
    has run: the same call goes on where an earlier one ended, whatever ended it, and ``cg.open_study(folder)`` gives
    the results without running. Trajectories that fail are listed in `failed`, and NaN among numbers of each
    trajectory; with a warning, so are those that have a collected quantity that is NaN or infinite at a time that they
    reached: their status is -101, "quantity not finite". `on_failure`: "exclude" leaves them out of the statistics;
    with "nan" one of them makes all statistics NaN, as one NaN does in NumPy; "raise" stops with an error. A trajectory
    that ends at a terminal event has no values after it, which are left out in any case.

    `sensitivities` and `sensitivity_control` are as in `integrate`: ``ens.sensitivity["x", "m"]`` is then dx/dm of each
    trajectory, bit for bit that of its single run, shaped as ``ens["x"]`` (see `EnsembleSensitivity`). Trajectories
    with sensitivities run one at a time in each thread, since the lanes of a register hold the directions. They are not
    collected.

    Raises `ArgumentError` naming the wrong entry.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> ens = ensemble(model, (0, 10), {"x": [0, 1, 2], "x_dot": 0}, {"m": 1, "k": 4})
    >>> ens["x"].round(6)    # 0, 1 and 2 times cos 20
    array([0.      , 0.408082, 0.816164])
    >>> ens.failed
    array([], dtype=int64)
    >>> from scipy import stats
    >>> ens = ensemble(model, (0, 10), {"x": stats.norm(1, 0.1), "x_dot": 0}, {"m": 1, "k": 4}, n=1000, seed=1)
    >>> float(ens.draws["x"].mean().round(2)), float(ens["x"].std().round(2))    # 1 and 0.1 |cos 20|
    (1.0, 0.04)
    >>> import chaplygin as cg
    >>> collect = {"spread": cg.moments("x"), "low": cg.quantiles("x", 0.05)}
    >>> draws = {"x": stats.norm(1, 0.1), "x_dot": 0}
    >>> study = ensemble(model, (0, 10), draws, {"m": 1, "k": 4}, n=100_000, seed=1, collect=collect)
    >>> round(study.results["spread"].mean["x"], 3)    # cos 20
    0.408
    """
    if not isinstance(model, BaseModel):
        raise ArgumentError(f"ensemble needs a model, not {type(model).__name__}: compile the system first")
    how = of_call(ensemble, options)
    arguments.choice("on_failure", on_failure, ON_FAILURE)
    arguments.sensitivity_control(sensitivity_control, sensitivities)
    given = {"initial": initial, "parameters": parameters, "inputs": inputs}
    given, plan = split(model, given, seed, sampling, reject)
    count = number_of_trajectories(n, given)
    if collect is not None or until is not None:
        _check_collected(sensitivities, t_eval, chunk, executor)
        wanted = studies.StudyJob.of(model, t_span, count, given, plan, how, lanes, collect, until)
        return studies.run_study(wanted, threads, workers, on_failure, progress, out, seed is not None)
    if workers is not None or out is not None or on_failure != ON_FAILURE[0]:
        raise ArgumentError("workers, out and on_failure are for a run with collect; leave them out")
    draws = None
    if plan is not None:
        given, draws = plan.fill(given, 0, count, count)
    initial, parameters, inputs = given.values()
    job = EnsembleJob.of(
        model, t_span, count, initial, parameters, inputs, t_eval, lanes, how, draws,
        sensitivities=sensitivities, sensitivity_control=sensitivity_control,
    )  # fmt: skip
    bar = Progress(job.count, None if progress is None else arguments.boolean("progress", progress))
    return _run(job, _executor(model, executor, threads, chunk), bar)


def _check_collected(sensitivities: Any, t_eval: Any, chunk: Any, executor: Any) -> None:
    """Refuse what a run with collect does not take."""
    if sensitivities is not None:
        raise ArgumentError(
            "sensitivities are not collected: leave out collect, and take statistics of ens.sensitivity"
        )
    if t_eval is not None:
        raise ArgumentError("t_eval: with collect, times belong to its entries; see cg.series")
    if chunk is not None or executor is not None:
        raise ArgumentError(
            "chunk and executor are not for a run with collect, which has workers=; leave them out"
        )


def _executor(model: BaseModel, given: Executor | None, threads: Any, chunk: Any) -> Executor:
    """What runs the trajectories: what is given, or threads."""
    if given is not None:
        if threads is not None or chunk is not None:
            raise ArgumentError("threads and chunk are not for a run with its own executor; leave them out")
        if isinstance(given, type) or not callable(getattr(given, "run", None)):
            raise ArgumentError(f"executor = {arguments.short(given)} must have a method run(part, report)")
        return given
    found = Threads(threads, chunk)
    if not isinstance(model, CompiledModel):
        found.threads = 1  # pure Python holds the GIL
    return found


def _run(job: EnsembleJob, executor: Executor, bar: Progress) -> Ensemble:
    """Check the starts of a job, have its trajectories run, and collect them."""
    model = job.model
    part = job.part()
    check_ensemble(
        model,
        job.t_span[0],
        part.x0,
        part.start.parameters,
        job.inputs,
        Accuracy.of(model, job.options),
        part.start.plain,
    )
    pivot = None
    if pivots.KERNEL in model.kernels:
        pivot = pivots.Pivots(model, np.full(job.count, job.t_span[0]), part.x0.copy(), part.start.table())
    try:
        interrupted = executor.run(part, bar.show)
    finally:
        bar.close()
    results = part.results
    if interrupted:
        finished = results.complete(job.t_span[0])
        warnings.warn(
            f"ensemble interrupted: {finished} of {job.count} trajectories are finished", RuntimeWarning, 3
        )
    if pivot is not None:
        n = len(model.states)
        for m in range(results.y.shape[1]):
            times = results.t if job.t_eval is None else np.full(job.count, job.t_eval[m])
            pivot.see(times, np.ascontiguousarray(results.y[:n, m]))
        pivot.report("trajectories")
    return Ensemble(part, interrupted)

"""Ensembles: many trajectories of one model, on all cores."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arguments
from .consistency import check_ensemble, remember
from .ensemble_job import EnsembleJob
from .ensemble_result import Ensemble
from .errors import INTERRUPTED, ArgumentError
from .executors import Executor, Threads
from .lanes import await_build
from .model import Model, require_core
from .options import RunKeywords, of_call, shown
from .progress import Progress

if TYPE_CHECKING:
    from typing_extensions import Unpack


@shown()
def ensemble(
    model: Any,
    t_span: tuple[float, float],
    n: int | None = None,
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    *,
    t_eval: Any = None,
    threads: int | None = None,
    chunk: int | None = None,
    lanes: int | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
    seed: int | None = None,
    sampling: str = "random",
    reject: bool = False,
    **options: Unpack[RunKeywords],
) -> Ensemble:
    """Integrate n trajectories of `model` over `t_span`, each with its own step control.

    Every entry of `initial`, `parameters` and `inputs` is either a number, the same for all trajectories, or an array
    with one number for each; a vector can have shape (k,) or (k, n). `n` can be left out if an array determines it.
    Sampled inputs and input functions are shared by all trajectories.

    An entry can also be a frozen distribution of `scipy.stats`, in either of its interfaces; the draws are then in
    ``ens.draws``. ``cg.jointly(names, ...)`` draws several quantities together and stands in a list beside the dict of
    the others. `seed`: an integer from 0 to 2**64 - 1; without it a new one, kept in ``ens.draws.seed``. `sampling`:
    "random", "sobol", "halton", "latin" or "antithetic". The draws of trajectory i depend on the seed and i alone (with
    "latin" also on n): with the default they are the quantiles at row i of ``Generator(Philox(key=seed)).random((n,
    K))``, where 0 becomes 2**-53 and k of the K = 4 ceil(k/4) columns are used, in the order of `initial`,
    `parameters`, `inputs`: one for each distribution, one for samples, and as many as names for other joint ones.
    Quantiles are those of SciPy to 1e-11. Draws that break a declared assumption are an error; ``reject=True`` draws
    such trajectories again, and counts them in ``ens.draws.redrawn``.

    `threads`: the maximum number of threads, by default one for each core; the calling thread is one of them, and a
    short ensemble uses no other. `lanes`: how many trajectories a thread runs side by side, 1, 2, 4 or 8; None uses the
    width of a CPU vector register if there are that many trajectories and the lanes are already compiled, and compiles
    them from 512 trajectories on. `progress`: True shows a progress bar (tqdm, or a line on stderr), None only in a
    terminal and if the run takes a while. `executor`: what runs the trajectories in place of threads; see
    `chaplygin.runtime.executors`. The other keywords are as in `integrate`.

    Ctrl-C ends the run quickly: finished trajectories are kept, the others are NaN with status -5, and a RuntimeWarning
    is issued. A trajectory that fails does not affect the others, but an input function that raises an exception, or
    returns anything other than a finite number, ends the whole ensemble with that error. The status of a trajectory
    that ended at a terminal event is 1. ``ens[...]`` calls input functions again, except where a state is not finite:
    quantities that depend on them are NaN there.

    The result does not depend on `threads` or `chunk`, nor, for a model compiled with `reproducible=True`, on `lanes`:
    every trajectory is bit for bit that of a single run. With `reproducible=False` the last bits can differ between
    lane widths and from single runs. Trajectories run one at a time in each thread, and more lanes are rejected, if the
    model has events or contacts, if there are input functions, with `kinks` in a model that has any, and with the
    methods "rodas5p" and "auto". Arrays of more than 16 MB are not copied: do not change them while the ensemble is in
    use (`rerun` and ``ens[...]`` read them).

    If a model is still being built in the background (see `System.compile`), a large ensemble, or one with `lanes`,
    waits for the build to finish.

    Raises `ArgumentError` naming the wrong entry.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> ens = ensemble(model, (0, 10), 3, {"x": [0, 1, 2], "x_dot": 0}, {"m": 1, "k": 4})
    >>> ens["x"].round(6)    # 0, 1 and 2 times cos 20
    array([0.      , 0.408082, 0.816164])
    >>> ens.failed
    array([], dtype=int64)
    >>> from scipy import stats
    >>> ens = ensemble(model, (0, 10), 1000, {"x": stats.norm(1, 0.1), "x_dot": 0}, {"m": 1, "k": 4}, seed=1)
    >>> float(ens.draws["x"].mean().round(2)), float(ens["x"].std().round(2))    # 1 and 0.1 |cos 20|
    (1.0, 0.04)
    """
    job = EnsembleJob.of(
        model,
        t_span,
        n,
        initial,
        parameters,
        inputs,
        t_eval,
        lanes,
        seed,
        sampling,
        reject,
        of_call(ensemble, options),
    )
    bar = Progress(job.count, None if progress is None else arguments.boolean("progress", progress))
    if executor is None:
        executor = Threads(threads, chunk)
        if not isinstance(model, Model):
            executor.threads = 1  # pure Python holds the GIL
    elif threads is not None or chunk is not None:
        raise ArgumentError("threads and chunk are not for a run with its own executor; leave them out")
    return _run(job, executor, bar)


def _run(job: EnsembleJob, executor: Executor, bar: Progress) -> Ensemble:
    """Check the starts of a job, have its trajectories run, and collect them."""
    model = job.model
    if isinstance(model, Model):
        require_core()
        await_build(model, job.count)
    part = job.part()
    check_ensemble(model, job.t_span[0], part.start, part.x0, job.inputs, job.options.smallest_atol)
    try:
        interrupted = executor.run(part, bar.show)
    finally:
        bar.close()
    results = part.results
    if interrupted:
        results.y[:, :, results.status == INTERRUPTED] = np.nan
        finished = int((results.status != INTERRUPTED).sum())
        warnings.warn(
            f"ensemble interrupted: {finished} of {job.count} trajectories are finished", RuntimeWarning, 3
        )
    remember(model, results.y, results.t, part.start, job.inputs)
    return Ensemble(job, part.start, results, interrupted)

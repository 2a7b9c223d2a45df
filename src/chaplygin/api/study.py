"""Studies: many trajectories of one model, of which statistics are kept in place of every state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chaplygin.errors import ArgumentError
from chaplygin.runtime.draws.arguments import split
from chaplygin.runtime.draws.joint import drawn_together
from chaplygin.runtime.ensembles.job import number_of_trajectories
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.interface.table_values import with_values
from chaplygin.runtime.model.derivatives import require_compiled
from chaplygin.runtime.problem.options import of_call, shown
from chaplygin.runtime.studies.collector import Collector
from chaplygin.runtime.studies.job import StudyJob
from chaplygin.runtime.studies.precision import Precision
from chaplygin.runtime.studies.run import run_study
from chaplygin.runtime.studies.study import Study

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from chaplygin.runtime.problem.option_table import RunKeywords

    from .model import Model

ON_FAILURE = ("exclude", "raise", "nan")
OF_ENSEMBLES = {
    "t_eval": "times belong to the entries of collect, see cg.series",
    "chunk": "a study has chunks of its own",
    "executor": "a study has workers=",
    "sensitivities": "take statistics of ens.sensitivity",
    "sensitivity_control": "take statistics of ens.sensitivity",
}
"""Arguments of `ensemble` alone, and what a study has in their place."""


@shown
def study(
    model: Model,
    t_span: tuple[float, float],
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    *,
    n: int | None = None,
    collect: Mapping[str, Collector] | None = None,
    until: Precision | None = None,
    seed: int | None = None,
    sampling: str = "random",
    reject: bool = False,
    out: Any = None,
    workers: Any = None,
    threads: int | None = None,
    lanes: int | None = None,
    on_failure: str = "exclude",
    progress: bool | None = None,
    interpolants: Any = None,
    **options: Unpack[RunKeywords],
) -> Study:
    """Integrate n trajectories of `model` over `t_span`, and keep of them what `collect` names.

    `collect`: a dict of entries by names of your choice: `cg.final`, `cg.series`, `cg.table`, `cg.moments`,
    `cg.quantiles`, `cg.histogram`, `cg.probability`, `cg.first_passage`, `cg.events`, `cg.integral`, `cg.peak`,
    `cg.minimum`; the last three also in place of a quantity of the others, as in ``cg.probability(cg.peak(x) > 2)``.
    `until`: ``cg.precision(...)`` of an entry ends the study when its confidence interval is narrow enough; `n` is then
    the most that run.
    `out`: a folder that keeps each chunk as soon as it has run. The same call goes on where an earlier one ended,
    whatever ended it; ``cg.open_study(folder)`` gives the results without running.
    Ctrl-C ends the study within two seconds: trajectories that have ended count and are kept in `out`, and a warning
    says how many; a second one raises KeyboardInterrupt.
    `workers`: a number of processes, a ``dask.distributed.Client``, or an executor with the interface of
    `concurrent.futures`; None runs in threads of this process.
    `on_failure`: "exclude" leaves failed trajectories out of the statistics, "nan" makes all statistics NaN if there
    are any, "raise" stops with an error.
    `model`, `t_span`, `initial`, `parameters`, `inputs`, `n`, `seed`, `sampling`, `reject`, `threads`, `lanes`,
    `progress` and `interpolants` are as in `ensemble`.

    Returns a `Study`, with the same bits whatever `threads`, `lanes` and `workers`. Its memory does not grow with n,
    except by what entries keep of each trajectory. docs/studies.md says more.

    Raises `ArgumentError` naming the wrong entry; `StudyFolderError` for a folder of something else, `WorkerError` for
    workers that cannot run the study, `FailedTrajectoryError` with ``on_failure="raise"``.

    >>> import chaplygin as cg
    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> from scipy import stats
    >>> start = {"x": stats.norm(1, 0.1), "x_dot": 0}
    >>> collect = {"spread": cg.moments("x"), "low": cg.quantiles("x", 0.05)}
    >>> found = study(model, (0, 10), start, {"m": 1, "k": 4}, n=100_000, seed=1, collect=collect)
    >>> round(found.results["spread"].mean["x"], 3)    # cos 20
    0.408
    """
    require_compiled("study", model)
    for name in options:
        if name in OF_ENSEMBLES:
            raise ArgumentError(f"{name}= belongs to cg.ensemble(...): {OF_ENSEMBLES[name]}")
    how = of_call(study, options)
    arguments.choice("on_failure", on_failure, ON_FAILURE)
    parameters = with_values(model, parameters, interpolants, True, drawn_together)
    given = {"initial": initial, "parameters": parameters, "inputs": inputs}
    given, plan = split(model, given, seed, sampling, reject, t_span)
    count = number_of_trajectories(n, given)
    job = StudyJob.of(model, t_span, count, given, plan, how, lanes, collect, until)
    return run_study(job, threads, workers, on_failure, progress, out, seed is not None)

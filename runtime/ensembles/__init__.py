"""Many trajectories at once: ensembles and batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .batch import Batch as Batch
    from .ensemble import Ensemble as Ensemble
    from .executors import Executor as Executor, Threads as Threads
    from .job import EnsembleJob as EnsembleJob, number_of_trajectories as number_of_trajectories
    from .progress import Progress as Progress

__getattr__ = face(
    __name__,
    {
        "Batch": ".batch",
        "Ensemble": ".ensemble",
        "EnsembleJob": ".job",
        "Executor": ".executors",
        "Progress": ".progress",
        "Threads": ".executors",
        "number_of_trajectories": ".job",
    },
)

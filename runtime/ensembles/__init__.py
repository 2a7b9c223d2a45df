"""Many trajectories at once: ensembles and batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .batch import Batch as Batch
    from .executors import cores as cores
    from .job import number_of_trajectories as number_of_trajectories

__getattr__ = face(__name__, {"Batch": ".batch", "cores": ".executors", "number_of_trajectories": ".job"})

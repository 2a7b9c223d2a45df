"""Many trajectories at once: ensembles and batches."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

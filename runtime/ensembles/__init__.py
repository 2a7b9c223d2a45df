"""Many trajectories at once: ensembles and batches."""

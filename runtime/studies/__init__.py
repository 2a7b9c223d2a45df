"""Ensembles of which only statistics are kept: chunks, workers, folders; responses, rare events."""

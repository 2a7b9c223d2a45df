"""Ensembles of which only statistics are kept: chunks, workers, folders; responses, rare events."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

"""Derivatives of runs, by their variational equations."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

"""Derivatives of runs, by their variational equations."""

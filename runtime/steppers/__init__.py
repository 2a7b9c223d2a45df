"""Runs that are advanced by their caller."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

"""From distributions to arrays, the same whatever the order of work."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

"""A compiled model: loading, derivatives, expressions, lanes and inlined methods on demand."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

"""From text to a loaded model: the compiler, the cache, the libraries of a model."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

"""From a `Program` to text: C, Cython, Python, C bundles, FMUs."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

"""Models as functions of other packages: numba, SciPy, JAX, PyTorch, Gymnasium."""

from chaplygin._lazy import face

__getattr__ = face(__name__)

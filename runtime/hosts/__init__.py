"""Models as functions of other packages: numba, SciPy, JAX, PyTorch, Gymnasium."""

"""Models as functions of other numerical packages: numba, SciPy, JAX. One file each; `Model.to_numba` and its sisters
import them on first use."""

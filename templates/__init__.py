"""Templates of the emitted C and Cython, read with `importlib.resources`."""

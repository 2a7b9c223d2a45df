"""From a `Program` to text: C, Cython, Python, C bundles, FMUs."""

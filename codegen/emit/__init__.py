"""From a `Program` to text: C, Cython, Python. Imports from all rooms above but build."""

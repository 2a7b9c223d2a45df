"""Declared systems, equations, programs, sources, builds. SymPy lives here and nowhere else."""

"""In which operations and in which order a kernel computes its values: the passes, loops, statements."""

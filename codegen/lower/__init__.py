"""From equations to a `Program`: kernels ready to be printed. Imports from graph, declare and derive."""

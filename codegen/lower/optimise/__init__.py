"""The same values in fewer operations. Imports from graph, and from lower what a kernel is."""

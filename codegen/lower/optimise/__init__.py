"""The same values in fewer operations. Imports the graph and, from lower, the definition of a kernel."""

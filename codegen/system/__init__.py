"""The declared system in the graph, and whether it is regular: ranks, redundancy, branches."""

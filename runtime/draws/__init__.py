"""From distributions to arrays, the same whatever the order of work."""

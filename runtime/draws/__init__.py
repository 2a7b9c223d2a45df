"""Random and quasi-random draws for ensembles: from distributions to arrays, the same whatever the order of work."""

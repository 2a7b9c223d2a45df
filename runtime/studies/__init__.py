"""Studies: ensembles of which only statistics are kept, in memory that does not grow with their size."""

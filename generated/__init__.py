"""The emitted modules of the catalogue, committed and compiled when the package is installed."""

"""From a `Lowered` to a `Program`: in which operations and in which order each kernel computes its values."""

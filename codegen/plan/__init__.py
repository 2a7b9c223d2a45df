"""From a `Program` to a `Plan`: in which operations and in which order each kernel computes its values."""

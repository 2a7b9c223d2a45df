"""From equations to a `Program`: which values each kernel computes."""

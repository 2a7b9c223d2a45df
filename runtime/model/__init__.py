"""A compiled model: loading, derivatives, expressions, lanes and inlined methods on demand."""

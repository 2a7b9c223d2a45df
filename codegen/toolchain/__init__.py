"""From text to a loaded model: the compiler, the cache, the libraries of a model."""

"""From text to a loaded model, through the cache."""

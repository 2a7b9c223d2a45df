"""The names by which pickled models find how to load themselves."""

from .model import load_library, load_model

__all__ = ["load_library", "load_model"]

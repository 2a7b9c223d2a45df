"""Symbols, places in a declaration, and checks of single values."""

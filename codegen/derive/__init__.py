"""Equations of motion from a declaration, one file in `forms/` for each form. Imports from graph and declare."""

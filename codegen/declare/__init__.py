"""What the user declares, checked and frozen. Imports from graph."""

"""The expression graph, and what knows no mechanics. Imports nothing from the other rooms."""

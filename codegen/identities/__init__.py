"""Whether an expression is zero everywhere; knows no mechanics."""

"""Where a model rests or moves steadily, how it moves near there, and how that changes with its parameters."""

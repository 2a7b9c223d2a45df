"""Where a model rests or moves steadily, and how it moves near there."""

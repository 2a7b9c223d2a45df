"""What both halves know of a compiled model: names, kinds, statuses, arguments, messages, files."""

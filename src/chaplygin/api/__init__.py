"""The objects that users hold and their methods, each of which leads on to the next step."""

"""One embedded pair a file, as `PAIR`; the file is named after it."""

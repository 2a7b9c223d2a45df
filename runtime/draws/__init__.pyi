from .arguments import split as split

from .arguments import nearest as nearest

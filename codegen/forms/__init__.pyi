from .routh import reduced_system as reduced_system

FORMS: tuple[str, ...]

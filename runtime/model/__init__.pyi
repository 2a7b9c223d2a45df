from .compiled_model import core_available as core_available, require_core as require_core
from .projection import consistent as consistent

from .cache import ENTRY as ENTRY, cache_folder as cache_folder
from .compiler import cpu_features as cpu_features, find_compiler as find_compiler
from .library import build as build
from .model_program import program_of as program_of

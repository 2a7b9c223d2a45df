from .sensitivity import integrate as integrate
from .variation import Variation as Variation, varied as varied, varied_run as varied_run

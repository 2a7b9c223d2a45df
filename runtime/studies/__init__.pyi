from .observed import Extreme as Extreme

from .friction import add_friction as add_friction
from .point_mass_tree import point_tree as point_tree

from .derivatives import with_derivatives as with_derivatives
from .lowered_text import read_graph as read_graph

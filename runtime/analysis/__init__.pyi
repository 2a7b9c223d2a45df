from .linearization import linearize as linearize
from .lyapunov import lyapunov_exponents as lyapunov_exponents
from .periodic import periodic_orbit as periodic_orbit
from .steady import steady_state as steady_state

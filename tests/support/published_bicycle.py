"""The linear equations of the benchmark bicycle.

J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, Proceedings of the Royal Society A 463 (2007) 1955-1982.
"""

from __future__ import annotations

import numpy as np

MASS = [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]]
DAMPING = [[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]]
BY_WEIGHT = [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]]
BY_SPEED = [[0.0, 76.59734589573222], [0.0, 2.65431523794604]]
"""M, C1, K0, K2 of Meijaard et al. (2007), equation (5.4), for q = (lean, steer):
M q'' + v C1 q' + (g K0 + v^2 K2) q = 0."""


def eigenvalues(speed: float) -> np.ndarray:
    """The four of M s^2 + v C1 s + g K0 + v^2 K2 with g = 9.81."""
    stiffness = 9.81 * np.array(BY_WEIGHT) + speed**2 * np.array(BY_SPEED)
    lower = -np.linalg.solve(MASS, np.hstack([stiffness, speed * np.array(DAMPING)]))
    return np.asarray(np.linalg.eigvals(np.vstack([np.eye(2, 4, 2), lower])))

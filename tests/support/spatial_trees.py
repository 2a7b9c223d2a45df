"""Binary trees of bodies in space on hinges or ball joints, declared here and in Pinocchio."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

import chaplygin as cg

M, L, G = cg.parameters("m l g", positive=True)
NUMBERS = {"m": 1.3, "l": 0.7, "g": 9.81}
MOMENTS = (0.1, 0.2, 0.25)


def spatial_tree(n: int, joint: str) -> cg.System:
    """Body i hangs from body (i - 1) // 2: `joint` is "hinges", along x, y, z in turn, or "balls"."""
    bodies: list[Any] = []
    for i in range(n):
        above, at = (bodies[(i - 1) // 2], (0, 0, -L)) if bodies else (None, (0, 0, 0))
        given: dict[str, Any] = {
            "at": at,
            "name": f"b{i}",
            "mass": M,
            "inertia": MOMENTS,
            "center": (0, 0, -L / 2),
        }
        bodies.append(
            cg.joint.ball(above, **given)
            if joint == "balls"
            else cg.joint.revolute(above, "xyz"[i % 3], **given)
        )
    return cg.System(joint, bodies=bodies, interactions=[cg.Weight(G)], example={M: 1.3, L: 0.7})


class Pinocchio:
    """The same tree in Pinocchio.

    `package`, `model`, `data` and `joints`, the numbers of the joints in the order of the bodies.
    """

    def __init__(self, n: int, joint: str) -> None:
        pinocchio: Any = import_module("pinocchio")
        self.package, self.model, self.joint = pinocchio, pinocchio.Model(), joint
        hinges = (pinocchio.JointModelRX, pinocchio.JointModelRY, pinocchio.JointModelRZ)
        place = np.array([0, 0, -NUMBERS["l"]])
        inertia = pinocchio.Inertia(NUMBERS["m"], place / 2, np.diag(MOMENTS))
        self.joints: list[int] = []
        for i in range(n):
            kind = pinocchio.JointModelSpherical if joint == "balls" else hinges[i % 3]
            above, at = (self.joints[(i - 1) // 2], place) if i else (0, np.zeros(3))
            made = self.model.addJoint(above, kind(), pinocchio.SE3(np.eye(3), at), f"b{i}")
            self.model.appendBodyToJoint(made, inertia, pinocchio.SE3.Identity())
            self.joints.append(made)
        self.model.gravity.linear = np.array([0, 0, -NUMBERS["g"]])
        self.data = self.model.createData()

    def random(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q and v of Pinocchio, and the state in our order."""
        model, rng = self.model, np.random.default_rng(seed)
        q = np.empty(model.nq)
        own = []
        for i in self.joints:
            found = rng.normal(size=model.nqs[i])  # q_0 first
            found = found / np.linalg.norm(found) if self.joint == "balls" else found
            own.append(found)
            q[model.idx_qs[i] : model.idx_qs[i] + model.nqs[i]] = np.roll(found, -1)  # q_0 last
        v = rng.uniform(-1, 1, model.nv)
        return q, v, np.concatenate([*own, self.ordered(v)])

    def ordered(self, v: np.ndarray) -> np.ndarray:
        """Velocities or accelerations in our order."""
        model = self.model
        return np.concatenate([v[model.idx_vs[i] : model.idx_vs[i] + model.nvs[i]] for i in self.joints])

    def accelerations(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """In our order."""
        return self.ordered(self.package.aba(self.model, self.data, q, v, np.zeros(self.model.nv)))

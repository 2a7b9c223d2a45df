"""Trees of rigid bodies by Newton's and Euler's equations, in NumPy: the oracle of the catalogue's trees.

The recursion from the base to the leaves gives the accelerations of all bodies, that back the forces in the joints
(J. Y. S. Luh, M. W. Walker and R. P. C. Paul, 1980). And the same trees as models of Pinocchio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

Array = np.ndarray
State = dict[str, float]
AXES = dict(zip("xyz", np.eye(3), strict=True))


@dataclass
class Link:
    """A body and the joint that carries it, at `place` in the frame of the parent link, turned by `frame`.

    `kind` is "revolute", "ball" or "free"; `joint` is the name before those of its coordinates and velocities.
    """

    joint: str
    parent: int
    kind: str = "revolute"
    axis: Any = "z"
    place: Any = (0, 0, 0)
    frame: Array = field(default_factory=lambda: np.eye(3))
    mass: float = 0.0
    center: Any = (0, 0, 0)
    inertia: Any = (0, 0, 0)

    @property
    def velocities(self) -> list[str]:
        if self.kind == "revolute":
            return [f"{self.joint}_dot"]
        turning = [f"{self.joint}_w{a}" for a in "xyz"]
        return turning if self.kind == "ball" else [f"{self.joint}_v{a}" for a in "xyz"] + turning

    def direction(self) -> Array:
        axis = np.asarray(AXES[self.axis] if isinstance(self.axis, str) else self.axis, dtype=float)
        return axis / np.linalg.norm(axis)

    def subspace(self) -> Array:
        """Columns (angular velocity, velocity of the origin) in body axes, one a velocity."""
        if self.kind == "revolute":
            return np.concatenate([self.direction(), np.zeros(3)])[:, None]
        turning = np.eye(6)[:, :3]
        return turning if self.kind == "ball" else np.hstack([np.eye(6)[:, 3:], turning])

    def pose(self, at: State) -> tuple[Array, Array]:
        """Rotation to the axes of the parent, and origin in them."""
        place = np.asarray(self.place, dtype=float)
        if self.kind == "revolute":
            return self.frame @ Rotation.from_rotvec(at[self.joint] * self.direction()).as_matrix(), place
        q = [at[f"{self.joint}_q{i}"] for i in (1, 2, 3, 0)]
        turned = self.frame @ Rotation.from_quat(q).as_matrix()
        if self.kind == "free":
            place = place + self.frame @ np.array([at[f"{self.joint}_{a}"] for a in "xyz"])
        return turned, place

    def matrix(self) -> Array:
        """The spatial inertia about the origin of the link's frame."""
        inertia = np.asarray(self.inertia, dtype=float)
        c = cross(np.asarray(self.center, dtype=float))
        about = (np.diag(inertia) if inertia.ndim == 1 else inertia) - self.mass * c @ c
        return np.block([[about, self.mass * c], [-self.mass * c, self.mass * np.eye(3)]])


def cross(v: Array) -> Array:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def spatial_cross(twist: Array) -> Array:
    w, v = cross(twist[:3]), cross(twist[3:])
    return np.block([[w, np.zeros((3, 3))], [v, w]])


@dataclass
class Tree:
    """Links, parents first, at a state."""

    links: Sequence[Link]
    at: State
    gravity: float = 9.81

    def __post_init__(self) -> None:
        poses = [link.pose(self.at) for link in self.links]
        self.carried = []
        for turned, place in poses:
            back = np.kron(np.eye(2), turned.T)
            self.carried.append(back @ np.block([[np.eye(3), np.zeros((3, 3))], [-cross(place), np.eye(3)]]))
        self.subspaces = [link.subspace() for link in self.links]
        self.velocities = [name for link in self.links for name in link.velocities]
        self.speed = np.array([self.at[name] for name in self.velocities])
        self.attitudes: list[Array] = []
        self.origins: list[Array] = []
        for link, (turned, place) in zip(self.links, poses, strict=True):
            free = link.parent < 0
            above = np.eye(3) if free else self.attitudes[link.parent]
            self.attitudes.append(above @ turned)
            self.origins.append((0 if free else self.origins[link.parent]) + above @ place)

    def motion(self, speed: Array, rate: Array, fall: float) -> tuple[list[Array], list[Array]]:
        """Twists and spatial accelerations of the links in body axes; the base accelerates upward by `fall`."""
        twists: list[Array] = []
        accelerations: list[Array] = []
        place = 0
        for link, carry, s in zip(self.links, self.carried, self.subspaces, strict=True):
            own = slice(place, place := place + s.shape[1])
            base = link.parent < 0
            above = np.zeros(6) if base else twists[link.parent]
            rising = np.array([0, 0, 0, 0, 0, fall]) if base else accelerations[link.parent]
            relative = s @ speed[own]
            twists.append(carry @ above + relative)
            accelerations.append(carry @ rising + s @ rate[own] + spatial_cross(twists[-1]) @ relative)
        return twists, accelerations

    def forces(self, speed: Array, rate: Array, fall: float) -> Array:
        """The generalised forces that cause these accelerations."""
        twists, accelerations = self.motion(speed, rate, fall)
        wrenches = [
            link.matrix() @ a - spatial_cross(v).T @ link.matrix() @ v
            for link, a, v in zip(self.links, accelerations, twists, strict=True)
        ]
        found: list[Array] = []
        for i in reversed(range(len(self.links))):
            found.insert(0, self.subspaces[i].T @ wrenches[i])
            if self.links[i].parent >= 0:
                wrenches[self.links[i].parent] += self.carried[i].T @ wrenches[i]
        return np.concatenate(found)

    def point(self, link: int, arm: Any) -> tuple[Array, Array]:
        """The velocities in space of a point of a link per unit velocity, and its acceleration with eta' = 0."""
        r, zero = np.asarray(arm, dtype=float), np.zeros(len(self.speed))
        columns = []
        for unit in np.eye(len(self.speed)):
            w, v = np.split(self.motion(unit, zero, 0.0)[0][link], 2)
            columns.append(self.attitudes[link] @ (v + np.cross(w, r)))
        twists, accelerations = self.motion(self.speed, zero, 0.0)
        (w, v), (turning, a) = np.split(twists[link], 2), np.split(accelerations[link], 2)
        bias = a + np.cross(w, v) + np.cross(turning, r) + np.cross(w, np.cross(w, r))
        return np.array(columns).T, self.attitudes[link] @ bias


def pinocchio_accelerations(
    pinocchio: Any, links: Sequence[Link], at: State, load: Callable[[str], float], gravity: float = 9.81
) -> dict[str, float]:
    """eta' by name from Pinocchio's articulated-body algorithm."""
    model = pinocchio.Model()
    model.gravity.linear = np.array([0, 0, -gravity])
    numbers: list[int] = []
    for link in links:
        if link.kind == "revolute":
            kind = pinocchio.JointModelRevoluteUnaligned(link.direction())
        else:
            kind = pinocchio.JointModelSpherical() if link.kind == "ball" else pinocchio.JointModelFreeFlyer()
        place = pinocchio.SE3(link.frame, np.asarray(link.place, dtype=float))
        above = 0 if link.parent < 0 else numbers[link.parent]
        numbers.append(model.addJoint(above, kind, place, link.joint))
        inertia = np.asarray(link.inertia, dtype=float)
        about = np.diag(inertia) if inertia.ndim == 1 else inertia
        body = pinocchio.Inertia(link.mass, np.asarray(link.center, dtype=float), about)
        model.appendBodyToJoint(numbers[-1], body, pinocchio.SE3.Identity())
    q, names = np.zeros(model.nq), [""] * model.nv
    for link, number in zip(links, numbers, strict=True):
        joint = model.joints[number]
        moving = [link.joint]
        if link.kind != "revolute":
            moving = [f"{link.joint}_{a}" for a in "xyz"] if link.kind == "free" else []
            moving += [f"{link.joint}_q{i}" for i in (1, 2, 3, 0)]
        q[joint.idx_q : joint.idx_q + joint.nq] = [at[name] for name in moving]
        names[joint.idx_v : joint.idx_v + joint.nv] = link.velocities
    v, tau = np.array([at[name] for name in names]), np.array([load(name) for name in names])
    return dict(zip(names, pinocchio.aba(model, model.createData(), q, v, tau), strict=True))

"""Random systems, and their motion by d'Alembert's principle in raw coordinates.

The reference sees the declaration only as numerical functions: it differentiates by central differences
with 60 digits. With L(t, x, x') = T(t, x, eta) - V, where eta = G (x' - xi_0) and G is a left inverse of the fields Xi,
and D = d/dt dL/dx' - dL/dx along the motion,
    delta x . (D - Q) = 0  for delta x = Xi delta eta,  A delta eta = 0  (or delta eta = d beta / d theta delta theta),
together with the time derivative of the constraints gives eta'.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp
from mpmath import mp, mpf

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import quaternion_rates

KINDS = ("rates", "frame", "rheonomic", "quaternion", "circle", "affine", "cyclic", "monotone", "permitted")
STEP = mpf(10) ** -15
DIGITS = 60
Numbers = list[Any]


@dataclass(frozen=True)
class Declaration:
    """The data given to both sides."""

    kind: str
    kinematics: dict[Any, Any]
    velocities: tuple[Any, ...]
    kinetic: Any
    potential: Any
    forces: dict[Any, Any]
    constraints: list[Any] = field(default_factory=list)
    parametrization: dict[Any, Any] | None = None
    independent: tuple[Any, ...] = ()
    parameters: dict[Any, Any] = field(default_factory=dict)
    inputs: dict[Any, Any] = field(default_factory=dict)

    def system(self, name: str) -> cg.System:
        """The declaration as a System, with coordinate rates as velocities if the case uses them."""
        rates = all(v == cg.rate(x) for x, v in self.kinematics.items())
        given = {"coordinates": list(self.kinematics)} if rates else {"kinematics": self.kinematics}
        return cg.System(
            name,
            **given,
            kinetic=self.kinetic,
            potential=self.potential,
            forces=self.forces,
            constraints=self.constraints,
            parametrization=self.parametrization,
            example={**self.parameters, **self.inputs},
        )


class Draw:
    """Random expressions; smooth ones on request."""

    def __init__(self, seed: int, smooth: bool = False) -> None:
        self.random = random.Random(seed)
        self.smooth = smooth

    def number(self, low: float = -1.5, high: float = 1.5) -> Any:
        return sp.Rational(self.random.randint(int(low * 20), int(high * 20)) or 1, 20)

    def function(self, x: Sequence[Any], size: int = 2) -> Any:
        """A sum of random functions of the variables, with kinks away from the test points."""
        total = self.number()
        for _ in range(self.random.randint(1, size) if x else 0):
            a, b = self.random.choice(list(x)), self.random.choice(list(x))
            c = self.number()
            kinds = [
                lambda a, b, c: sp.sin(a + c * b),
                lambda a, b, c: sp.cos(a),
                lambda a, b, c: a * b,
                lambda a, b, c: a**2 / (2 + b**2),
                lambda a, b, c: sp.exp(-((a - c) ** 2) / 3),
                lambda a, b, c: sp.tanh(a * b),
                lambda a, b, c: sp.sqrt(2 + sp.sin(a)),
                lambda a, b, c: sp.Abs(a - 3 * c) * b,
                lambda a, b, c: sp.Piecewise((a**2, a > c), (a * c, True)),
                lambda a, b, c: sp.atan2(a + 3, b + 4),
                lambda a, b, c: sp.Max(a, c) * sp.Min(b, 2 * c),
            ]
            if self.smooth:
                kinds = kinds[:7]
            total += self.number() * self.random.choice(kinds)(a, b, c)
        return total

    def positive(self, x: Sequence[Any], k: int) -> Any:
        """A positive definite matrix of functions."""
        b = sp.Matrix(k, k, lambda i, j: self.function(x, 1) / 3 if self.random.random() < 0.6 else 0)
        return b * b.T + sp.diag(*(self.number(0.5, 2) + 1 for _ in range(k)))


def declare(seed: int, smooth: bool = False) -> Declaration:
    """The system for a seed; the kinds alternate."""
    draw, kind = Draw(seed, smooth), KINDS[seed % len(KINDS)]
    t = cg.time
    mass, stiff = cg.parameters("mass stiff", positive=True)
    parameters = {mass: draw.number(0.5, 2) + 1, stiff: draw.number(0.5, 2) + 1}
    push = cg.inputs("push")
    n = draw.random.randint(2, 3) + (kind in ("affine", "permitted"))
    if kind in ("quaternion", "circle"):
        return _redundant(draw, kind, parameters, push)
    x = cg.coordinates([f"x{i}" for i in range(n)])
    still = kind in ("cyclic", "monotone")  # autonomous
    seen = list(x[:-1]) if kind == "cyclic" else list(x)
    clock = [] if still else [t]
    if kind in ("rates", "cyclic"):
        eta = tuple(cg.rate(s) for s in x)
        kinematics = dict(zip(x, eta, strict=True))
    else:
        eta = cg.velocities([f"w{i}" for i in range(n)])
        moving = [*seen, *(clock if kind in ("rheonomic", "affine") else [])]
        kinematics = {}
        for i, s in enumerate(x):
            row = eta[i] * (1 if kind == "monotone" and i == 0 else 2 + sp.sin(draw.function(moving, 1)))
            row += sum(draw.function(moving, 1) * eta[j] / 2 for j in range(i) if kind != "monotone" or i)
            kinematics[s] = row + (draw.function(moving, 1) if kind in ("rheonomic", "affine") else 0)
    kinetic = (sp.Matrix([eta]) * draw.positive([*seen, *clock], n) * sp.Matrix(eta))[0] * mass / 2
    if not still:
        kinetic += sum(draw.function(x, 1) * w for w in eta) / 4 + draw.function([*x, t], 1)
    potential = stiff * draw.function([*seen, *clock], 3)
    forces = {}
    if not still:
        forces = {
            eta[0]: push * draw.function(x, 1),
            eta[-1]: -draw.number(0, 1) * eta[-1] + draw.function([t], 1),
        }
    declaration = Declaration(
        kind,
        kinematics,
        tuple(eta),
        kinetic,
        potential,
        forces,
        parameters=parameters,
        inputs={push: draw.number()},
    )
    if kind == "affine":
        row = sum(draw.function([*x, t], 1) * w for w in eta[:-1]) + (3 + sp.sin(x[0])) * eta[-1]
        return changed(declaration, constraints=[row + draw.function([*x, t], 1)])
    if kind == "permitted":
        theta = cg.velocities([f"th{i}" for i in range(n - 1)])
        beta = {w: th + draw.function(x, 1) / 4 for w, th in zip(eta, theta, strict=False)}
        last = sum(draw.function([*x, t], 1) * th for th in theta)
        if seed % 2:  # nonlinear: Chetaev's rule
            last += sp.sin(theta[0]) * draw.function(x, 1) + theta[-1] ** 2 / 4
        return changed(declaration, parametrization={**beta, eta[-1]: last}, independent=tuple(theta))
    return declaration


def changed(d: Declaration, **changes: Any) -> Declaration:
    return Declaration(**{**d.__dict__, **changes})


def _redundant(draw: Draw, kind: str, parameters: dict[Any, Any], push: Any) -> Declaration:
    """Fewer velocities than coordinates: a unit quaternion, or an angle by its cosine and sine."""
    slide = cg.coordinates("slide")
    if kind == "quaternion":
        x = cg.coordinates(["q0", "q1", "q2", "q3"])
        eta = cg.velocities(["w1", "w2", "w3", "v"])
        kinematics = dict(zip(x, quaternion_rates(x, eta[:3]), strict=True))
    else:
        x = cg.coordinates(["c", "s"])
        eta = cg.velocities(["w1", "v"])
        kinematics = {x[0]: -x[1] * eta[0], x[1]: x[0] * eta[0]}
    kinematics[slide] = eta[-1]
    every = [*x, slide]
    (mass, stiff) = parameters
    kinetic = (sp.Matrix([eta]) * draw.positive(every, len(eta)) * sp.Matrix(eta))[0] * mass / 2
    potential = stiff * draw.function([*every, cg.time], 3)
    forces = {eta[0]: push * draw.function(every, 1)}
    return Declaration(
        kind,
        kinematics,
        tuple(eta),
        kinetic,
        potential,
        forces,
        parameters=parameters,
        inputs={push: draw.number()},
    )


class Reference:
    """The motion of a declaration, by numerical differentiation."""

    def __init__(self, d: Declaration) -> None:
        self.d = d
        self.coordinates = tuple(d.kinematics)
        values = {**d.parameters, **d.inputs}
        t, x, w, th = cg.time, self.coordinates, d.velocities, d.independent

        def numeric(expressions: Sequence[Any], arguments: Sequence[Any]) -> Callable[..., Numbers]:
            given = [sp.sympify(e).subs(values) for e in expressions]
            call = sp.lambdify([arguments], given, modules="mpmath")
            return lambda numbers: [mpf(v) for v in call(numbers)]

        rest = dict.fromkeys(w, 0)
        rows = [sp.sympify(e) for e in d.kinematics.values()]
        self.n, self.k = len(x), len(w)
        self._drift = numeric([e.subs(rest) for e in rows], (t, *x))
        columns = [sp.sympify(e.coeff(v)) for e in map(sp.expand, rows) for v in w]
        self._fields = numeric(columns, (t, *x))
        self._kinetic = numeric([d.kinetic], (t, *x, *w))
        self._potential = numeric([d.potential], (t, *x))
        self._forces = numeric([d.forces.get(v, 0) for v in w], (t, *x, *w))
        self._residuals = numeric(d.constraints, (t, *x, *w))
        beta = d.parametrization
        self._beta = None if beta is None else numeric([beta[v] for v in w], (t, *x, *th))

    def fields(self, t: Any, x: Numbers) -> Any:
        return _matrix(self._fields([t, *x]), self.n, self.k)

    def rate(self, t: Any, x: Numbers, w: Numbers) -> Numbers:
        return list(mp.matrix(self._drift([t, *x])) + self.fields(t, x) * mp.matrix(w))

    def lagrangian(self, t: Any, x: Numbers, v: Numbers) -> Any:
        """L(t, x, x'), eta being the least-squares solution of x' = xi_0 + Xi eta."""
        xi = self.fields(t, x)
        right = xi.T * (mp.matrix(v) - mp.matrix(self._drift([t, *x])))
        w = list(mp.lu_solve(xi.T * xi, right))
        return self._kinetic([t, *x, *w])[0] - self._potential([t, *x])[0]

    def _momenta(self, t: Any, x: Numbers, v: Numbers) -> Numbers:
        return _slopes(lambda u: self.lagrangian(t, x, u), v)

    def _balance(self, t: Any, x: Numbers, w: Numbers, turn: Numbers) -> Any:
        """Xi^T (d/dt dL/dx' - dL/dx) - Q at the acceleration eta' = turn."""
        v = self.rate(t, x, w)
        bend = _along(lambda s: self.rate(t + s, _moved(x, v, s), _moved(w, turn, s)))
        ahead = _along(
            lambda s: self._momenta(
                t + s,
                [a + s * b + s * s * c / 2 for a, b, c in zip(x, v, bend, strict=True)],
                _moved(v, bend, s),
            )
        )
        here = _slopes(lambda u: self.lagrangian(t, u, v), x)
        force = mp.matrix(self._forces([t, *x, *w]))
        return self.fields(t, x).T * (mp.matrix(ahead) - mp.matrix(here)) - force

    def accelerations(self, t: Any, x: Numbers, w: Numbers, th: Numbers = ()) -> Numbers:
        """eta' at a state that satisfies the constraints."""
        k, still = self.k, [mpf(0)] * self.k
        rest = self._balance(t, x, w, still)
        mass = mp.matrix(k, k)
        for a in range(k):
            column = self._balance(t, x, w, [mpf(a == b) for b in range(k)]) - rest
            for b in range(k):
                mass[b, a] = column[b]
        v = self.rate(t, x, w)
        if self._beta is not None:
            beta = self._beta
            base = _along(lambda s: beta([t + s, *_moved(x, v, s), *th]))
            columns = [
                _along(lambda s, i=i: beta([t, *x, *(c + s * (i == j) for j, c in enumerate(th))]))
                for i in range(len(th))
            ]
            b = _matrix([e for row in zip(*columns, strict=True) for e in row], k, len(th))
            bent = mp.lu_solve(b.T * mass * b, -b.T * (rest + mass * mp.matrix(base)))
            return list(b * bent + mp.matrix(base))
        m = len(self.d.constraints)
        rows = [_slopes(lambda u, i=i: self._residuals([t, *x, *u])[i], w) for i in range(m)]
        drift = _along(lambda s: self._residuals([t + s, *_moved(x, v, s), *w])) if m else []
        whole, right = mp.matrix(k + m, k + m), mp.matrix(k + m, 1)
        for a in range(k):
            right[a] = -rest[a]
            for b in range(k):
                whole[a, b] = mass[a, b]
            for i in range(m):
                whole[a, k + i] = -rows[i][a]
                whole[k + i, a] = rows[i][a]
        for i in range(m):
            right[k + i] = -drift[i]
        return list(mp.lu_solve(whole, right))[:k]

    def state(self, seed: int) -> tuple[Any, Numbers, Numbers, Numbers]:
        """(t, x, eta, theta): a random state, on the unit sphere and satisfying the constraints if there are any."""
        draw, d = random.Random(1000 + seed), self.d
        t, x = mpf(draw.uniform(0.1, 1)), [mpf(draw.uniform(0.2, 0.9)) for _ in range(self.n)]
        w = [mpf(draw.uniform(0.3, 1)) * draw.choice([1, 1, -1]) for _ in range(self.k)]
        if d.kind in ("quaternion", "circle"):
            size = mp.sqrt(sum(e * e for e in x[:-1]))
            x = [*(e / size for e in x[:-1]), x[-1]]
        th: Numbers = []
        if self._beta is not None:
            th = [mpf(draw.uniform(-1, 1)) for _ in d.independent]
            w = self._beta([t, *x, *th])
        if d.constraints:
            rows = _matrix(_slopes(lambda u: self._residuals([t, *x, *u])[0], w), 1, self.k)
            short = mp.lu_solve(rows * rows.T, mp.matrix(self._residuals([t, *x, *w])))
            w = list(mp.matrix(w) - rows.T * short)
        return t, x, w, th


def _matrix(entries: Numbers, rows: int, columns: int) -> Any:
    found = mp.matrix(rows, columns)
    for i in range(rows):
        for j in range(columns):
            found[i, j] = entries[i * columns + j]
    return found


def _moved(x: Numbers, v: Numbers, s: Any) -> Numbers:
    return [a + s * b for a, b in zip(x, v, strict=True)]


def _along(f: Callable[[Any], Numbers]) -> Numbers:
    """d f(s) / ds at s = 0."""
    return [(a - b) / (2 * STEP) for a, b in zip(f(STEP), f(-STEP), strict=True)]


def _slopes(f: Callable[[Numbers], Any], x: Numbers) -> Numbers:
    """The gradient of f."""
    return [
        (f([*x[:i], x[i] + STEP, *x[i + 1 :]]) - f([*x[:i], x[i] - STEP, *x[i + 1 :]])) / (2 * STEP)
        for i in range(len(x))
    ]

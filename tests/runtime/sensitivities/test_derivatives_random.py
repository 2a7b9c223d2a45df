"""Derivatives of every kind on random systems, against differences of runs at a tolerance of 1e-13.

Driven motions in many kinematics, systems at rest, closed chains of links, and motions with resets, kinks and dry
friction. At default tolerances sensitivities, those of ensembles, and gradients have to be right to 1e-6 of their size;
a linearization at rest gives the same derivatives by its matrix exponential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import sympy as sp
from random_systems import KINDS, Draw, Reference, declare
from scipy.linalg import expm

import chaplygin as cg
from chaplygin.runtime.model.nearest import Nearest

Numbers = Mapping[str, Any]
EXACT: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-13, "method": "vern9"}
SMOOTH_KINDS = ("rates", "frame", "rheonomic", "quaternion", "circle", "affine")


@dataclass(frozen=True)
class Case:
    """A run, and the names by which it is differentiated."""

    model: Any
    span: tuple[float, float]
    initial: Numbers
    parameters: Numbers
    inputs: Numbers
    names: tuple[str, ...]
    rests: bool = False
    smooth: bool = True
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> tuple[Numbers, Numbers, Numbers]:
        return self.initial, self.parameters, self.inputs

    def end(self, name: str, change: float) -> Any:
        """The state at the end of a run with another value of `name`."""
        moved = [{n: v + change if n == name else v for n, v in part.items()} for part in self.given]
        start: Any = moved[0]
        if "correction" in self.model.kernels:
            start = Nearest(start)
        sol = self.model.integrate(self.span, start, *moved[1:], **EXACT)
        assert sol.status == 0
        return sol.y[:, -1]

    def difference(self, name: str) -> Any:
        """Central differences, extrapolated twice: an error of order six."""
        h = 1e-3 if self.smooth else 2e-4
        rows = [(self.end(name, m * h) - self.end(name, -m * h)) / (2 * m * h) for m in (1, 2, 3)]
        return 1.5 * rows[0] - 0.6 * rows[1] + 0.1 * rows[2]


def driven(seed: int) -> Case:
    """A motion of the random systems that the equations are tested with, without kinks."""
    kind = SMOOTH_KINDS[seed % len(SMOOTH_KINDS)]
    number = KINDS.index(kind) + len(KINDS) * (seed // len(SMOOTH_KINDS))
    d = declare(number, smooth=True)
    model = d.system(f"driven_{seed}").compile("maggi" if kind == "affine" else "poincare")
    t, x, w, _ = Reference(d).state(number)
    start = {s.name: float(v) for s, v in zip((*d.kinematics, *d.velocities), (*x, *w), strict=True)}
    start = {n: v for n, v in start.items() if n in model.states}
    numbers = {s.name: float(v) for s, v in d.parameters.items()}
    inputs = {s.name: float(v) for s, v in d.inputs.items() if s.name in model.inputs}
    names = ["stiff", model.states[-1], *inputs]
    if kind not in ("quaternion", "circle"):
        names.append(model.states[0])
    return Case(model, (float(t), float(t) + 1.0), start, numbers, inputs, tuple(names))


def at_rest(seed: int) -> Case:
    """Coordinates held by an input at a minimum of the potential, with damping; a parameter drives them by zero."""
    draw = Draw(5000 + seed, smooth=True)
    n = draw.random.randint(2, 3)
    x = cg.coordinates([f"x{i}" for i in range(n)])
    k, c, p = cg.parameters("k c p")
    u = cg.inputs("u")
    v = [cg.rate(s) for s in x]
    kinetic = (sp.Matrix([v]) * draw.positive(x, n) * sp.Matrix(v))[0] / 2
    some = sum(draw.function(x, 2) for _ in range(2)) / 3
    here = dict.fromkeys(x, 0)
    straight = sum(sp.diff(some, s).subs(here) * s for s in x)
    stiff = [draw.number(1, 4) + 1 for _ in x]
    potential = some - straight + k * sum(a * s**2 for a, s in zip(stiff, x)) + u * (x[0] - sp.sin(x[0]))
    forces = {w: -c * w for w in v}
    forces[v[-1]] += p * sp.sin(draw.random.randint(2, 6) * cg.time) + (1 - k / 4) * u
    numbers = {"k": 4.0, "c": float(draw.random.choice([0.02, 0.2, 2.0])), "p": 0.0}
    system = cg.System(
        f"rest_{seed}", coordinates=list(x), kinetic=kinetic, potential=potential, forces=forces
    )
    model = system.compile("lagrange")
    start = dict.fromkeys(model.states, 0.0)
    names = ("p", "k", model.states[0], model.states[-1])
    return Case(model, (0.0, 25.0), start, numbers, {"u": draw.random.uniform(0.5, 1)}, names, rests=True)


def looped(seed: int) -> Case:
    """A closed chain of 3 to 4 links with masses at their ends, swinging; every third one hangs at rest."""
    draw = Draw(7000 + seed, smooth=True).random
    n = 3 + seed % 2
    q = cg.coordinates([f"q{i}" for i in range(n)])
    size = cg.parameters([f"l{i}" for i in range(n)], positive=True)
    g, width = cg.parameters("g width", positive=True)
    values = [draw.uniform(0.8, 1.3) for _ in range(n)]
    angles = np.linspace(-1.2, 1.2, n) + [draw.uniform(-0.1, 0.1) for _ in range(n)]
    kinetic = potential = px = py = vx = vy = sp.Integer(0)
    for s, arm, mass in zip(q, size, (1 + sp.Rational(i, 7) for i in range(n))):
        px, py = px + arm * sp.cos(s), py + arm * sp.sin(s)
        vx, vy = vx - arm * sp.sin(s) * cg.rate(s), vy + arm * sp.cos(s) * cg.rate(s)
        kinetic += mass * (vx**2 + vy**2) / 2 + mass * cg.rate(s) ** 2 / 20
        potential += mass * g * py
    numbers = {f"l{i}": v for i, v in enumerate(values)} | {"g": 9.81}
    numbers["width"] = float(np.dot(values, np.cos(angles)))
    drop = float(np.dot(values, np.sin(angles)))
    holonomic = [px - width, py - sp.Float(drop, 17)]
    example = dict(zip(q, angles)) | {s: numbers[s.name] for s in (*size, g, width)}
    system = cg.System(
        f"loop_{seed}",
        coordinates=list(q),
        kinetic=kinetic,
        potential=potential,
        holonomic=holonomic,
        example=example,
    )
    model = system.compile(("multipliers", "maggi")[seed // 2 % 2])
    start = {s.name: float(a) for s, a in zip(q, angles)}
    start |= {f"{s.name}_dot": draw.uniform(-0.5, 0.5) for s in q}
    start = {n: v for n, v in model.consistent(start, numbers).items() if n in model.states}
    return Case(model, (0.0, 0.7), start, numbers, {}, ("l1", "g", "q0", model.states[-1]))


def samples(places: Any, size: float) -> tuple[list[float], list[float]]:
    return [0.0, *places], [0.0, *(size * np.cos(3 * places))]


def hybrid(seed: int) -> Case:
    """A mass that bounces, one with a spring that changes its stiffness, one that friction stops, or one that comes to
    rest after a blow; a constant input and one that varies push it."""
    draw = Draw(9000 + seed).random
    x, (a, b), (u, w) = cg.coordinates("x"), cg.parameters("a b", positive=True), cg.inputs("u w")
    v = cg.rate(x)
    numbers = {"a": draw.uniform(0.6, 0.9), "b": draw.uniform(2, 6)}
    end, force, options = 2.0, u + w, dict[str, Any]()
    if seed % 4 == 0:
        bounce = cg.Event(x - u / 20, direction=-1, reset={v: -a * v + u / 10}, name="bounce")
        options = {"potential": b * x + x**3 / 20, "events": [bounce]}
    elif seed % 4 == 1:
        options = {"potential": b * x**2 / 2}
        force += -sp.Max(x - a - u / 10, 0) * 5 - v / 10 + a * sp.sign(x - a)
    elif seed % 4 == 2:
        options = {"potential": 2 * x**2 * b, "contacts": [cg.Coulomb("floor", slip=v, normal=b + u, mu=a)]}
        force += sp.sin(cg.time)
    else:
        blow = cg.Event(x - a, direction=-1, reset={v: v / 2 + b / 10}, name="blow")
        options = {"potential": b * x**2 / 2, "events": [blow]}
        end, force = 30.0, u - 2 * v
    system = cg.System(f"hybrid_{seed}", coordinates=[x], kinetic=v**2 / 2, forces={v: force}, **options)
    model = system.compile("lagrange")
    start = {"x": draw.uniform(1, 2), "x_dot": draw.uniform(-0.5, 0.5)}
    size, places = draw.uniform(0.2, 0.5), np.linspace(0.0, 2.0, 7) + 0.0123
    kinds: tuple[Any, ...] = (float(size), (*samples(places, size), "linear"), samples(places, size))
    varying = kinds[seed % 3]
    inputs = {n: i for n, i in {"u": draw.uniform(0.1, 0.4), "w": varying}.items() if n in model.inputs}
    names = ("a", "b", "x", "x_dot", "u")
    return Case(model, (0.0, end), start, numbers, inputs, names, smooth=False)


MAKERS = {"driven": driven, "rest": at_rest, "loop": looped, "hybrid": hybrid}


def check(part: str, seed: int) -> None:
    case = MAKERS[part](seed)
    exact = np.array([case.difference(name) for name in case.names]).T
    limits = 1e-6 * np.maximum(np.abs(exact).max(axis=0), 1e-3)

    def right(what: str, found: Any) -> None:
        assert found.shape == exact.shape
        off = np.abs(found - exact).max(axis=0) / limits
        assert (off <= 1).all(), (
            f"{part} {seed}, {what}: {dict(zip(case.names, off.round(2)))} of what is allowed"
        )

    sol = case.model.integrate(case.span, *case.given, sensitivities=list(case.names))
    assert sol.status == 0
    right("sensitivities", sol.sensitivity.y[:, :, -1])
    two = [
        {n: np.array([v, v]) if isinstance(v, float) else v for n, v in part_.items()} for part_ in case.given
    ]
    ens = cg.ensemble(case.model, case.span, *two, n=2, sensitivities=list(case.names))
    right("sensitivities of an ensemble", ens.sensitivity.y[:, :, 1])
    if all(isinstance(value, float) for value in case.inputs.values()):  # gradients refuse others by name
        rows = [
            case.model.gradient(cg.final(n), case.span, *case.given, by=case.names) for n in case.model.states
        ]
        right("gradient", np.array([row.vector for row in rows]))
    if case.rests:
        lin = case.model.linearize(*case.given)
        places = [case.names.index(n) for n in case.names if n in lin.states]
        columns = [lin.states.index(case.names[i]) for i in places]
        span = case.span[1] - case.span[0]
        order = [lin.states.index(n) for n in case.model.states]
        found = exact.copy()
        found[:, places] = expm(span * lin.A)[np.ix_(order, columns)]
        right("linearization", found)


SAMPLE = [("driven", 2), ("rest", 0), ("loop", 3), ("hybrid", 0), ("hybrid", 21)]


SWEEP = [
    (part, seed)
    for part, n in (("driven", 20), ("rest", 15), ("loop", 15), ("hybrid", 24))
    for seed in range(n)
]


@pytest.mark.slow
@pytest.mark.parametrize(("part", "seed"), [case for case in SWEEP if case not in SAMPLE])
def test_many_random_systems(part: str, seed: int) -> None:
    check(part, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("part", "seed"), SAMPLE)
def test_a_few_random_systems(part: str, seed: int) -> None:
    check(part, seed)

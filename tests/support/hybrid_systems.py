"""Random systems whose motion jumps: forces with jumps and kinks, events with resets, contacts, failures.

Those of the kind "rough" have neither events nor contacts. A seed determines a small system and a set of trajectories
of it. Driven systems have inputs wherever one may stand, and `driven_case` draws what these do. The models are compiled
without the Cython module and the inlined methods, which takes a part of the time: lanes have the bits of both.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from c_runtime import run
from lane_models import Case
from scipy.interpolate import CubicSpline

import chaplygin as cg
from chaplygin.api.compiled import own_methods
from chaplygin.api.model import load_library
from chaplygin.codegen.emit.targets import emit
from chaplygin.codegen.toolchain import cache
from chaplygin.errors import BranchWarning
from chaplygin.runtime import Model
from chaplygin.runtime.interface.checksum import address_in, seal
from chaplygin.runtime.interface.files import INCLUDE
from chaplygin.runtime.model import lanes

N = 23
METHODS = ("tsit5", "dop853", "vern7", "vern9", "rk4")
IMPLICIT = ("rodas5p", "auto")
INLINED = ("-O1",)
"""The lowest level that inlines the kernels into the steps."""
CALLED = ("-Og", "-Dalways_inline=unused", "-Dflatten=unused")
"""The same code with calls instead, in a third of the time: the bits do not depend on it."""
KINDS = ("events", "contacts", "both", "coincident", "rough", "failing", "loop")


@dataclass(frozen=True)
class Hybrid:
    """A system, its trajectories and the options of their runs."""

    kind: str
    system: cg.System
    form: str | None
    case: Case
    span: tuple[float, float]
    options: dict[str, Any]
    step: float  # of methods with fixed steps
    taylor: bool
    times: Any = field(repr=False)


class _Draw:
    """Random numbers and expressions."""

    def __init__(self, seed: object) -> None:
        self.random = random.Random(f"hybrid {seed}")

    def number(self, low: float = -1.5, high: float = 1.5) -> Any:
        return sp.Rational(self.random.randint(round(low * 20), round(high * 20)) or 1, 20)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def line(self, of: Sequence[Any]) -> Any:
        """A function that is zero on a plane, mostly one that motions cross."""
        a, b = self.random.choice(of), self.random.choice(of)
        return self.random.choice(
            [a, a - self.number() / 2, a + self.number() * b, a - b / 3 - self.number(0, 1) / 4]
        )

    def jump(self, of: Sequence[Any]) -> Any:
        at = self.line(of)
        return self.random.choice(
            [
                sp.sign(at),
                sp.Heaviside(at, sp.Rational(1, 2)),
                sp.Piecewise((1, at > 0), (-self.number(0, 1), True)),
                sp.Piecewise((sp.cos(of[0]), at < 0), (self.number(), at < 1), (at, True)),
            ]
        )

    def kink(self, of: Sequence[Any]) -> Any:
        at = self.line(of)
        return self.random.choice([sp.Abs(at), sp.Max(at, 0), sp.Min(at, self.number()), sp.Max(at, -at / 3)])

    def guard(self, of: Sequence[Any]) -> Any:
        at = self.line(of) or of[0]  # a - a is no event
        return self.random.choice(
            [at, at, at, at * (1 + of[0] ** 2), sp.sin(3 * at), at * sp.Abs(at), sp.sign(at) + at]
        )


class _Drive(_Draw):
    """Inputs for the places of a system; none if it is not driven."""

    def __init__(self, seed: int, driven: bool) -> None:
        super().__init__(f"inputs {seed}")
        self.inputs = cg.inputs("belt gate") if driven else ()

    def some(self, probability: float) -> Any:
        """A term that vanishes with the inputs."""
        if not self.inputs or not self.chance(probability):
            return sp.Integer(0)
        a, b = self.random.choice(self.inputs), self.random.choice(self.inputs)
        return self.random.choice([a, a, self.number() * a, a + b / 2, a * sp.cos(cg.time)])


def hybrid(seed: int, driven: bool = False) -> Hybrid:
    """The system and the trajectories of a seed; the kinds alternate."""
    draw, drive, kind = _Draw(seed), _Drive(seed, driven), KINDS[seed % len(KINDS)]
    loop = kind == "loop"
    n = 2 if loop else draw.random.choice([1, 1, 2])
    x = [cg.coordinates(f"x{i}") for i in range(n)]
    v = [cg.rate(s) for s in x]
    k, c = cg.parameters("k c", positive=True)
    push = cg.inputs("push")
    seen = [*x, *v, *drive.inputs]
    taylor = draw.chance(0.35)
    kinetic = sum((1 + draw.number(0, 1)) * w**2 for w in v) / 2
    if n == 2 and not loop:
        kinetic += v[0] * v[1] * sp.cos(x[0] - x[1]) / 3
    kinetic += v[0] * cg.rate(drive.inputs[0]) / 3 if drive.inputs and drive.chance(0.15) else 0
    potential = k * sum((s - draw.number(-1, 1) / 4) ** 2 for s in x) / 2 + draw.number() * sp.cos(x[0]) / 4
    forces = {}
    for w in v:
        force = (
            drive.some(0.5)
            - c * w
            + (push if draw.chance(0.6) else 0)
            + draw.number(0, 1) * sp.cos(2 * cg.time)
        )
        if kind != "failing" and draw.chance(0.7):
            force += draw.number() * draw.jump(seen) + (
                draw.number() * draw.jump(seen) if draw.chance(0.3) else 0
            )
        if draw.chance(0.5):
            force += draw.number() * draw.kink(seen)
        forces[w] = force
    if kind == "failing" or (kind == "rough" and draw.chance(0.4)):
        forces[v[0]] += draw.random.choice(
            [
                sp.sqrt(draw.number(0.3, 1) - x[0]),
                sp.log(draw.number(0.5, 1.2) + x[0]) / 3,
                v[0] ** 3,
                1 / (x[0] + draw.number(0.3, 1)),
                sp.exp(4 * x[0] ** 2),
            ]
        )
    events = []
    if kind not in ("contacts", "rough"):
        for i in range(draw.random.randint(1, 3)):
            guard = draw.guard([*seen, *seen, sp.sin(cg.time), push - c]) + drive.some(0.4)
            if kind == "coincident" and events and draw.chance(0.8):
                guard = draw.random.choice([1, 2, -1, 1 + x[0] ** 2]) * events[0].expr
            reset = None
            if draw.chance(0.6) and not loop:
                w = draw.random.choice(v)
                reset = {w: draw.random.choice([-w, -w / 2, w + draw.number() / 5, draw.number(), w * 0])}
                reset[w] += drive.some(0.3)
                if draw.chance(0.2):
                    reset[x[-1]] = x[-1] + draw.number() / 10
            terminal = draw.chance(0.1)
            events.append(
                cg.Event(
                    guard,
                    direction=draw.random.choice([0, 0, 1, -1]),
                    terminal=terminal,
                    reset=reset,
                    name=f"e{i}",
                )
            )
    contacts = []
    if kind in ("contacts", "both"):
        for i, w in enumerate(v):
            if i == 0 or draw.chance(0.6):
                slip = w - draw.random.choice([0, 0, draw.number() / 2, v[0] if i else 0]) - drive.some(0.7)
                normal = draw.random.choice(
                    [1, 2 + sp.sin(cg.time), draw.number(0, 2) + x[0], 1 + v[0] ** 2 / 2]
                )
                normal += drive.some(0.3) ** 2
                mu = draw.random.choice([draw.number(0, 1), c, draw.number(0, 1) * (1 + sp.exp(-(slip**2)))])
                mu *= 1 + drive.some(0.4) ** 2
                contacts.append(cg.Coulomb(f"k{i}", slip=slip, normal=normal, mu=mu))
    moved = sum(drive.inputs[:1])  # the centre of the circle
    holonomic = [((x[0] - moved) ** 2 + x[1] ** 2 - 1) / 2] if loop else []
    system = cg.System(
        f"hybrid_{seed}",
        coordinates=list(x),
        kinetic=kinetic,
        potential=potential,
        forces=forces,
        holonomic=holonomic,
        events=events,
        contacts=contacts,
        example={
            k: 1,
            c: sp.Rational(1, 5),
            **dict.fromkeys((push, *drive.inputs), 0),
            **dict(zip(x, (0.6 if loop else 0.2, 0.8), strict=False)),
        },
    )
    return _trajectories(draw, kind, system, taylor)


def _trajectories(draw: _Draw, kind: str, system: cg.System, taylor: bool) -> Hybrid:
    rng = np.random.default_rng(draw.random.getrandbits(32))
    x = [s.name for s in system.coordinates]
    initial: dict[str, Any] = {name: rng.uniform(-1.2, 1.2, N) for name in [*x, *(f"{s}_dot" for s in x)]}
    for name in initial:
        initial[name][rng.random(N) < 0.1] = 0.0  # some begin at rest, or where a quantity is zero
    if kind == "loop":
        angle, speed = rng.uniform(-3, 3, (2, N))
        values = (np.cos(angle), np.sin(angle), -speed * np.sin(angle), speed * np.cos(angle))
        initial = dict(zip(("x0", "x1", "x0_dot", "x1_dot"), values, strict=True))
    parameters: dict[str, Any] = {"k": 2.0, "c": 0.15}
    if draw.chance(0.5):
        parameters = {"k": rng.uniform(0.5, 6, N), "c": 0.15}
    knots = np.sort(rng.uniform(0, 5, 4))
    heights = rng.uniform(-1, 1, 4)
    push = draw.random.choice(
        [0.1, rng.uniform(-0.5, 0.5, N), (knots, heights), (knots, heights), (knots, heights, "linear")]
    )
    tolerance = draw.random.choice([1e-2, 1e-3, 1e-4, 1e-6, 1e-9])
    options: dict[str, Any] = {
        "rtol": tolerance,
        "atol": tolerance,
        "max_steps": 2000,
    }  # some motions chatter
    if draw.chance(0.15):
        options["max_step"] = draw.random.choice([0.05, 0.3])
    if draw.chance(0.15):
        options["max_steps"] = draw.random.choice([20, 60])
    if kind == "loop" and draw.chance(0.4):
        options["project"] = draw.random.choice([None, "all"])
    backward = not system.contacts and draw.chance(0.15)
    end = draw.random.choice([2.0, 5.0, 9.0])
    span = (end, 0.0) if backward else (0.0, end)
    times = np.sort(rng.uniform(0, end, draw.random.choice([3, 40, 160])))
    if draw.chance(0.5):
        times = np.concatenate([[0.0], times, [end]])
    return Hybrid(
        kind,
        system,
        "multipliers" if kind == "loop" else None,
        Case(None, initial, parameters, {"push": push}, end),  # type: ignore[arg-type]
        span,
        options,
        draw.random.choice([0.013, 0.05]),
        taylor,
        times[::-1] if backward else times,
    )


def driven_case(given: Hybrid, model: Model, turn: int) -> Case:
    """Trajectories of a driven system whose inputs are of random kinds, those that have rates in `model` smooth.

    Each turn draws others. A circle whose centre moves is where the motion begins.
    """
    rng = np.random.default_rng([turn, int(given.system.name.rpartition("_")[2])])
    first, spec = dict(given.case.initial), {}
    for name in ("push", "belt", "gate"):
        names = [n for n in (name, f"{name}_dot", f"{name}_ddot") if n in model.inputs]
        mine, start = _input(rng, names, max(given.span), given.span[0])
        spec |= mine
        if given.kind == "loop" and name == "belt":
            first["x0"], first["x0_dot"] = first["x0"] + start[0], first["x0_dot"] + start[1]
    return replace(given.case, model=model, initial=first, inputs=spec)


def _input(rng: Any, names: Sequence[str], end: float, t0: float) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """What is given for an input with these rates, of a random kind; its value and, if it has one, its rate at t0."""
    smooth = (("held", "linear"), ("moving", "linear", "cubic", "spline"), ("moving", "cubic", "spline"))
    kind = rng.choice(["number", "numbers", *3 * smooth[len(names) - 1]])
    times = np.concatenate([[-0.1], np.sort(rng.uniform(0, end, 3)), [end + 0.1]])
    values, a, w = rng.uniform(-0.8, 0.8, 5), rng.uniform(-0.5, 0.5), rng.uniform(0.5, 3)
    if rng.random() < 0.06:
        told = [
            lambda t: a * math.sin(w * t),
            lambda t: a * w * math.cos(w * t),
            lambda t: -w * w * told[0](t),
        ]
        all_told = told[0] if len(names) == 1 else lambda t: tuple(f(t) for f in told)
        return {names[0]: all_told}, (told[0](t0), told[1](t0))
    if kind in ("number", "numbers"):
        value = values[0] if kind == "number" else rng.uniform(-0.5, 0.5, N)
        return {names[0]: value}, (value, 0.0)
    if kind == "moving":
        rows = rng.uniform(-0.5, 0.5, (len(names), N)) / [[1], [2], [8]][: len(names)]
        return dict(zip(names, rows, strict=True)), (rows[0], rows[1])
    if kind != "spline" and rng.random() < 0.5:  # a row for each trajectory
        values = values + rng.uniform(-0.3, 0.3, (N, 5))
    curve = CubicSpline(times, values, axis=-1)
    lines = np.array([np.interp(t0, times, row) for row in np.atleast_2d(values)]).squeeze(), float("nan")
    if kind in ("held", "linear"):
        return {names[0]: (times, values, "zoh" if kind == "held" else kind)}, lines
    return {names[0]: curve if kind == "spline" else (times, values, kind)}, (curve(t0), curve(t0, 1))


def built(
    system: cg.System,
    folder: Path,
    widths: Sequence[int],
    form: str | None = None,
    taylor: bool = False,
    level: Sequence[str] = INLINED,
) -> Model:
    """The model of a system with lanes of these widths, compiled for short."""
    own = own_methods(["taylor"] if taylor else [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BranchWarning)  # integrals of the motion do not matter here
        program = system.equations(form).program.bringing(own)
    sources, name = emit(program), program.name
    for file, text in sources.files.items():
        (folder / file).write_text(text, encoding="utf-8")
    compiler = cache.cached_compiler()
    flags = compiler.core_flags(tuned=True, reproducible=True)
    flags = (*level, *flags[1:])
    include = (f"-I{INCLUDE}", f"-I{folder}")
    command = [*compiler.command, *flags, *compiler.link_flags(), "-fvisibility=default", *include]
    inlined = ["-DCHAPLYGIN_INLINE_METHODS"] if own else []  # what is made from the equations has no table
    core = [str(folder / f) for f in sources.files if f.endswith(".c") and not f.endswith("_lanes.c")]
    run([*command, *inlined, *core, "-lm", "-o", str(folder / "core.so")])
    seal(folder / "core.so")
    model = load_library(folder / "core.so", name)
    for width in widths:
        target = folder / f"lanes_{width}.so"
        source = str(folder / f"{name}_lanes.c")
        run([*command, *compiler.lane_flags, f"-DCG_LANES={width}", source, "-lm", "-o", str(target)])
        seal(target)
        address = address_in(target, f"{name}_lanes_{width}")
        lanes._addresses |= {(model.owner.__file__, width, method): address for method in model.methods}
    return model

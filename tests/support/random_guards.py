"""Random problems with guards, resets, a moving ground and inputs that jump, as models and for `guard_reference`.

Two masses (x, v), (z, w) and a counter n; what drives them, the guards and the resets are rows whose coefficients are
parameters, so that few models serve all seeds. A seed draws problems of its kind until one is decided: its events are
transversal and apart, and a relative change of 1e-9 of its forces and speeds changes nothing by more than 1e-7.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp
from guard_reference import Doubtful, Guard, Outcome, Piece, Problem, Row, follow

import chaplygin as cg
from chaplygin.runtime import Model

SEEDS = 300
METHODS = ("dop853", "tsit5", "vern9", "rk4", "auto", "vern7", "rodas5p")
ALONE = ("auto", "rodas5p")
"""Methods without lanes."""
NUDGE = 1e-9
CLEAR = 1e-5
"""Events closer than this to an accumulation are not counted: how many a run resolves is not defined."""
PULSE = 0.02
"""A function is not seen between the samples of a step: shorter pulses can be missed."""
Shape = tuple[tuple[int, bool, bool], ...]
"""Direction, whether there is a reset, and whether it is terminal, of each event."""

FORCE = {"v": ("one", "x", "v", "u"), "w": ("one", "z", "w", "u")}
GUARD = ("x", "v", "z", "w", "u", "r", "one")
RESET = {"v": ("v", "w", "dr", "one"), "w": ("v", "w", "one"), "n": ("n", "one")}


# ---- models ----


@functools.cache
def model(shape: Shape) -> Model:
    """The model of all problems whose events have this shape."""
    x, z, s = cg.coordinates("x z s")
    v, w, n = cg.velocities("v w n")
    u = cg.inputs("u")
    a, rate, phase = cg.parameters("amplitude frequency phase")
    angle = rate * cg.time + phase
    symbols = {
        "x": x, "v": v, "z": z, "w": w, "n": n, "u": u, "one": 1,
        "r": a * sp.sin(angle), "dr": a * rate * sp.cos(angle),
    }  # fmt: skip

    def row(prefix: str, names: Sequence[str]) -> Any:
        return sum(cg.parameters(f"{prefix}_{name}") * symbols[name] for name in names)

    events = [
        cg.Event(
            row(f"g{i}", GUARD),
            direction=direction,
            terminal=terminal,
            reset={symbols[k]: row(f"r{i}_{k}", names) for k, names in RESET.items()} if reset else None,
            name=f"e{i}",
        )
        for i, (direction, reset, terminal) in enumerate(shape)
    ]
    letters = "".join(f"{'fbr'[d + 1]}{'r' * r}{'t' * t}" for d, r, t in shape)
    system = cg.System(
        f"guards_{letters}",
        kinematics={x: v, z: w, s: n},
        kinetic=(v**2 + w**2 + n**2) / 2,
        forces={symbols[k]: row(k, names) for k, names in FORCE.items()},
        events=events,
    )
    return system.compile()


def parameters(problem: Problem) -> dict[str, float]:
    """The parameters of the model of a problem."""
    found = dict(zip(("amplitude", "frequency", "phase"), problem.ground, strict=True))

    def add(prefix: str, names: Sequence[str], row: Row) -> None:
        assert set(row) <= set(names), (prefix, row)
        found.update({f"{prefix}_{name}": float(row.get(name, 0.0)) for name in names})

    for k, names in FORCE.items():
        add(k, names, problem.rates[k])
    for i, guard in enumerate(problem.guards):
        add(f"g{i}", GUARD, guard.row)
        for k, names in RESET.items() if guard.reset is not None else ():
            add(f"r{i}_{k}", names, guard.reset.get(k, {k: 1.0}))  # type: ignore[union-attr]
    return found


# ---- cases ----


@dataclass(frozen=True)
class Case:
    """A problem with its outcome, and how to run it: the method, and the form in which the input is given."""

    kind: str
    problem: Problem
    outcome: Outcome
    method: str
    form: str  # "number", "held", "linear" or "function"

    @property
    def model(self) -> Model:
        return model(tuple((g.direction, g.reset is not None, g.terminal) for g in self.problem.guards))

    @property
    def initial(self) -> dict[str, float]:
        return {**self.problem.start, "s": 0.0}

    @property
    def parameters(self) -> dict[str, float]:
        return parameters(self.problem)

    @property
    def input(self) -> Any:
        """The input as `integrate` takes it."""
        pieces, end = self.problem.pieces, self.problem.end
        if self.form == "number":
            return pieces[0].value
        if self.form == "held":
            return [p.start for p in pieces], [p.value for p in pieces]
        if self.form == "function":
            return lambda t: [p for p in pieces if p.start <= t or p is pieces[0]][-1].at(t)[0]
        ends = [*(p.start for p in pieces[1:]), end + 1.0]
        both = [(t, p.at(t)[0]) for p, stop in zip(pieces, ends, strict=True) for t in (p.start, stop)]
        return [t for t, _ in both], [value for _, value in both], "linear"

    @property
    def options(self) -> dict[str, Any]:
        if self.method == "rk4":
            return {"method": "rk4", "step": 1e-3}
        tolerance = 1e-10 if self.method in ALONE else 1e-11
        return {"method": self.method, "rtol": tolerance, "atol": tolerance}

    @property
    def lanes(self) -> bool:
        return self.method not in ALONE and self.form != "function"


def nudged(problem: Problem) -> Problem:
    """The problem with slightly other forces and speeds; what is zero or equal stays so."""
    more = 1.0 + NUDGE
    faster = {k: c * more if k in ("v", "w") else c for k, c in problem.start.items()}
    rates = {
        k: {name: c * more for name, c in row.items()} if k in FORCE else row
        for k, row in problem.rates.items()
    }
    return replace(problem, rates=rates, start=faster)


def decided(problem: Problem) -> Outcome | None:
    """The outcome, if nothing hangs on rounding or on the last digits of a run."""
    try:
        found, other = follow(problem), follow(nudged(problem))
    except Doubtful:
        return None
    clear = resolved(found, found.events)
    if found.status != other.status or [i for _, i in clear] != [i for _, i in other.events[: len(clear)]]:
        return None
    if found.status == -9 and any(abs(found.t - CLEAR - t) < 1e-2 * CLEAR for t, _ in found.events):
        return None
    if found.status == 0 and (len(other.events) != len(found.events) or _short(found, problem.end)):
        return None
    moved = [abs(s - t) for (s, _), (t, _) in zip(clear, other.events, strict=False)]
    moved += [abs(found.t - other.t), *(abs(found.state[k] - other.state[k]) for k in problem.rates)]
    return found if max(moved) < 100 * NUDGE and max(map(abs, found.state.values())) < 1e3 else None


def resolved(outcome: Outcome, events: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Those of the events that count."""
    return [event for event in events if outcome.status != -9 or event[0] < outcome.t - CLEAR]


def _short(outcome: Outcome, end: float) -> bool:
    """Whether an event is so close to the end, or to the one before, that errors could change their number."""
    times = [0.0, *(t for t, _ in outcome.events), end]
    return any(0 < b - a < CLEAR for a, b in itertools.pairwise(times))


@functools.cache
def case(seed: int) -> Case:
    """The case of a seed."""
    rng = random.Random(f"guards {seed}")
    name, draw = KINDS[seed % len(KINDS)]
    for _ in range(200):
        problem, form = draw(Draw(rng))
        method = METHODS[(seed // len(KINDS) + seed) % len(METHODS)]
        if form == "function" and method == "rk4":
            method = "dop853"  # a fixed step across a jump has an error of its own
        starts = [p.start for p in problem.pieces]
        if form == "function" and any(b - a < PULSE for a, b in itertools.pairwise(starts)):
            continue
        outcome = decided(problem)
        if outcome is not None:
            return Case(name, problem, outcome, method, form)
    raise AssertionError(f"no decided problem of the kind {name}")


# ---- what is drawn ----


class Draw:
    """Random numbers and parts of problems."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def number(self, low: float, high: float) -> float:
        return round(self.rng.uniform(low, high), 6)

    def pick(self, *of: Any) -> Any:
        return self.rng.choice(of)

    def restitution(self, most: float = 0.95) -> float:
        return float(self.pick(0.0, self.number(0.02, 0.4), self.number(0.02, most), self.number(0.3, most)))

    def times(self, count: int, end: float) -> list[float]:
        inside = sorted(self.number(0.1 * end, 0.95 * end) for _ in range(count - 1))
        return [0.0, *inside]

    def held(self, low: float, high: float, count: int, end: float) -> list[Piece]:
        return [Piece(t, self.number(low, high)) for t in self.times(count, end)]

    def form(self, pieces: Sequence[Piece]) -> str:
        if any(p.omega for p in pieces):
            return "function"
        if any(p.slope for p in pieces):
            return str(self.pick("linear", "linear", "function"))
        return "number" if len(pieces) == 1 else str(self.pick("held", "held", "function"))


def problem(
    guards: Sequence[Guard],
    end: float,
    x: float = 0.0,
    v: float = 0.0,
    force: Row | None = None,
    other: Row | None = None,
    z: float = 0.0,
    w: float = 0.0,
    pieces: Sequence[Piece] = (Piece(0.0, 0.0),),
    ground: tuple[float, float, float] = (0.0, 1.0, 0.0),
) -> Problem:
    """x'' = force, z'' = other, and a counter."""
    rates: Mapping[str, Row] = {"x": {"v": 1}, "v": force or {}, "z": {"w": 1}, "w": other or {}, "n": {}}
    start = {"x": x, "v": v, "z": z, "w": w, "n": 0.0}
    return Problem(rates, start, guards, end, pieces, ground)


COUNT: Row = {"n": 1, "one": 1}
Drawn = tuple[Problem, str]


def bounce(draw: Draw) -> Drawn:
    """A floor, with or without a spring and a damper."""
    e, level = draw.pick(draw.restitution(), draw.restitution(), 1.0), draw.number(-0.3, 0.1)
    force = {"one": -draw.number(3, 12), "x": -draw.pick(0.0, draw.number(0, 5)), "v": -draw.pick(0.0, 0.2)}
    floor = Guard({"x": 1, "one": -level}, -1, {"v": {"v": -e}, "n": COUNT})
    return problem([floor], 4.0, draw.number(0.3, 2), draw.number(-2, 2), force), "number"


def at_floor(draw: Draw) -> Drawn:
    """A start on the guard: at rest, pressed on, pulled off, arriving, leaving; a force that jumps later."""
    level, direction = draw.pick(0.0, 0.25, -0.5), draw.pick(-1, 1)
    speed, force = draw.pick(0.0, 0.0, draw.number(-2, 2)), draw.pick(0.0, 0.0, draw.number(-9, 9))
    guard = Guard(
        {"x": 1, "one": -level}, direction, {"v": {"v": -draw.pick(0.0, draw.restitution())}, "n": COUNT}
    )
    pieces = [Piece(0.0, 0.0), Piece(draw.number(0.3, 1.5), draw.number(-6, 6))]
    pieces = draw.pick(pieces, pieces[:1])
    row = {"one": force, "u": 1.0}
    return problem([guard], 2.5, level, speed, row, pieces=pieces), "number" if len(pieces) == 1 else "held"


def stop(draw: Draw) -> Drawn:
    """A stop, and a force that presses, lets go, and pulls."""
    e, direction = draw.pick(0.0, draw.restitution(0.8)), draw.pick(1, 1, 0)
    guard = Guard({"x": 1, "one": -1}, direction, {"v": {"v": -e}, "n": COUNT})
    first = draw.pick(0.0, 0.0, draw.number(-2, 3))
    pieces = [Piece(0.0, first), *draw.held(-6, 6, draw.pick(2, 3, 4), 4.0)[1:]]
    if draw.pick(True, False):
        pieces.insert(1, replace(pieces[0], start=draw.number(0.1, 0.3), slope=draw.pick(-1, 1) * 0.7))
        pieces[1] = replace(pieces[1], value=pieces[0].value)
        pieces.sort(key=lambda p: p.start)
    force = {"u": 1.0, "v": -draw.pick(0.0, 0.1)}
    form = "linear" if any(p.slope for p in pieces) else "held"
    return problem([guard], 4.0, 0.0, draw.number(0.5, 2), force, pieces=pieces), form


def moving_ground(draw: Draw) -> Drawn:
    """A ground that moves as a sine."""
    e = draw.pick(0.0, draw.restitution(0.7))
    ground = (draw.number(0.02, 0.3), draw.number(2, 12), draw.number(0, 6))
    guard = Guard({"x": 1, "r": -1}, -1, {"v": {"v": -e, "dr": 1 + e}, "n": COUNT})
    force = {"one": -draw.number(3, 12), "x": -draw.pick(0.0, 2.0)}
    return problem([guard], 2.5, draw.number(0.4, 1.5), draw.number(-1, 1), force, ground=ground), "number"


def on_moving_ground(draw: Draw) -> Drawn:
    """A start on a moving ground: with its speed, or with another."""
    a, rate, phase = draw.number(0.05, 0.3), draw.number(2, 9), draw.number(0, 6)
    e = draw.pick(0.0, draw.restitution(0.7))
    guard = Guard({"x": 1, "r": -1}, draw.pick(-1, -1, 1), {"v": {"v": -e, "dr": 1 + e}, "n": COUNT})
    speed = a * rate * math.cos(phase) + draw.pick(0.0, draw.number(-1, 1))
    force = {"one": draw.pick(-1, 1) * draw.number(1, 12)}
    return problem([guard], 1.5, a * math.sin(phase), speed, force, ground=(a, rate, phase)), "number"


def collision(e: float, heavy: float) -> Mapping[str, Row]:
    """Both speeds after a collision of a unit mass and one of `heavy`; infinity: it keeps its speed."""
    if heavy == math.inf:
        return {"v": {"v": -e, "w": 1 + e}, "n": COUNT}
    both = 1 + heavy
    mine = {"v": (1 - e * heavy) / both, "w": heavy * (1 + e) / both}
    return {"v": mine, "w": {"v": (1 + e) / both, "w": (heavy - e) / both}, "n": COUNT}


def sprung_ground(draw: Draw) -> Drawn:
    """A ground on a spring, with a mass of its own or without end."""
    e, heavy = draw.restitution(0.8), draw.pick(math.inf, draw.number(0.5, 5))
    other = {"z": -draw.number(5, 40), "w": -draw.pick(0.0, draw.number(0, 1)), "one": -draw.pick(0.0, 5.0)}
    guard = Guard({"x": 1, "z": -1}, -1, collision(e, heavy))
    start = draw.number(0.4, 1.5), draw.number(-1, 1), {"one": -draw.number(3, 12)}, other
    return problem([guard], 2.5, *start, z=draw.number(-0.2, 0.2), w=draw.number(-1, 1)), "number"


def relay(draw: Draw) -> Drawn:
    """An input that jumps to and fro over zero and counts."""
    end = 3.0
    values = [draw.pick(-1, 1) * draw.number(0.2, 2) for _ in range(6)]
    pieces = [Piece(t, value) for t, value in zip(draw.times(6, end), values, strict=True)]
    if draw.pick(True, False):
        pieces = [replace(p, slope=draw.pick(0.0, draw.number(-3, 3))) for p in pieces]
    up, down = Guard({"u": 1}, 1, {"n": COUNT}), Guard({"u": 1}, -1, {"n": {"n": 1, "one": -1}})
    guards = draw.pick([up, down], [up], [down], [replace(up, direction=0)])
    return problem(guards, end, 0.5, 0.0, {"x": -1.0, "u": draw.pick(0.0, 1.0)}, pieces=pieces), draw.form(
        pieces
    )


def carried(draw: Draw) -> Drawn:
    """A guard of the state that a jump of the input carries over zero."""
    end = 3.0
    pieces = draw.held(-1, 1, 5, end)
    guard = {"x": 1, "u": draw.number(0.3, 1.5), "one": draw.number(-0.3, 0.3)}
    reset = draw.pick(
        None, {"n": COUNT}, {"v": {"v": -draw.number(0.1, 1)}}, {"v": {"v": 0.5, "one": draw.number(-1, 1)}}
    )
    guards = [Guard(guard, draw.pick(-1, 0, 1), reset)]
    force = {"x": -draw.number(1, 9), "v": -draw.pick(0.0, 0.3)}
    start = draw.number(-1, 1), draw.number(-2, 2)
    return problem(guards, end, *start, force, pieces=pieces), draw.form(pieces)


def two_balls(draw: Draw) -> Drawn:
    """Two balls, one above the other, and a floor."""
    g = -draw.number(3, 12)
    floor = Guard({"x": 1}, -1, {"v": {"v": -draw.restitution(0.8)}, "n": COUNT})
    touch = Guard({"z": 1, "x": -1}, -1, collision(draw.restitution(0.8), draw.number(0.1, 2)))
    x = draw.number(0.3, 1)
    guards = draw.pick([floor, touch], [touch, floor])
    start = {"z": x + draw.number(0.1, 1), "w": draw.number(-1, 1)}
    return problem(guards, 1.5, x, draw.number(-1, 1), {"one": g}, {"one": g}, **start), "number"


def closing_walls(draw: Draw) -> Drawn:
    """A mass between a wall and one that comes nearer: impacts take turns."""
    left = Guard({"x": 1}, -1, {"v": {"v": -draw.number(0.1, 1)}, "n": COUNT})
    e = draw.number(0.1, 0.9)
    right = Guard({"z": 1, "x": -1}, -1, {"v": {"v": -e, "w": 1 + e}, "n": COUNT})
    start = draw.number(0.2, 0.8), draw.number(-3, 3)
    return problem([left, right], 4.0, *start, z=1.0, w=-draw.number(0.2, 1)), "number"


def counters(draw: Draw) -> Drawn:
    """Crossings that change nothing, of an oscillation; some end the run."""
    level = draw.number(-0.5, 0.5)
    guards = draw.pick(
        [Guard({"x": 1, "one": -level}, 0), Guard({"v": 1}, 1)],
        [Guard({"x": 1, "one": -level}, 1, {"n": COUNT}), Guard({"v": 1, "one": level}, -1, None, True)],
        [Guard({"x": 1, "r": -1}, 0)],
    )
    force = {"x": -draw.number(2, 20), "v": -draw.pick(0.0, 0.2), "u": 1.0}
    pieces = draw.pick(draw.held(-1, 1, 3, 3.0), [Piece(0.0, 0.5, 0.3, draw.number(1, 5), 0.1)])
    ground = (draw.number(0.1, 0.5), draw.number(1, 5), draw.number(0, 6))
    start = draw.number(-1, 1), draw.number(-2, 2)
    return problem(guards, 3.0, *start, force, pieces=pieces, ground=ground), draw.form(pieces)


def kicks(draw: Draw) -> Drawn:
    """Resets that slow down, kick on, or turn back, in an oscillation."""
    level = draw.number(-0.4, 0.4)
    reset = draw.pick(
        {"v": {"v": draw.number(0.2, 0.9)}},
        {"v": {"v": 1.0, "one": draw.number(-1.5, 1.5)}},
        {"v": {"one": draw.number(-2, 2)}, "n": COUNT},
        {"v": {"v": 1.0, "one": draw.number(-0.5, 0.5)}, "w": {"w": 1, "one": 1}},
    )
    guards = [Guard({"x": 1, "v": draw.pick(0.0, 0.2), "one": -level}, draw.pick(-1, 0, 1), reset)]
    force = {"x": -draw.number(2, 12), "v": -draw.number(0, 0.5), "one": draw.number(-1, 1)}
    return problem(guards, 3.0, draw.number(-1, 1), draw.number(-2, 2), force), "number"


def halts(draw: Draw) -> Drawn:
    """A mass that a guard stops dead; what holds it, pulls it back or presses it on."""
    level, direction = draw.number(-0.6, 0.6), draw.pick(-1, 0, 1)
    guard = Guard({"x": 1, "one": -level}, direction, {"v": {}, "n": COUNT})
    force = {"x": -draw.number(1, 9), "one": draw.number(-2, 2), "u": 1.0}
    pieces = draw.pick([Piece(0.0, 0.0)], draw.held(-3, 3, 3, 3.0))
    start = draw.number(-1, 1), draw.number(-2, 2)
    return problem([guard], 3.0, *start, force, pieces=pieces), "number" if len(pieces) == 1 else "held"


def slowly(draw: Draw) -> Drawn:
    """A start with g = g' = g'' = 0 under a force that grows from zero, or rest until it does."""
    direction, slope = draw.pick(-1, 1), draw.pick(-1, 1) * draw.number(0.5, 4)
    guard = Guard({"x": 1}, direction, {"v": {"v": -draw.restitution()}, "n": COUNT})
    begin = draw.pick(0.0, draw.number(0.3, 1))
    pieces = [Piece(begin, 0.0, slope), Piece(begin + 0.8, 0.8 * slope)]
    if begin:
        pieces.insert(0, Piece(0.0, 0.0))
    return problem([guard], 2.5, force={"u": 1.0}, pieces=pieces), "linear"


def terminal(draw: Draw) -> Drawn:
    """A terminal event with a reset, after others."""
    last = Guard(
        {"x": 1, "one": draw.number(0.1, 1)},
        -1,
        {"v": {"v": draw.pick(0.0, -0.5, 1.0)}, "n": {"n": 1, "one": 10}},
        True,
    )
    other = Guard({"v": 1, "one": draw.number(-1, 1)}, draw.pick(0, 1, -1), {"n": COUNT})
    force = {"one": -draw.number(1, 5), "x": -draw.number(0, 5)}
    start = draw.pick((draw.number(0, 1), draw.number(-1, 3)), (-last.row["one"], draw.number(-2, 2)))
    return problem([last, other], 3.0, *start, force), "number"


def driven(draw: Draw) -> Drawn:
    """A floor, and a force that jumps in flight."""
    e, end = draw.restitution(0.8), 2.5
    floor = Guard({"x": 1}, -1, {"v": {"v": -e}, "n": COUNT})
    pieces = draw.held(-3, 2, 4, end)
    force = {"one": -4.0, "u": 1.0, "v": -draw.pick(0.0, 0.2)}
    return problem([floor], end, draw.number(0.3, 1), draw.number(-1, 1), force, pieces=pieces), draw.form(
        pieces
    )


def speeds(draw: Draw) -> Drawn:
    """A guard of the speed, and a reset of it: stick-slip, escapements."""
    level = draw.number(-1, 1)
    reset = {"v": {"v": draw.number(-0.9, 0.9), "one": draw.number(-1, 1)}, "n": COUNT}
    guards = [Guard({"v": 1, "one": -level}, draw.pick(-1, 0, 1), reset)]
    force = {"x": -draw.number(1, 12), "one": draw.number(-1, 1)}
    return problem(guards, 2.5, draw.number(-1, 1), draw.number(-2, 2), force), "number"


def swung(draw: Draw) -> Drawn:
    """A stop under a force that is a sine, given as a function."""
    rate = draw.number(1, 6)
    pieces = [Piece(0.0, draw.number(-3, 3), draw.number(-3, 3), rate, draw.number(-1, 1))]
    e = draw.pick(0.0, draw.restitution(0.7))
    guard = Guard({"x": 1, "one": -0.4}, 1, {"v": {"v": -e}, "n": COUNT})
    return problem([guard], 3.0, 0.0, draw.number(-1, 1), {"u": 2.0, "x": -1.0}, pieces=pieces), "function"


KINDS: tuple[tuple[str, Callable[[Draw], Drawn]], ...] = tuple(
    (f.__name__, f)
    for f in (
        bounce, at_floor, stop, moving_ground, on_moving_ground, sprung_ground, relay, carried, two_balls,
        closing_walls, counters, kicks, halts, slowly, terminal, driven, speeds, swung,
    )
)  # fmt: skip

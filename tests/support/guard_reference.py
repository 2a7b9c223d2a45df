"""Guards of linear systems, followed by their power series in 40 digits: a reference for sides, events, accumulation.

Between two events the state z of a `Problem` obeys z' = M z with a constant matrix M: masses under constant forces,
springs and dampers, a ground that moves as a sine, inputs that are pieces of constants, lines and sines, and the
number 1 are all components of z. A guard is a row c, its derivatives along the flow are c M^k z, and its zeros are
those of a polynomial of degree 30 over pieces of the flight, isolated by Descartes' rule in Bernstein's form. Nothing
is stepped, sampled or guessed, and nothing of the package is used.

What happens is decided by these rules:

- The side of a guard, after the start, a reset or a change of the input, is the sign of the first of g, g', g'' ...
  that is not zero. If all of them are zero it keeps the side that it had; at the start that from which its event
  occurs, if this has a direction and a reset, and none otherwise.
- A guard that is on the other side after a change of the input has crossed, at that time.
- An event with a direction and a reset whose guard is zero at the start and leaves in that direction happens there.
- A reset that leaves g = g' = 0 and a motion straight back through the guard is an accumulation at that time, and
  flights that shorten without end are one at their limit. A terminal event ends the run whatever it leaves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Any

Row = Mapping[str, float]
"""Coefficients by the names of components; "one" is the constant."""
Sparse = list[tuple[int, Any]]
DEGREE = 30
DIGITS = 40
ROUNDING = Decimal("1e-25")
"""What is smaller than this, against the largest values of its components so far, is zero."""
GIVEN = Decimal("1e-13")
"""The same for a start, whose numbers are rounded."""
SHORT, TURN = Decimal("1e-9"), 4
"""So many shrinking flights within this time accumulate; the error of the limit is far below it."""
MOST_EVENTS = 3000
ACCUMULATION, TERMINAL = -9, 1


class Doubtful(Exception):
    """What happens hangs on less than a computation in double precision can tell, or is not decided by the rules."""


@dataclass(frozen=True)
class Guard:
    """A row, the direction of its event, and the rows of the components that the reset changes, if there is one."""

    row: Row
    direction: int = 0
    reset: Mapping[str, Row] | None = None
    terminal: bool = False


@dataclass(frozen=True)
class Piece:
    """The input u from the time `start` on: u'' = -omega^2 (u - mean)."""

    start: float
    value: float
    slope: float = 0.0
    omega: float = 0.0
    mean: float = 0.0

    def at(self, t: float) -> tuple[float, float]:
        """u and u' at a time of this piece, in double precision."""
        since, w = t - self.start, self.omega
        if w == 0.0:
            return self.value + self.slope * since, self.slope
        c, s = math.cos(w * since), math.sin(w * since)
        return (
            self.mean + (self.value - self.mean) * c + self.slope / w * s,
            self.slope * c - w * (self.value - self.mean) * s,
        )


@dataclass(frozen=True)
class Problem:
    """A run from t = 0 to `end`: the rows of the derivatives, the start, the guards, the ground, the input.

    Components that are always there: "one", the input "u" and its slope "du", the ground "r" = A sin(W t + phi) and
    its slope "dr", with `ground` = (A, W, phi).
    """

    rates: Mapping[str, Row]
    start: Row
    guards: Sequence[Guard]
    end: float
    pieces: Sequence[Piece] = (Piece(0.0, 0.0),)
    ground: tuple[float, float, float] = (0.0, 1.0, 0.0)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.rates, "u", "du", "r", "dr", "one")

    def matrix(self, piece: Piece) -> list[Sparse]:
        """M while this piece of the input lasts, as sparse rows."""
        square = Decimal(piece.omega) ** 2
        rows: dict[str, Mapping[str, Any]] = {
            **self.rates,
            "u": {"du": 1},
            "du": {"u": -square, "one": square * Decimal(piece.mean)},
            "r": {"dr": 1},
            "dr": {"r": -(Decimal(self.ground[1]) ** 2)},
            "one": {},
        }
        return [sparse(rows[name], self.names) for name in self.names]

    def components(self, t: float, state: Row) -> list[float]:
        """z in double precision at a point of another computation."""
        u, du = [p for p in self.pieces if p.start <= t or p is self.pieces[0]][-1].at(t)
        a, w, phi = self.ground
        more = {
            "u": u,
            "du": du,
            "r": a * math.sin(w * t + phi),
            "dr": a * w * math.cos(w * t + phi),
            "one": 1.0,
        }
        return [state[name] if name in state else more[name] for name in self.names]


@dataclass
class Outcome:
    """How a run ends, and the events (time, index of the guard) on the way; `sides` are those of the start."""

    status: int
    t: float
    state: dict[str, float]
    events: list[tuple[float, int]] = field(default_factory=list)
    sides: list[int] = field(default_factory=list)


# ---- rows and series ----


def sparse(row: Mapping[str, Any], names: Sequence[str]) -> Sparse:
    return [(names.index(name), Decimal(value)) for name, value in row.items() if value]


def magnitudes(row: Sparse) -> Sparse:
    return [(i, abs(a)) for i, a in row]


def dot(row: Sparse, z: Sequence[Any]) -> Any:
    return sum((a * z[i] for i, a in row), 0 * z[-1])


def derivatives(row: Sparse, m: list[Sparse], z: Sequence[Any], scale: Sequence[Any]) -> Any:
    """(c M^k z, its size for components of the sizes `scale`) for k = 0 .. the number of components."""
    for _ in range(len(z) + 1):
        yield dot(row, z), dot(magnitudes(row), scale)
        z, scale = [dot(r, z) for r in m], [dot(magnitudes(r), scale) for r in m]


def first_sign(row: Sparse, m: list[Sparse], z: Sequence[Any], scale: Sequence[Any], rounding: Any) -> Any:
    """The sign of the first derivative that is not zero, and its order; 0 if all are zero."""
    for order, (value, size) in enumerate(derivatives(row, m, z, scale)):
        if abs(value) > rounding * size:
            return (1 if value > 0 else -1), order
    return 0, 0


def taylor(m: list[Sparse], z: Sequence[Decimal]) -> list[list[Decimal]]:
    """The coefficients M^k z / k!."""
    found = [list(z)]
    for k in range(1, DEGREE + 1):
        found.append([dot(row, found[-1]) / k for row in m])
    return found


def reach(series: list[list[Decimal]]) -> Decimal:
    """For how long the series is right to some 25 digits."""
    size = max(abs(value) for value in series[0])
    longest = Decimal(1000)
    for k in (DEGREE - 1, DEGREE):
        last = max(abs(value) for value in series[k])
        if last > 0:
            longest = min(longest, ((size * Decimal("1e-27") / last).ln() / k).exp())
    return longest


def value(polynomial: Sequence[Decimal], x: Decimal) -> Decimal:
    total = Decimal(0)
    for c in reversed(polynomial):
        total = total * x + c
    return total


# ---- zeros ----

BERNSTEIN = [
    [Decimal(math.comb(j, k)) / math.comb(DEGREE, k) for k in range(j + 1)] for j in range(DEGREE + 1)
]


def variations(b: Sequence[Decimal]) -> int:
    signs = [c > 0 for c in b if c != 0]
    return sum(1 for one, other in itertools.pairwise(signs) if one != other)


def halves(b: Sequence[Decimal]) -> tuple[list[Decimal], list[Decimal]]:
    left, right, row = [], [], list(b)
    while row:
        left.append(row[0])
        right.append(row[-1])
        row = [(p + q) / 2 for p, q in itertools.pairwise(row)]
    return left, right[::-1]


def first_zero(polynomial: Sequence[Decimal], length: Decimal) -> Decimal | None:
    """The first sign change in 0 < x <= length of a polynomial that is not zero at 0."""
    scaled = [c * length**k for k, c in enumerate(polynomial)]
    scaled += [Decimal(0)] * (DEGREE + 1 - len(scaled))
    whole = [sum((f * c for f, c in zip(row, scaled, strict=False)), Decimal(0)) for row in BERNSTEIN]
    waiting = [(whole, Decimal(0), Decimal(1))]
    while waiting:
        b, low, high = waiting.pop()
        changes = variations(b)
        if changes == 1:
            return between(scaled, low, high) * length
        if changes > 1:
            if high - low < Decimal("1e-10"):
                raise Doubtful("two zeros next to each other")
            left, right = halves(b)
            middle = (low + high) / 2
            waiting += [(right, middle, high), (left, low, middle)]
    return None


def between(p: Sequence[Decimal], low: Decimal, high: Decimal) -> Decimal:
    """The zero of a polynomial that changes sign once between two points: Newton's steps, kept between them."""
    slope = [k * c for k, c in enumerate(p)][1:]
    rising, x = value(p, low) < 0, (low + high) / 2
    for _ in range(200):
        at = value(p, x)
        low, high = (x, high) if (at < 0) == rising else (low, x)
        steep = value(slope, x)
        new = x - at / steep if steep else low
        if not low < new < high:
            new = (low + high) / 2
        if abs(new - x) <= Decimal("1e-30") * abs(x):
            return new
        x = new
    return x


# ---- a run ----


class Run:
    """One run of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.names = problem, problem.names
        a, w, phi = (Decimal(number) for number in problem.ground)
        sine, cosine = sine_and_cosine(phi)
        first = problem.pieces[0]
        begin = {
            **{name: Decimal(number) for name, number in problem.start.items()},
            "u": Decimal(first.value),
            "du": Decimal(first.slope),
            "r": a * sine,
            "dr": a * w * cosine,
            "one": Decimal(1),
        }
        self.z = [begin[name] for name in self.names]
        self.scale = [abs(number) for number in self.z]
        self.rows = [sparse(guard.row, self.names) for guard in problem.guards]
        self.m = problem.matrix(first)
        self.t = Decimal(0)
        self.sides = [0] * len(self.rows)
        self.since = [Decimal(0)] * len(self.rows)  # the start, or the last event, of each guard
        self.events: list[tuple[Decimal, int]] = []

    def outcome(self) -> Outcome:
        self.resolve()
        for i, guard in enumerate(self.problem.guards):
            self.sides[i] = self.sides[i] or (-guard.direction if guard.reset is not None else 0)
        sides = list(self.sides)
        status, t = self.begin() or self.go_on()
        state = {name: float(self.z[i]) for i, name in enumerate(self.names)}
        return Outcome(status, float(t), state, [(float(t), i) for t, i in self.events], sides)

    def first_sign(self, i: int, rounding: Decimal | None = None) -> tuple[int, int]:
        zero = rounding or (ROUNDING if self.t else GIVEN)
        found: tuple[int, int] = first_sign(self.rows[i], self.m, self.z, self.scale, zero)
        return found

    def resolve(self) -> list[int]:
        """Every guard's side by its derivatives, and their orders."""
        orders = []
        for i in range(len(self.rows)):
            sign, order = self.first_sign(i)
            if not self.t and sign and self.first_sign(i, Decimal("1e-6")) != (sign, order):
                raise Doubtful("a guard is nearly zero at the start")
            self.sides[i] = sign or self.sides[i]
            orders.append(order if sign else -1)
        return orders

    def begin(self) -> tuple[int, Decimal] | None:
        """Events at the start."""
        fired = []
        for i, guard in enumerate(self.problem.guards):
            sign, order = self.first_sign(i)
            if order > 0 and guard.reset is not None and guard.direction == sign:
                fired.append(i)
        return self.happen(fired, {i: -self.sides[i] for i in fired}) if fired else None

    def go_on(self) -> tuple[int, Decimal]:
        """To the end, from piece to piece of the input."""
        end = Decimal(self.problem.end)
        for k, piece in enumerate(self.problem.pieces):
            last = k + 1 == len(self.problem.pieces)
            if k > 0:
                ended = self.change(piece)
                if ended:
                    return ended
            ended = self.fly(end if last else Decimal(self.problem.pieces[k + 1].start))
            if ended:
                return ended
        return 0, end

    def change(self, piece: Piece) -> tuple[int, Decimal] | None:
        """Another piece of the input, and the crossings that it makes."""
        before = list(self.sides)
        self.m = self.problem.matrix(piece)
        self.z[self.names.index("u")] = Decimal(piece.value)
        self.z[self.names.index("du")] = Decimal(piece.slope)
        self.resolve()
        crossed = [i for i, side in enumerate(before) if side and self.sides[i] != side]
        fired = [i for i in crossed if self.problem.guards[i].direction in (0, self.sides[i])]
        return self.happen(fired, {i: before[i] for i in fired}) if fired else None

    def fly(self, until: Decimal) -> tuple[int, Decimal] | None:
        """To a time, with all events on the way."""
        until = +until  # in as many digits as the time
        while self.t < until:
            series = taylor(self.m, self.z)
            length = min(reach(series), until - self.t)
            zeros = [self.zero(i, series, length) for i in range(len(self.rows))]
            found = min((zero for zero in zeros if zero is not None), default=None)
            self.distinct(zeros, series, length if found is None else found)
            step = length if found is None else found
            self.move(series, step)
            if found is None:
                continue
            before = {i: self.sides[i] for i, zero in enumerate(zeros) if zero == found}
            for i in before:
                self.sides[i] = -self.sides[i]
                self.transversal(i)
                self.since[i] = self.t
            fired = [i for i in before if self.problem.guards[i].direction in (0, self.sides[i])]
            ended = self.happen(fired, before) if fired else None
            if ended:
                return ended
        return None

    def move(self, series: list[list[Decimal]], step: Decimal) -> None:
        for i in range(len(self.names)):
            component = [c[i] for c in series]
            self.z[i] = value(component, step)
            self.scale[i] = max(self.scale[i], value([abs(c) for c in component], step))
        self.t += step

    def zero(self, i: int, series: list[list[Decimal]], length: Decimal) -> Decimal | None:
        """The first zero of a guard on this stretch, but for the one from which it comes."""
        sign, order = self.first_sign(i)
        polynomial = [dot(self.rows[i], c) for c in series]
        found = first_zero(polynomial[order:], length) if sign else None
        slope = [k * c for k, c in enumerate(polynomial)][1:]
        for _ in range(3 if found and order else 0):  # what was zero to rounding is not zero
            found -= value(polynomial, found) / value(slope, found)  # type: ignore[operator]
        return found

    # ---- what happens at an event ----

    def happen(self, fired: list[int], before: dict[int, int]) -> tuple[int, Decimal] | None:
        """The events `fired` at this time, in the order of their declaration."""
        guards = self.problem.guards
        resting = [i for i in range(len(self.rows)) if not self.first_sign(i)[0]]
        for i in fired:
            self.events.append((self.t, i))
            self.since[i] = self.t
            reset = guards[i].reset or {}
            new = {name: dot(sparse(row, self.names), self.z) for name, row in reset.items()}
            self.z = [new.get(name, old) for name, old in zip(self.names, self.z, strict=True)]
        if len(self.events) > MOST_EVENTS:
            raise Doubtful("too many events")
        if any(guards[i].terminal for i in fired):
            return TERMINAL, self.t
        if not any(guards[i].reset for i in fired):
            return None
        for i in fired:
            self.sides[i] = before[i]  # which it keeps if it stays at zero
        orders = self.resolve()
        if any(i not in fired and orders[i] >= 0 for i in resting):
            raise Doubtful("a reset moves what rests on another guard")
        for i in fired:
            fires = guards[i].direction or -before[i]
            if orders[i] >= 2 and self.sides[i] == fires and guards[i].reset:
                return ACCUMULATION, self.t
        return self.accumulated()

    def accumulated(self) -> tuple[int, Decimal] | None:
        """The limit of flights that shorten without end, one or two or four to a turn."""
        times = [t for t, _ in self.events[-2 * TURN - 1 :]]
        if len(times) < 2 * TURN + 1 or times[-1] - times[TURN] > SHORT:
            return None
        turn, earlier = times[-1] - times[TURN], times[TURN] - times[0]
        if not 0 < turn < earlier:
            raise Doubtful("many events within a moment")
        ratio = turn / earlier
        return ACCUMULATION, self.t + turn * ratio / (1 - ratio)

    # ---- what is too close to call ----

    def distinct(self, zeros: list[Decimal | None], series: list[list[Decimal]], step: Decimal) -> None:
        """No two guards cross at one time but for equal ones, and none touches zero without crossing."""
        for i, zero in enumerate(zeros):
            if zero is not None and zero != step and zero - step < Decimal("1e-7") * (self.t - self.since[i]):
                raise Doubtful("two guards at one time")
        for i, row in enumerate(self.rows):
            polynomial = [dot(row, c) for c in series]
            slope = [k * c for k, c in enumerate(polynomial)][1:]
            while slope and abs(slope[0]) <= GIVEN * max(1, abs(polynomial[0])):
                slope = slope[1:]
            turn = first_zero(slope, step) if slope else None
            if turn is not None:
                bend = value([k * (k - 1) * c for k, c in enumerate(polynomial)][2:], turn)
                lasted = self.t + turn - self.since[i]
                if abs(value(polynomial, turn)) < Decimal("1e-4") * abs(bend) * lasted**2:
                    raise Doubtful("a guard touches zero")

    def transversal(self, i: int) -> None:
        """The guard i passes through zero at an angle."""
        (_, _), (slope, size), (bend, _), *_ = derivatives(self.rows[i], self.m, self.z, self.scale)
        lasted = self.t - self.since[i]
        if abs(slope) < Decimal("1e-3") * abs(bend) * lasted or abs(slope) < ROUNDING * size * 1000:
            raise Doubtful("a guard crosses zero flatly")


def sine_and_cosine(x: Decimal) -> tuple[Decimal, Decimal]:
    """By their series, for moderate x."""
    term, sine, cosine, k = Decimal(1), Decimal(0), Decimal(0), 0
    while k < 200 and (abs(term) > Decimal("1e-45") or k < 10):
        sign = -1 if k % 4 >= 2 else 1
        if k % 2:
            sine += sign * term
        else:
            cosine += sign * term
        k += 1
        term = term * x / k
    return sine, cosine


def follow(problem: Problem) -> Outcome:
    """What happens in a run of this problem. Raises `Doubtful`."""
    with localcontext() as context:
        context.prec = DIGITS
        return Run(problem).outcome()

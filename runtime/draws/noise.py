"""Noise among the inputs: stationary random processes on a grid of times.

Every process is made of random numbers on the times t0 + k dt, k = 0, 1 ..., where t0 is the start of the run, or
the end of one that goes back in time. Number i of a path is word i mod 4 of Philox 4x64-10 (J. K. Salmon et al.,
SC '11; counter i div 4, trajectory, episode, 0), with a key made of the seed and the input. So a path is the same
whatever the method, steps, lanes, threads or chunks, and a longer run has the same path and more. At the times of the
grid the law is exact; between them the values are joined by lines, or held.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from .. import core
from ..interface import arguments
from ..interface.arguments import Array
from ..problem.random_inputs import RandomInput, seed_of, streams
from ..problem.sample_rows import SampleRows

linalg = later("scipy.linalg")

__all__ = ["Noise", "dryden", "filter", "ou", "telegraph", "white"]

Speed = Any  # a number, or a function of the time
MOST = 10**8
"""Times of one path."""
BLOCK = 1 << 17
"""Numbers that are drawn at a time."""
_TAG = 1 << 31
"""In the highest word of a key: no other draws of a seed have it."""


@dataclass(frozen=True, eq=False)
class Noise(RandomInput):
    """A random process that inputs can be, or one of several that are drawn together (`index`).

    Made by `ou`, `white`, `telegraph`, `filter` and `dryden`. ``len(noise)`` is the number of its processes and
    ``noise[i]`` one of them: where several are inputs of one model they are of one path.
    """

    name: str
    numbers: tuple[Any, ...]
    dt: float
    kind: str
    law: NoiseLaw
    count: int = 1
    index: int = 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> Noise:
        if not arguments.is_integer(i) or not -len(self) <= i < len(self):
            raise IndexError(
                f"noise.{self.name}[{arguments.short(i)}]: give an index from 0 to {len(self) - 1}"
            )
        return replace(self, index=int(i) % len(self))

    def __repr__(self) -> str:
        given = ", ".join(map(arguments.short, self.numbers))
        return f"noise.{self.name}({given}, dt={self.dt!r})" + (f"[{self.index}]" if len(self) > 1 else "")

    def ahead(self, t0: float, t: float) -> tuple[float, float]:
        return t0, t if self.law.varies else 2 * t - t0

    def path(
        self,
        t_span: tuple[float, float],
        *,
        seed: int,
        trajectory: int = 0,
        episode: int = 0,
        stream: int = 0,
    ) -> Any:
        """A path as samples ``(times, values, kind)``, which an input can be wherever samples can.

        seed : an integer from 0 to 2**64 - 1. trajectory : its number in an ensemble or a batch, 0 for a single run.
        episode : how often that run of a batch has been reset. stream : the place among the inputs of the model, from
        0, of the first input that is this noise.

        >>> import chaplygin as cg
        >>> times, values, kind = cg.noise.ou(tau=1, sigma=2, dt=0.5).path((0, 1.2), seed=7)
        >>> times, kind
        (array([0. , 0.5, 1. , 1.5]), 'linear')
        """
        places = {"trajectory": trajectory, "episode": episode, "stream": stream}
        for name, place in places.items():
            if not arguments.is_integer(place) or not 0 <= place < (_TAG if name == "stream" else 1 << 63):
                raise ArgumentError(f"{name} = {arguments.short(place)} must be an integer, 0 or more")
        if seed is None:
            raise ArgumentError("path: seed = None; give an integer, which makes the same path again")
        paths = Paths.of(self, arguments.span(t_span), seed_of(seed), int(stream))
        return paths.times, paths.of_runs(np.array([[trajectory, episode]], dtype=np.int64))[0], self.kind


class NoiseLaw:
    """The numbers of one step of a process, and what it makes of those of a path."""

    normal = True
    varies = False
    """Whether a function of the caller is asked for each time."""

    @property
    def width(self) -> int:
        return 1

    def of(self, times: Array, dt: float, index: int) -> NoiseLaw:
        """The law of one of the processes at the times (k,) of a run."""
        return self

    def values(self, numbers: Array) -> Array:
        """The values (N, k) of one process for numbers (N, k, width)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Filter(NoiseLaw):
    """y_k = c x_k of the states x_0 = start xi_0, x_k = phi x_(k-1) + gain xi_k; see `cg_noise_filter_t`.

    `phi`, `gain` : (m, m), or one for each step. `own` : which of the numbers of a step are xi.
    """

    start: Array
    phi: Array
    gain: Array
    c: Array
    own: slice = field(default_factory=lambda: slice(None))

    @property
    def width(self) -> int:
        return len(self.start)

    def of(self, times: Array, dt: float, index: int) -> Filter:
        return replace(self, c=self.c[index : index + 1])

    def values(self, numbers: Array) -> Array:
        phi, gain = (each.reshape(-1, *self.start.shape) for each in (self.phi, self.gain))
        xi = np.ascontiguousarray(numbers[..., self.own])
        return core.noise_filtered(self.start, phi, gain, self.c, xi)


@dataclass(frozen=True, eq=False)
class Telegraph(NoiseLaw):
    """Two values between which each step changes if its number is below `below`."""

    pair: tuple[float, float]
    below: float
    normal = False

    def values(self, numbers: Array) -> Array:
        changes = numbers[..., 0] < self.below
        changes[:, 0] = numbers[:, 0, 0] < 0.5
        odd = np.logical_xor.accumulate(changes, axis=1)
        return np.where(odd, self.pair[1], self.pair[0])


FOOT = 0.3048
"""In metres; the formulas of MIL-F-8785C are in feet."""
_SQUARE = np.array([[0.0, 1.0], [-1.0, -2.0]])
_ALONG = np.array([[-1.0]]), np.array([[1.0]]), np.array([math.sqrt(2)])
_ACROSS = _SQUARE, np.array([[0.0], [1.0]]), np.array([1.0, math.sqrt(3)])
_GUSTS = (slice(0, 1), _ALONG), (slice(1, 3), _ACROSS), (slice(3, 5), _ACROSS)
"""The numbers and A, B, C of Dryden's three filters, for sigma = 1 and time in units of L/V."""


@dataclass(frozen=True, eq=False)
class Dryden(NoiseLaw):
    """Three gusts, each a filter whose numbers depend on the time: see `dryden`."""

    altitude: Speed
    speed: Speed
    wind: float
    width = 5

    @property
    def varies(self) -> bool:  # type: ignore[override]
        return callable(self.altitude) or callable(self.speed)

    def scales(self, t: float) -> tuple[Array, Array, float]:
        """sigma and L of the gusts u, v, w, and the speed, at a time."""
        height, v = (
            _positive(f"dryden: {name}", each(t) if callable(each) else each)
            for name, each in (("altitude", self.altitude), ("speed", self.speed))
        )
        if not 3.0 <= height <= 305.0:
            raise ArgumentError(
                f"noise.dryden: altitude = {height:.6g} m; these formulas hold from 3 to 305 m above ground"
            )
        part = 0.177 + 0.000823 * height / FOOT
        along, sigma = height / part**1.2, 0.1 * self.wind
        return np.array([sigma / part**0.4] * 2 + [sigma]), np.array([along, along, height]), v

    def of(self, times: Array, dt: float, index: int) -> Filter:
        found = [self.scales(t) for t in times[: None if self.varies else 1].tolist()]
        sigma, length, speed = map(np.array, zip(*found))
        own, (a, b, c) = _GUSTS[index]
        phi, gain = _steps(a, b, dt * speed / length[:, index])
        rows = np.ascontiguousarray(sigma[:, index, None] * c)
        return Filter(_stationary(a, b), phi, gain, rows, own)


def _root(covariance: Array) -> Array:
    """L with zeros above its diagonal and L L^T = `covariance` (..., m, m), which may be singular."""
    found = np.zeros_like(covariance)
    for j in range(covariance.shape[-1]):
        rest = covariance[..., j] - (found[..., :j] * found[..., j : j + 1, :j]).sum(axis=-1)
        pivot = np.sqrt(np.maximum(rest[..., j], 0.0))[..., None]
        free = pivot**2 > 1e-14 * covariance[..., j, j, None]
        found[..., j:, j] = np.divide(rest[..., j:], pivot, out=np.zeros_like(rest[..., j:]), where=free)
    return found


def _stationary(a: Array, b: Array) -> Array:
    """A root of the covariance of the states, which solves A P + P A^T + B B^T = 0."""
    return _root(linalg.solve_continuous_lyapunov(a, -b @ b.T))


def _steps(a: Array, b: Array, dt: Array) -> tuple[Array, Array]:
    """phi = exp(A dt) and the gain, (k, m, m) each, of steps dt (k,); see `filter`."""
    m = len(a)
    # over a long step exp(-A dt) would overflow
    halvings = max(0, math.frexp(float(np.abs(a).sum(axis=1).max() * dt.max()))[1])
    block = np.block([[-a, b @ b.T], [np.zeros((m, m)), a.T]])
    found = linalg.expm(block * (dt / 2.0**halvings)[:, None, None])
    phi = np.swapaxes(found[:, m:, m:], 1, 2)
    covariance = phi @ found[:, :m, m:]
    for _ in range(halvings):
        covariance = covariance + phi @ covariance @ np.swapaxes(phi, 1, 2)
        phi = phi @ phi
    return np.ascontiguousarray(phi), _root((covariance + np.swapaxes(covariance, 1, 2)) / 2)


@dataclass(frozen=True, eq=False)
class Paths:
    """The values of a noise for trajectories first <= j < last, (last - first, k), made where they are read.

    `law` : that of the noise for these times.
    """

    noise: Noise
    times: Array
    law: NoiseLaw
    key: int
    first: int = 0
    last: int = 0

    @classmethod
    def of(cls, noise: Noise, t_span: tuple[float, float], seed: int, stream: int) -> Paths:
        """Those of a run from t0 to t1 or back: on t0, t0 + dt ... until t1 is reached, for t0 <= t1."""
        t0, t1 = sorted(t_span)
        steps = math.ceil((t1 - t0) / noise.dt)
        if steps >= MOST or t0 + noise.dt == t0 or t1 + noise.dt == t1:
            raise ArgumentError(
                f"noise: dt = {noise.dt:.17g} is too short for a run from {t0:.17g} to {t1:.17g}"
            )
        times = t0 + noise.dt * np.arange(steps + 1.0)
        law = noise.law.of(times, noise.dt, noise.index)
        return cls(noise, times, law, seed + ((_TAG + stream) << 96))

    @property
    def shape(self) -> tuple[int, int]:
        return self.last - self.first, len(self.times)

    def __len__(self) -> int:
        return self.last - self.first

    def __getitem__(self, rows: slice) -> Paths:
        first, last, _ = rows.indices(len(self))
        return replace(self, first=self.first + first, last=self.first + max(first, last))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.at(self.first, self.last)

    def at(self, first: int, last: int) -> Array:
        """The values of some trajectories, (last - first, k)."""
        numbered = np.arange(first, last, dtype=np.int64)
        return self.of_runs(np.column_stack([numbered, np.zeros_like(numbered)]))

    def of_runs(self, runs: NDArray[np.int64]) -> Array:
        """The values of some runs (n, 2), the trajectory and the episode of each: (n, k)."""
        k, width = len(self.times), self.noise.law.width
        found, step = np.empty((len(runs), k)), max(1, BLOCK // (k * width))
        for begin in range(0, len(runs), step):
            some = runs[begin : begin + step]
            numbers = core.noise_numbers(self.key, some, k * width, self.law.normal)
            found[begin : begin + step] = self.law.values(numbers.reshape(len(some), k, width))
        return found

    def rows(self, name: str, first: int, last: int) -> SampleRows:
        """The input of trajectories first <= j < last."""
        some = replace(self, first=first, last=last)
        return SampleRows(self.times, some, self.noise.kind, name=name, begin=first)


def drawn_on(
    noises: Mapping[str, Noise],
    names: Sequence[str],
    span: tuple[float, float],
    seed: int,
    places: NDArray[np.int64],
) -> tuple[dict[str, Paths], dict[str, SampleRows]]:
    """The paths of runs over a span, and as far again if their laws are known.

    `places` (n, 2): the trajectory and the episode of each run.
    """
    paths, rows = dict[str, Paths](), dict[str, SampleRows]()
    for name, stream in streams(noises, names).items():
        noise = noises[name]
        found = paths[name] = Paths.of(noise, noise.ahead(*span), seed, stream)
        rows[name] = SampleRows(found.times, found.of_runs(places), noise.kind, name=name)
    return paths, rows


# ---- what callers make ----


def _positive(what: str, value: Any) -> float:
    return arguments.positive_number(f"noise.{what}", value)


def _of_one_state(*numbers: float) -> Filter:
    start, phi, gain, c = (np.array([[number]]) for number in numbers)
    return Filter(start, phi, gain, c)


def ou(tau: float, sigma: float, dt: float) -> Noise:
    """Ornstein-Uhlenbeck's process dx = -x/tau dt + sigma sqrt(2/tau) dW, stationary from the start.

    tau : its correlation time. sigma : its standard deviation; the covariance is sigma^2 exp(-|s|/tau). dt : the step
    of its grid, between whose times it goes along lines. At these times it is exact:
    x_(k+1) = phi x_k + sigma sqrt(1 - phi^2) xi_k with phi = exp(-dt/tau). Raises `ArgumentError`
    unless all are positive.

    >>> import chaplygin as cg
    >>> cg.noise.ou(tau=1.3, sigma=0.7, dt=0.1)
    noise.ou(1.3, 0.7, dt=0.1)
    """
    tau, sigma, dt = _positive("ou: tau", tau), _positive("ou: sigma", sigma), _positive("ou: dt", dt)
    gain = sigma * math.sqrt(-math.expm1(-2 * dt / tau))
    return Noise("ou", (tau, sigma), dt, "linear", _of_one_state(sigma, math.exp(-dt / tau), gain, 1.0))


def white(dt: float, density: float = 1.0) -> Noise:
    """White noise w held for dt, independent values with variance density/dt: the covariance tends to density delta(s).

    The integral of w over n steps is normal with variance density n dt, as Brownian motion. Raises `ArgumentError`
    unless both are positive.

    >>> import chaplygin as cg
    >>> cg.noise.white(0.01)
    noise.white(1.0, dt=0.01)
    """
    dt, density = _positive("white: dt", dt), _positive("white: density", density)
    return Noise("white", (density,), dt, "zoh", _of_one_state(1.0, 0.0, 1.0, math.sqrt(density / dt)))


def telegraph(rate: float, dt: float, values: tuple[float, float] = (-1.0, 1.0)) -> Noise:
    """The random telegraph signal: two values, each for an exponential time, on average 1/rate.

    Each value has probability 1/2 from the start, and the covariance is (a - b)^2/4 exp(-2 rate |s|) for values a, b.
    It is exact at the times of the grid, between which it is held: changes within one step are not seen. Raises
    `ArgumentError` unless rate and dt are positive and the values two different numbers.

    >>> import chaplygin as cg
    >>> cg.noise.telegraph(rate=2, dt=0.05)
    noise.telegraph(2.0, (-1.0, 1.0), dt=0.05)
    """
    rate, dt = _positive("telegraph: rate", rate), _positive("telegraph: dt", dt)
    pair = arguments.array("noise.telegraph: values", values)
    if pair.shape != (2,) or not np.isfinite(pair).all() or pair[0] == pair[1]:
        raise ArgumentError(
            f"noise.telegraph: values = {arguments.short(values)}; give two different numbers"
        )
    two = float(pair[0]), float(pair[1])
    return Noise("telegraph", (rate, two), dt, "zoh", Telegraph(two, -math.expm1(-2 * rate * dt) / 2))


def filter(A: Any, B: Any, C: Any, dt: float) -> Noise:
    """The outputs y = C x of a linear filter dx/dt = A x + B w with unit white noise w, stationary from the start.

    A : (m, m), whose eigenvalues have negative real parts. B : (m, r). C : (c, m), c processes that are drawn together:
    ``noise[i]`` is one of them. The states are exact at the times of the grid: x_(k+1) = e^(A dt) x_k + L xi_k with
    L L^T = integral of e^(As) B B^T e^(A^T s) over a step (C. F. Van Loan, IEEE Transactions on Automatic Control 23
    (1978) 395-404); between them the outputs go along lines. Raises `ArgumentError` for other shapes, and for a filter
    that is not stable and so has no stationary state.

    >>> import chaplygin as cg
    >>> sway, rate = cg.noise.filter([[0, 1], [-4, -0.4]], [[0], [1]], [[1, 0], [0, 1]], dt=0.05)
    >>> sway
    noise.filter([[0.0, 1.0], [-4.0, -0.4]], [[0.0], [1.0]], [[1.0, 0.0], [0.0, 1.0]], dt=0.05)[0]
    """
    a, b, c = (arguments.array(f"noise.filter: {name}", each) for name, each in zip("ABC", (A, B, C)))
    m = len(a) if a.ndim else 0
    fits = a.shape == (m, m) and b.shape[:1] == (m,) and c.shape[1:] == (m,)
    if not (fits and b.ndim == c.ndim == 2 and a.size and b.size and c.size):
        raise ArgumentError(
            f"noise.filter: A, B, C have shapes {a.shape}, {b.shape}, {c.shape}; (m, m), (m, r) and (c, m) are needed"
        )
    if not all(np.isfinite(each).all() for each in (a, b, c)):
        raise ArgumentError("noise.filter: a number of A, B or C is not finite")
    worst = np.linalg.eigvals(a).real.max()
    if not worst < 0:
        raise ArgumentError(
            f"noise.filter: A has an eigenvalue with real part {worst:.6g}, so the process is not stationary; all must "
            "be negative"
        )
    step = _positive("filter: dt", dt)
    phi, gain = _steps(a, b, np.array([step]))
    law = Filter(_stationary(a, b), phi[0], gain[0], c)
    return Noise("filter", (a.tolist(), b.tolist(), c.tolist()), step, "linear", law, len(c))


def dryden(altitude: Speed, speed: Speed, dt: float, *, wind: float) -> Noise:
    """Dryden's gusts along, across and normal to the flight, by MIL-F-8785C at low altitude: three processes u, v, w.

    altitude : above ground, from 3 to 305 m. speed : of the aircraft through the air, m/s. Each is a number or a
    function of the time. wind : the wind at 6 m above ground, m/s. With V the speed and h the altitude in feet,

        L_w = h, L_u = L_v = h / (0.177 + 0.000823 h)^1.2
        sigma_w = 0.1 wind, sigma_u = sigma_v = sigma_w / (0.177 + 0.000823 h)^0.4
        H_u = sigma_u sqrt(2 L_u/V) / (1 + s L_u/V)
        H_v = sigma_v sqrt(L_v/V) (1 + sqrt(3) s L_v/V) / (1 + s L_v/V)^2, and H_w alike,

    filters of unit white noise. They are stationary from the start and exact at the times of the grid, where altitude
    and speed are those at the beginning of each step; between them they go along lines. Raises `ArgumentError` for
    other altitudes and for what is not positive.

    >>> import chaplygin as cg
    >>> u, v, w = cg.noise.dryden(altitude=100, speed=30, dt=0.05, wind=8)
    """
    law = Dryden(altitude, speed, _positive("dryden: wind", wind))
    if not law.varies:
        law.scales(0.0)  # a wrong number is an error here
    return Noise("dryden", (altitude, speed, law.wind), _positive("dryden: dt", dt), "linear", law, 3)

"""The ensembles that are measured: their initial states, and reference final states at a tolerance of 1e-13."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import ours
from cases import CHAIN, SLEIGH, TOP, Array, Case
from peers import available
from sizes import SAMPLE, scaled

T_ENSEMBLE = 10.0
STEP = 0.01
REFERENCE_TOLERANCE = 1e-13


@dataclass(frozen=True)
class Workload:
    """``runs`` trajectories of a case over t = 0..10, with initial states of shape (n, runs)."""

    case: Case
    runs: int

    @cached_property
    def initial(self) -> Array:
        """The top: random attitude, rates of about 1 rad/s. The sleigh: random direction, velocities of about 1. The
        chain: the catalogue's state with every angle and rate perturbed by about 0.1."""
        y = np.repeat(self.case.initial[:, None], self.runs, axis=1)
        noise = np.random.default_rng(5).normal(size=y.shape)
        if self.case.n is not None:
            return y + 0.1 * noise
        if self.case.name == "heavy_top":
            noise[:4] /= np.linalg.norm(noise[:4], axis=0)
        return noise

    @cached_property
    def reference(self) -> Array:
        """The final states of the first trajectories, by our highest-order method at 1e-13."""
        start = self.initial[:, :SAMPLE]
        return ours.many(
            self.case, start, T_ENSEMBLE, REFERENCE_TOLERANCE, ours.ADAPTIVE[0], lanes=1, reproducible=True
        )()

    def error(self, states: Array) -> float:
        """The median over trajectories of the largest deviation of a state from the reference."""
        count = min(states.shape[1], self.reference.shape[1])
        deviation = np.abs(states[:, :count] - self.reference[:, :count])
        return float(np.median(deviation.max(axis=0)))

    @cached_property
    def error_of_reference(self) -> float:
        """Deviation of the reference from heyoka at 1e-16, or from SciPy's DOP853 at 1e-13 on fewer trajectories."""
        from peers import one_by_one, plain, taylor

        start = self.initial[:, :SAMPLE]
        other = available("heyoka", lambda: taylor.many(self.case, start, T_ENSEMBLE, 1e-16))
        if other is None:
            method = plain.single(self.case, REFERENCE_TOLERANCE, "DOP853")
            other = one_by_one(method, start[:, : scaled(5, 1)], T_ENSEMBLE)
        return self.error(other())

    def first(self, count: int) -> Array:
        """The initial states of the first trajectories."""
        return self.initial[:, :count]


@cache
def workload(case: Case) -> Workload:
    """The ensemble shared by all rows of a case."""
    full = {TOP: 100_000, SLEIGH: 100_000, CHAIN: 10_000}[case]
    return Workload(case, scaled(full, 64))


Solver = Callable[[], Array]


@dataclass(frozen=True)
class Setting:
    """One of our methods at one tolerance."""

    method: str
    tolerance: float

    def __str__(self) -> str:
        return f"{self.method} {self.tolerance:.0e}"


@cache
def sample_error(case: Case, setting: Setting) -> float:
    """The median error of one of our methods."""
    load = workload(case)
    sample = ours.many(
        case, load.first(SAMPLE), T_ENSEMBLE, setting.tolerance, setting.method, lanes=ours.widest(case)
    )
    return load.error(sample())


def reaching(case: Case, error: float) -> list[Setting]:
    """For each method the largest tolerance, in half decades, at which its median error is at most ``error``."""
    found = []
    for method in ours.ADAPTIVE:
        for half in range(12, 28):
            setting = Setting(method, 10.0 ** (-half / 2))
            if sample_error(case, setting) <= error:
                found.append(setting)
                break
    return found

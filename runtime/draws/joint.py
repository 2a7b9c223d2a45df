"""Distributions of several quantities together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.messages import listed
from .choice import Choice, Pick
from .distributions import HIGHEST, LOWEST, NORMAL, Compiled, InSciPy, Law, is_distribution, law
from .functions import DrawRule, is_function

scipy = later("scipy")

ALIKE = 1e-12
"""Relative difference of two entries of a matrix that are taken as equal."""


@dataclass(frozen=True, eq=False)
class JointDraw:
    """Quantities `names` that are drawn together; made by `jointly`."""

    names: tuple[str, ...]
    source: Any
    correlation: Any = None
    rows: str = "random"

    def __repr__(self) -> str:
        return f"jointly({self.names}, {type(self.source).__name__})"

    def laws(self, what: str, compiled: bool) -> Drawing:
        """What turns uniform numbers into draws; raises ArgumentError naming `what`."""
        what = f"{what}: jointly({', '.join(self.names)})"
        if self.rows != "random" and (
            self.correlation is not None
            or callable(self.source)
            or is_kernels(self.source)
            or is_distribution(self.source)
        ):
            raise ArgumentError(f"{what}: rows = {self.rows!r} is for samples")
        several = several_of(what, self.source, len(self.names), compiled)
        if several is not None:
            if self.correlation is not None:
                raise ArgumentError(f"{what}: correlation is for a list of distributions, one for each name")
            return several
        if isinstance(self.source, (list, tuple)) and self.source and is_distribution(self.source[0]):
            return _copula(what, self, compiled)
        if self.correlation is not None:
            raise ArgumentError(f"{what}: correlation is for a list of distributions, one for each name")
        if is_distribution(self.source):
            return _normals(what, self, compiled)
        by_name = arguments.named(what, self.source)
        others = [name for name in by_name or () if name not in self.names]
        if others:
            raise ArgumentError(
                f"{what}: the samples have further columns, {listed(others)}; leave them out, as "
                f"samples[[{', '.join(map(repr, self.names))}]] does"
            )
        samples = (
            arguments.array(what, self.source)
            if by_name is None
            else arguments.matrix(what, by_name, self.names, None, finite=False)
        )
        k = len(self.names)
        if samples.ndim == 2 and len(samples) != k and samples.shape[1] == k:
            samples = np.ascontiguousarray(samples.T)
        if samples.ndim != 2 or len(samples) != k or not samples.shape[1]:
            raise ArgumentError(
                f"{what}: samples have shape {samples.shape}; ({k}, number of samples) or its transpose is needed"
            )
        arguments.check_finite(what, samples, self.names)
        return JointSamples(samples) if self.rows == "random" else Rows(samples, self.rows == "shuffled")


def drawn_together(names: Any, source: Any) -> JointDraw:
    """Quantities of which a trajectory draws a row (see `choice`), or that are drawn by `jointly`."""
    return jointly(names, source.rows if isinstance(source, Choice) else source)


def jointly(names: Any, source: Any, correlation: Any = None, rows: str = "random") -> JointDraw:
    """Quantities that are drawn together, for `initial`, `parameters` or `inputs` of `ensemble`.

    `source`: a frozen `scipy.stats.multivariate_normal`; m samples as an array (k, m) or (m, k) (k, m if both fit), a
    DataFrame or a dict of columns by name; a `scipy.stats.gaussian_kde` of k quantities; a function f(rng) that
    returns k numbers, which is called for each trajectory with a `numpy.random.Generator` of its own; or a list of k
    distributions of one number, which then have the copula of a normal distribution with the matrix `correlation`
    (k, k): x_i = F_i^-1(Phi(z_i)), z normal with that correlation.

    `rows` says which of m samples trajectory i gets: any, whatever others get ("random"); the i-th ("in order"); or the
    i-th in an order that follows from the seed, so that none is there twice ("shuffled"). The latter need n <= m.

    Raises ArgumentError if sizes do not agree or a matrix is not positive semidefinite; distributions are examined when
    the ensemble is made.

    >>> from scipy import stats
    >>> jointly(("v", "phi"), stats.multivariate_normal([1, 0], [[0.1, 0.05], [0.05, 0.2]]))
    jointly(('v', 'phi'), multivariate_normal_frozen)
    """
    plain = arguments.plain_names("jointly: names", names)
    if len(set(plain)) != len(plain) or not plain:
        raise ArgumentError(f"jointly: names = {arguments.short(names)} must be different names")
    return JointDraw(
        plain,
        source,
        correlation,
        arguments.choice("jointly: rows", rows, ("random", "shuffled", "in order")),
    )


@dataclass(frozen=True, eq=False)
class Normals:
    """x = mean + L z with independent normal z."""

    mean: Array
    factor: Array
    normal: Law

    @property
    def dimensions(self) -> int:
        return len(self.mean)

    def draw(self, u: Array) -> Array:
        """(k, n) from uniform numbers (k, n)."""
        z = [self.normal.quantile(row) for row in u]
        rows = [_sum(row, z) for row in self.factor]
        return np.array([shift + row for shift, row in zip(self.mean, rows)])


@dataclass(frozen=True, eq=False)
class Copula:
    """Margins at the probabilities of correlated normal numbers."""

    normals: Normals
    margins: tuple[Law, ...]

    @property
    def dimensions(self) -> int:
        return len(self.margins)

    def draw(self, u: Array) -> Array:
        probabilities = np.clip(scipy.special.ndtr(self.normals.draw(u)), LOWEST, HIGHEST)
        return np.array([margin.quantile(row) for margin, row in zip(self.margins, probabilities)])


@dataclass(frozen=True, eq=False)
class JointSamples:
    """Columns of a table, each as likely as any other."""

    table: Array
    dimensions = 1

    def draw(self, u: Array) -> Array:
        count = self.table.shape[1]
        return self.table[:, np.minimum((u[0] * count).astype(np.int64), count - 1)]


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns of a table, the i-th of them, as they are or shuffled, for trajectory i; no uniform number is used."""

    table: Array
    shuffled: bool
    dimensions = 1

    def draw(self, u: Array) -> Array:
        raise ArgumentError("jointly: only rows='random' has a distribution, which this call needs")

    def take(self, places: Array, key: int, count: int, what: str) -> Array:
        """(k, n) for the trajectories `places` of `count`; `key`: of the order, another one for each table."""
        total = self.table.shape[1]
        if count > total:
            raise ArgumentError(
                f"{what}: {total} samples are fewer than {count} trajectories; only rows='random' repeats"
            )
        if self.shuffled:
            places = np.random.Generator(np.random.Philox(key=key)).permutation(total)[places]
        return self.table[:, places]


@dataclass(frozen=True, eq=False)
class KernelDensity:
    """A kernel density: one of the `points` (k, m), in order of the probability `below` each, plus L z, z normal."""

    points: Array
    below: Array
    factor: Array
    normal: Law

    @property
    def dimensions(self) -> int:
        return 1 + len(self.points)

    def draw(self, u: Array) -> Array:
        """(k, n) from uniform numbers (1 + k, n)."""
        place = np.searchsorted(self.below, u[0] * self.below[-1], side="left")
        z = [self.normal.quantile(row) for row in u[1:]]
        return np.array([at + _sum(row, z) for at, row in zip(self.points[:, place], self.factor)])


Drawing = Law | Normals | Copula | JointSamples | Rows | KernelDensity | DrawRule | Pick
"""What turns uniform numbers into draws."""


def is_kernels(value: Any) -> bool:
    """Whether a value is a `scipy.stats.gaussian_kde`."""
    return all(hasattr(value, name) for name in ("dataset", "weights", "covariance", "resample"))


def several_of(what: str, source: Any, count: int, compiled: bool) -> KernelDensity | DrawRule | None:
    """What draws `count` numbers together by a kernel density or a function; None for other sources."""
    if is_kernels(source):
        return _kernels(what, source, count, compiled)
    if is_function(source) and not is_distribution(source):
        return DrawRule.of(what, source, count)
    return None


def _kernels(what: str, source: Any, count: int, compiled: bool) -> KernelDensity:
    points, weights = arguments.array(what, source.dataset), arguments.array(what, source.weights)
    if len(points) != count:
        raise ArgumentError(f"{what}: the kernel density is of {len(points)} quantities, not of {count}")
    if count == 1:  # neighbours together, for quasi-random points
        order = np.argsort(points[0], kind="stable")
        points, weights = points[:, order], weights[order]
    cov = np.atleast_2d(arguments.array(what, source.covariance))
    return KernelDensity(
        points, np.cumsum(weights), factor(f"{what}: the covariance", cov), standard_normal(compiled)
    )


def _sum(factors: Array, z: Sequence[Array]) -> Array:
    """Sum of factors times z in this order: the bits depend on no linear algebra library."""
    total = factors[0] * z[0]
    for factor, row in zip(factors[1:], z[1:]):
        if factor:
            total = total + factor * row
    return np.asarray(total)


def _normals(what: str, joint: JointDraw, compiled: bool) -> Normals:
    mean, cov = getattr(joint.source, "mean", None), getattr(joint.source, "cov", None)
    if mean is None or cov is None or callable(mean) or callable(cov):
        raise ArgumentError(
            f"{what}: of the distributions of several numbers only multivariate_normal can be used; give a list "
            "of margins with correlation=, or an array of samples"
        )
    mean, cov = np.atleast_1d(arguments.array(what, mean)), np.atleast_2d(arguments.array(what, cov))
    if mean.shape != (len(joint.names),):
        raise ArgumentError(f"{what}: {len(joint.names)} names for a distribution of {mean.size} numbers")
    arguments.check_finite(what, mean, joint.names)
    return Normals(mean, factor(f"{what}: the covariance", cov), standard_normal(compiled))


def _copula(what: str, joint: JointDraw, compiled: bool) -> Copula:
    count = len(joint.names)
    if len(joint.source) != count:
        raise ArgumentError(f"{what}: {count} names for {len(joint.source)} distributions")
    margins = tuple(law(f"{what}: {name}", each, compiled) for name, each in zip(joint.names, joint.source))
    if joint.correlation is None:
        raise ArgumentError(f"{what}: distributions need correlation=, a matrix ({count}, {count})")
    by_name = arguments.named(f"{what}: correlation", joint.correlation)
    rows = joint.correlation
    if by_name is not None:  # a table with names along both axes
        arguments.check_names(f"{what}: correlation", by_name, joint.names)
        rows = [
            arguments.vector(f"{what}: correlation: {name}", by_name[name], joint.names)
            for name in joint.names
        ]
    matrix = arguments.array(f"{what}: correlation", rows)
    if matrix.shape != (count, count):
        raise ArgumentError(f"{what}: correlation has shape {matrix.shape}; ({count}, {count}) is needed")
    if not (np.diag(matrix) == 1).all():
        raise ArgumentError(f"{what}: the diagonal of correlation is {np.diag(matrix)}, not 1")
    found = factor(f"{what}: correlation", matrix)
    return Copula(Normals(np.zeros(count), found, standard_normal(compiled)), margins)


def standard_normal(compiled: bool) -> Law:
    """The standard normal distribution."""
    if compiled:
        return Compiled(NORMAL, np.array([0.0, 1.0]))

    return InSciPy(scipy.stats.norm())


def factor(what: str, matrix: Array) -> Array:
    """Lower triangular L with L L^T = matrix, which may be singular.

    Raises ArgumentError if the matrix is not symmetric and positive semidefinite.
    """
    n = len(matrix)
    if not np.isfinite(matrix).all() or matrix.shape != (n, n):
        raise ArgumentError(f"{what} is not a square matrix of finite numbers")
    scale = float(np.abs(np.diag(matrix)).max(initial=0.0))
    if np.abs(matrix - matrix.T).max() > ALIKE * max(scale, float(np.abs(matrix).max())):
        raise ArgumentError(f"{what} is not symmetric")
    result = np.zeros((n, n))
    rest = matrix.copy()
    for j in range(n):
        pivot = rest[j, j]
        column = rest[j:, j]
        if pivot < -ALIKE * scale or (
            pivot <= ALIKE * scale and np.abs(column[1:]).max(initial=0.0) > 1e-8 * scale
        ):
            lowest = float(np.linalg.eigvalsh(matrix)[0])
            raise ArgumentError(
                f"{what} is not positive semidefinite: its smallest eigenvalue is {lowest:.3g}"
            )
        if pivot <= ALIKE * scale:
            continue
        result[j:, j] = column / np.sqrt(pivot)
        rest[j:, j:] -= np.multiply.outer(result[j:, j], result[j:, j])
    return result

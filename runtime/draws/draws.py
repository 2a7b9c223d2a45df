"""What an ensemble draws: which names, from which distributions, and the arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import NOT_NEGATIVE, NOT_POSITIVE, assumption, holds
from ..model.compiled_model import core_available
from ..problem.random_inputs import seed_of, streams, without_path
from ..problem.sample_rows import SampleRows
from .choice import Pick, is_chosen
from .derived import in_order
from .distributions import Compiled, InSciPy, Steps, law
from .functions import DrawRule, is_function
from .joint import Copula, Drawing, JointDraw, JointSamples, KernelDensity, Normals, Rows, several_of
from .noise import Noise, Paths
from .uniforms import Uniforms

BLOCK = 8192
"""Trajectories drawn at once: their uniform numbers stay in the cache."""

MOST_ATTEMPTS = 1000
_FEW = 8
SELDOM = 1e-3
"""Draws expected to break an assumption that a study, which cannot see all of them at its start, accepts."""


class Draws(Mapping[str, Array]):
    """The drawn quantities of an ensemble by name, arrays (n,), in the order of their uniform numbers.

    `seed` and `sampling` make them again; `redrawn` counts the trajectories drawn again with ``reject=True``.
    """

    def __init__(self, arrays: dict[str, Array], seed: int, sampling: str, redrawn: int) -> None:
        self.arrays, self.seed, self.sampling, self.redrawn = arrays, seed, sampling, redrawn

    def __getitem__(self, key: Any) -> Array:
        name = arguments.plain_name(key)
        if name not in self.arrays:
            hint = arguments.nearest(name, tuple(self.arrays)) or f"; drawn are {', '.join(self.arrays)}"
            raise KeyError(f"{name!r} was not drawn{hint}")
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        return f"<Draws of {', '.join(self)}: seed {self.seed}, sampling {self.sampling!r}>"


@dataclass(frozen=True, eq=False)
class _Source:
    """Quantities that are drawn together."""

    kind: str
    names: tuple[str, ...]
    flags: tuple[int, ...]
    given: Any
    law: Drawing


class Plan:
    """The distributions and random processes among the arguments of an ensemble, with what makes numbers of them."""

    remedy = "Truncate the distribution, or give reject=True to draw these trajectories again"
    """What the errors about broken assumptions advise."""

    def __init__(
        self,
        model: Any,
        sources: list[tuple[str, Any]],
        expressions: list[tuple[str, str, Any]],
        seed: Any,
        sampling: Any,
        reject: Any,
        t_span: tuple[float, float] | None = None,
    ) -> None:
        compiled = core_available()
        self.seed, self.sampling = seed_of(seed), arguments.text("sampling", sampling)
        self.reject = arguments.boolean("reject", reject)
        self.sources: list[_Source] = []
        self.noises: dict[str, Noise] = {}
        self.t_span = t_span
        for kind, given in sources:
            joint = given if isinstance(given, JointDraw) else None
            names, value = (joint.names, joint) if joint else given
            arguments.check_known(kind, names, model.variables)
            what = f"{kind}: {names[0]}"
            if isinstance(value, Noise):
                self._take(kind, names[0], value)
                continue
            flags = tuple(model.variables[name].flags for name in names)
            if is_chosen(value):
                made: Drawing | None = Pick.of(names[0], value)
                flags = (0,)  # of the number of a row
            else:
                made = joint.laws(kind, compiled) if joint else several_of(what, value, 1, compiled)
            made = law(what, value, compiled) if made is None else made
            self.sources.append(_Source(kind, names, flags, value, made))
        self.dimensions = sum(source.law.dimensions for source in self.sources)
        if self.reject and self.sampling != "random":
            raise ArgumentError(
                f"reject=True needs sampling='random': a trajectory drawn again leaves the points of {self.sampling!r}"
            )
        if self.reject and any(isinstance(source.law, Rows) for source in self.sources):
            raise ArgumentError("reject=True draws again, which only rows='random' of jointly can")
        self.functions = [source.names for source in self.sources if isinstance(source.law, DrawRule)]
        if self.functions and self.sampling != "random":
            raise ArgumentError(
                f"sampling={self.sampling!r}: {', '.join(self.functions[0])} is drawn by a function, which does not "
                "use where points lie; give distributions, or sampling='random'"
            )
        self.derived = in_order(model, expressions)
        self.model = model
        Uniforms(self.seed, self.sampling, 1, 1)  # an unknown sampling is an error before anything runs

    def _take(self, kind: str, name: str, noise: Noise) -> None:
        """A random process among the arguments."""
        if kind != "inputs":
            raise ArgumentError(f"{kind}: {name} is {noise!r}, which only inputs can be")
        if self.t_span is None:
            raise without_path(name, noise)
        self.noises[name] = noise

    @property
    def paths(self) -> dict[str, Paths]:
        """The paths of the inputs that are noise; with the seed, which those of a study have from its folder."""
        found = streams(self.noises, self.model.inputs)
        return {
            name: Paths.of(noise, self.t_span or (0, 0), self.seed, found[name])
            for name, noise in self.noises.items()
        }

    def fill(self, rest: dict[str, Any], first: int, last: int, count: int) -> tuple[dict[str, Any], Draws]:
        """The arguments of trajectories first <= i < last of `count`, and what was drawn and computed for them.

        `rest`: the arguments without what the plan adds, already cut to these trajectories.
        """
        table, redrawn = self._table(first, last, count)
        return self.complete(rest, table, first, redrawn)

    def complete(
        self, rest: dict[str, Any], table: Array, first: int = 0, redrawn: int = 0
    ) -> tuple[dict[str, Any], Draws]:
        """The arguments of trajectories from `first` on with the drawn numbers `table`, a row for each of `names`."""
        found: dict[str, dict[str, Array | SampleRows]] = {}
        draws = {}
        rows = iter(table)
        for source in self.sources:
            for name, flags in zip(source.names, source.flags):
                row = next(rows)
                self._check(source, name, flags, row, first)
                chosen = source.law.taken(row) if isinstance(source.law, Pick) else row
                draws[name], found.setdefault(source.kind, {})[name] = row, chosen
        for name, path in self.paths.items():
            found.setdefault("inputs", {})[name] = path.rows(name, first, first + table.shape[1])
        given = {kind: {**value, **found[kind]} if kind in found else value for kind, value in rest.items()}
        for each in self.derived:
            row = each.values(self.model, given, table.shape[1])
            given[each.kind] = {**given[each.kind], each.name: row}
            draws[each.name] = row
        return given, Draws(draws, self.seed, self.sampling, redrawn)

    @property
    def names(self) -> tuple[str, ...]:
        """What is drawn, in the order of the uniform numbers."""
        return tuple(name for source in self.sources for name in source.names)

    def quantiles(self, u: Array) -> Array:
        """The draws (names, n) at uniform numbers u (dimensions, n)."""
        table = np.empty((len(self.names), u.shape[1]))
        self._fill(table, np.ascontiguousarray(u))
        return table

    def _table(self, first: int, last: int, count: int) -> tuple[Array, int]:
        """The drawn numbers of trajectories first <= i < last of `count`, and how many were drawn again."""
        table = np.empty((len(self.names), last - first))
        if not self.sources:
            return table, 0
        uniforms = Uniforms(self.seed, self.sampling, count, self.dimensions)
        redrawn = 0
        for begin in range(first, last, BLOCK):
            end = min(begin + BLOCK, last)
            part = table[:, begin - first : end - first]
            self._fill(part, uniforms.block(begin, end), np.arange(begin, end), count)
            if self.reject:
                redrawn += self._again(part, begin, end)
        return table, redrawn

    def description(self) -> dict[str, Any]:
        """The draws as JSON: two plans with equal descriptions draw the same numbers."""
        sources = [
            {"kind": source.kind, "names": list(source.names), "law": _described(source.law)}
            for source in self.sources
        ]
        shared = streams(self.noises, self.model.inputs)
        noises = [
            [name, each.name, _described(each.numbers), each.dt, each.index, shared[name]]
            for name, each in self.noises.items()
        ]
        return {
            "seed": self.seed,
            "sampling": self.sampling,
            "reject": self.reject,
            "sources": sources,
            **({"noises": noises} if noises else {}),
            "expressions": [[each.kind, each.name, str(each.expression)] for each in self.derived],
        }

    def check_likely(self, count: int) -> None:
        """Reject distributions of which one of `count` draws is likely to break an assumption."""
        for source in self.sources if not self.reject else ():
            likely = _probability(source, source.flags[0])
            if likely is not None and likely * count > SELDOM:
                raise ArgumentError(
                    f"{source.kind}: {source.names[0]} is declared {assumption(source.flags[0])}, but the distribution "
                    f"breaks it with probability {likely:.3g}, in about {likely * count:.3g} of {count} draws. "
                    f"{self.remedy}"
                )

    def _fill(self, target: Array, u: Array, places: Any = None, count: int = 0) -> None:
        """Draw numbers at u; `places`: for which trajectories of `count`, where there are any."""
        row = dimension = 0
        for source in self.sources:
            end = row + len(source.names)
            last = dimension + source.law.dimensions
            if isinstance(source.law, Rows) and places is not None:
                target[row:end] = source.law.take(
                    places, self.seed + ((row + 1) << 96), count, f"{source.kind}: {source.given!r}"
                )
            else:
                target[row:end] = source.law.draw(u[dimension:last])
            row, dimension = end, last

    def _wrong(self, table: Array) -> Any:
        """Which columns break an assumption."""
        flags = [bits for source in self.sources for bits in source.flags]
        wrong = np.zeros(table.shape[1], dtype=bool)
        for bits, row in zip(flags, table):
            if bits:
                wrong |= ~holds(bits, row)
        return wrong

    def _again(self, table: Array, first: int, last: int) -> int:
        """Draw the columns that break an assumption again, attempt r with the key seed + r 2^64; count them."""
        wrong = self._wrong(table)
        total = 0
        for attempt in range(1, MOST_ATTEMPTS + 1):
            places = np.flatnonzero(wrong)
            if not len(places):
                return total
            total += len(places)
            key = self.seed + (attempt << 64)
            u = Uniforms(key, self.sampling, last, self.dimensions).block(first, last).take(places, axis=1)
            fresh = np.empty((len(table), len(places)))
            self._fill(fresh, u)
            table[:, places] = fresh
            wrong[places] = self._wrong(fresh)
        raise ArgumentError(
            f"reject: {int(wrong.sum())} of {last - first} trajectories still break an assumption after "
            f"{MOST_ATTEMPTS} draws; choose distributions that rarely do"
        )

    def _check(self, source: _Source, name: str, flags: int, row: Array, first: int) -> None:
        """Reject draws that are not finite or break an assumption, saying how likely these are."""
        finite = np.isfinite(row)
        if not finite.all():
            j = int(np.flatnonzero(~finite)[0])
            raise ArgumentError(
                f"{source.kind}: {name} = {row[j]} is drawn for trajectory {first + j}; it must be finite"
            )
        right = holds(flags, row) if flags else finite
        if right.all():
            return
        wrong = np.flatnonzero(~right)
        how = f"{wrong.size} of {row.size} draws are not (trajectory {first + wrong[0]}: {row[wrong[0]]:.6g})"
        likely = _probability(source, flags)
        more = "" if likely is None else f"; the distribution breaks it with probability {likely:.3g}"
        raise ArgumentError(
            f"{source.kind}: {name} is declared {assumption(flags)}, but {how}{more}. {self.remedy}"
        )


def _probability(source: _Source, flags: int) -> float | None:
    """The probability that a distribution of one number has the wrong sign; None if that is not known."""
    if len(source.names) > 1 or isinstance(source.law, DrawRule) or not flags & (NOT_NEGATIVE | NOT_POSITIVE):
        return None
    given = source.given.source if isinstance(source.given, JointDraw) else source.given
    if isinstance(source.law, KernelDensity):
        below = float(given.integrate_box_1d(-np.inf, 0.0))
    elif isinstance(source.given, JointDraw):
        return None
    else:
        below = float(given.cdf(0.0))
    return below if flags & NOT_NEGATIVE else 1 - below


_TAGS: dict[type, str] = {
    Compiled: "compiled",
    Steps: "discrete",
    InSciPy: "scipy",
    Normals: "normal",
    Copula: "copula",
    JointSamples: "samples",
    Rows: "rows",
    KernelDensity: "kernels",
    DrawRule: "function",
    Pick: "choice",
}
"""What the manifests of studies call the laws."""


def _described(value: Any) -> Any:
    """A law as JSON: its numbers in full or as a digest; what SciPy draws by the name and parameters there."""
    if isinstance(value, np.ndarray):
        few = (
            value.ravel().tolist() if value.size <= _FEW else hashlib.sha256(value.tobytes()).hexdigest()[:16]
        )
        return [list(value.shape), few]
    if isinstance(value, tuple):
        return [_described(each) for each in value]
    if isinstance(value, SampleRows):
        return value.digest()
    if is_dataclass(value):
        inner = {field.name: _described(getattr(value, field.name)) for field in fields(value)}
        return {"law": _TAGS[type(value)], **inner}
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if isinstance(value, (int, float, str)):
        return value
    if hasattr(value, "dist"):
        return f"{value.dist.name}{value.args}{value.kwds}"
    if is_function(value):
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}.{named.__qualname__}"
    return repr(value)

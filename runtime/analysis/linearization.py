"""Linearization: d(xi)/dt = A xi + B du, dz = C xi + D du for small deviations xi of independent states.

With constraints and invariants h(y) = 0, dy = N xi, N = [I; -h_d^-1 h_i] for independent states i and dependent ones d,
A = N+ (dF/dy) N, B = N+ dF/du, where N+ = [I, 0] picks the independent rows: F leaves h = 0 invariant, so the others
only repeat them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel
from ..problem.consistency import judge, share
from ..problem.continued import continued
from ..results.plotting import labelled
from .field import TURNING, Field, exact, named, point, refuse
from .pictures import locus, roots
from .scaling import WEAK

scipy = later("scipy")

Complex = NDArray[np.complex128]

_GIVEN = ("state", "parameters", "inputs")
ABOUT = ("equilibrium", "steady")
NEUTRAL = 1e-7
"""Real parts below this share of `size` are taken as zero: what rounding makes of a double eigenvalue."""
FLOQUET = "If it repeats itself after a period T, model.periodic(state, T, ...) gives the Floquet multipliers, which do"
_DIGITS = 4.0 * float(np.finfo(np.float64).eps)
"""The last digits of a state, as a share of it."""
_RANK = 1e-10
"""Pivots of dh/dy below this share of the largest are rows that repeat others."""


class Mode(NamedTuple):
    """An eigenvalue, its frequency |Im| and damping ratio -Re/|eigenvalue|, and the deviation of each state in it."""

    eigenvalue: complex
    frequency: float
    damping: float
    shape: dict[str, complex]


@dataclass(frozen=True, eq=False)
class Linearization:
    """The linear equations near an equilibrium or a steady motion; see `Model.linearize`.

    Attributes
    ----------
    A, B, C, D : d(xi)/dt = A xi + B du, dz = C xi + D du.
    states : the names of xi, independent states of the model.
    dependent : the states that follow from xi by constraints and invariants; they come first in z.
    dropped : the ignorable coordinates, in steady motions; their rates ``der(x)`` are in z, if they are constant.
    inputs, outputs : the names of u and z.
    point : the state, parameters and inputs by name; `t`, the time; `about`, "equilibrium" or "steady".
    changing : the name of a state whose row of A depends on the time, so that A is that of the time t only; or None.
    """

    title: str
    about: str
    t: float
    point: dict[str, float]
    states: tuple[str, ...]
    dependent: tuple[str, ...]
    dropped: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    A: Array
    B: Array
    C: Array
    D: Array
    changing: str | None = None

    @cached_property
    def eigenvalues(self) -> Complex:
        """The eigenvalues of A, by falling real part, then by imaginary part."""
        return self._eigen[0]

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """The eigenvectors, in the order of `eigenvalues`, each with its largest entry 1."""
        found = []
        kept = (*self.states, *self.dependent)
        across = self.C[: len(self.dependent)]
        for value, vector in zip(self._eigen[0], self._eigen[1].T):
            full = np.concatenate([vector, across @ vector])
            full = full / full[np.argmax(np.abs(full))]
            damping = 0.0 - value.real / abs(value) if value else 0.0
            shape = dict(zip(kept, map(complex, full)))
            found.append(Mode(complex(value), abs(float(value.imag)), float(damping), shape))
        return tuple(found)

    @property
    def stability(self) -> str:
        """ "asymptotically stable", "unstable", or "neutral": the linear equations do not decide.

        Raises `ArgumentError` if A depends on the time.
        """
        if self.changing is not None:
            raise ArgumentError(
                f"{self.title}: the linear equation of {self.changing} depends on the time, so the eigenvalues of A at "
                f"t = {self.t:g} do not decide on stability. {FLOQUET}"
            )
        return stability(self.A, self.eigenvalues)

    def to_scipy(self) -> Any:
        """The `scipy.signal.StateSpace` with these A, B, C, D. Raises ArgumentError without inputs or outputs."""
        for kind, names in (("input", self.inputs), ("output", self.outputs)):
            if not names:
                raise ArgumentError(f"to_scipy: a StateSpace needs an {kind}, and {self.title} has none")
        return scipy.signal.StateSpace(self.A, self.B, self.C, self.D)

    def plot(self, file: Any = None) -> Any:
        """A picture of the eigenvalues in the complex plane, a Matplotlib figure; written to `file` if given."""
        return roots(self.eigenvalues, self.title, file)

    @cached_property
    def _eigen(self) -> tuple[Complex, Complex]:
        values, vectors = np.linalg.eig(self.A) if len(self.A) else (np.empty(0), np.empty((0, 0)))
        order = np.lexsort((values.imag, -np.round(values.real, 12)))
        return values.astype(np.complex128)[order], vectors.astype(np.complex128)[:, order]

    def __repr__(self) -> str:
        stability = self.stability if self.changing is None else f"at t = {self.t:g} only"
        return (
            f"<Linearization of {self.title}, {self.about}: states {', '.join(self.states)}; {stability}; "
            f"eigenvalues {', '.join(f'{e:.6g}' for e in self.eigenvalues)}>"
        )


@dataclass(frozen=True, eq=False)
class Family(Sequence[Linearization]):
    """Linearizations along values of parameters, inputs or states: a sequence, with stacked arrays.

    Attributes
    ----------
    members : the linearizations, N of them, all with the same independent states.
    varied : the values (N,) by name.
    units : the units of the model's quantities by name.
    """

    members: tuple[Linearization, ...]
    varied: dict[str, Array]
    units: dict[str, str]

    @property
    def states(self) -> tuple[str, ...]:
        """The independent states."""
        return self.members[0].states

    @property
    def A(self) -> Array:
        """(N, n, n)."""
        return np.array([m.A for m in self.members])

    @property
    def B(self) -> Array:
        """(N, n, inputs)."""
        return np.array([m.B for m in self.members])

    @property
    def C(self) -> Array:
        """(N, outputs, n)."""
        return np.array([m.C for m in self.members])

    @property
    def D(self) -> Array:
        """(N, outputs, inputs)."""
        return np.array([m.D for m in self.members])

    @cached_property
    def eigenvalues(self) -> Complex:
        """(N, n): each column follows one eigenvalue, the nearest from row to row."""
        rows = [self.members[0].eigenvalues]
        for member in self.members[1:]:
            rows.append(matched(rows[-1], member.eigenvalues))
        return np.array(rows)

    @property
    def stability(self) -> tuple[str, ...]:
        """That of each member."""
        return tuple(m.stability for m in self.members)

    def plot(self, file: Any = None) -> Any:
        """The root locus, a Matplotlib figure; written to `file` if given."""
        name, values = next(iter(self.varied.items()))
        label = labelled(name, self.units.get(name, ""))
        return locus(self.eigenvalues, values, label, self.members[0].title, file)

    def __getitem__(self, i: Any) -> Any:
        return self.members[i]

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        return f"<{len(self)} linearizations of {self.members[0].title} along {', '.join(self.varied)}>"


def matched(wanted: Complex, values: Complex) -> Complex:
    """The values in the order in which they are nearest to those wanted."""
    _, order = scipy.optimize.linear_sum_assignment(np.abs(wanted[:, None] - values[None]))
    return np.asarray(values[order])


def stability(a: Array, eigenvalues: Complex) -> str:
    """What the eigenvalues of A say."""
    if not a.size:
        return "neutral"
    largest, limit = eigenvalues.real.max(), NEUTRAL * size(a)
    if largest > limit:
        return "unstable"
    return "asymptotically stable" if largest < -limit else "neutral"


def size(a: Array) -> float:
    """The norm of A in units of the states in which it is balanced, so that it is a rate whatever their units are."""
    return float(np.linalg.norm(scipy.linalg.matrix_balance(a)[0], 2))


def linearize(
    model: CompiledModel, state: Any, parameters: Any, inputs: Any, t: float, about: str
) -> Linearization | Family:
    """See `Model.linearize`."""
    arguments.choice("about", about, ABOUT)
    refuse(model)
    arguments.refuse_number("state", state, "t", "The time")
    time = arguments.number("t", t)
    given = dict(zip(_GIVEN, continued(model, state, parameters, inputs)))
    varied = _varied(given)
    if not varied:
        return linearized(model, _point(model, time, given), about)
    count = len(next(iter(varied.values())))
    points = [
        _point(model, time, {kind: _member(kind, value, i) for kind, value in given.items()})
        for i in range(count)
    ]
    first = linearized(model, points[0], about)
    rest = [linearized(model, v, about, first.states) for v in points[1:]]
    return Family((first, *rest), varied, model.units)


def linearized(
    model: CompiledModel, v: Array, about: str, independent: Sequence[str] | None = None
) -> Linearization:
    """The linear equations about v = (t, y, p, u); `independent` names the states to be used."""
    field = Field(model, v, about)
    value, slopes = field.motion(v)
    sizes, terms = field.sizes(v)
    units, rows = field.units_of_rest(v, sizes)
    _check_rest(field, v, value, slopes, about, units, rows, terms)
    units = np.fmax(units, np.abs(v))
    kink = field.kink(v, units, rows)
    if kink is not None:
        raise ArgumentError(
            f"linearize: {model.name} has no derivative at this state: {kink} is zero there, where Abs, sign, Min, Max "
            "or a condition switches; write it with smooth functions, or linearize about a state beside it"
        )
    kink = field.kink_of_output(v, units)
    if kink is not None:
        raise ArgumentError(
            f"linearize: the output {kink} of {model.name} has no derivative at this state, where Abs, sign, Min, Max "
            "or a condition switches; write it with smooth functions, or linearize about a state beside it"
        )
    _, closing = field.closure(v)
    inside = [1 + i for i in field.kept]
    names = [model.states[i] for i in field.kept]
    free, follow = _independent(closing[:, inside], names, independent)
    across = _across(closing[:, inside], free, follow, names)
    n = np.zeros((len(names), len(free)))
    n[free], n[follow] = np.eye(len(free)), across
    driven = slice(len(v) - len(model.inputs), None)

    def matrix(near: Array) -> Array:
        moved = np.zeros((len(names), len(free)))
        moved[free] = np.eye(len(free))
        moved[follow] = _across(field.closure(near)[1][:, inside], free, follow, names)
        return np.asarray(field.motion(near)[1][free][:, inside] @ moved)

    observed = field.observed(v)
    c = np.concatenate([across, observed[:, inside] @ n])
    d = np.concatenate([np.zeros((len(follow), len(model.inputs))), observed[:, driven]])
    return Linearization(
        title=f"{model.name} ({model.form})" if model.form else model.name,
        about=about,
        t=float(v[0]),
        point=named(field.names[1:], v[1:]),
        states=tuple(names[i] for i in free),
        dependent=tuple(names[i] for i in follow),
        dropped=tuple(model.states[i] for i in field.dropped),
        inputs=tuple(model.inputs),
        outputs=(*(names[i] for i in follow), *field.outputs),
        A=exact(matrix, v),
        B=slopes[free][:, driven],
        C=c,
        D=d,
        changing=field.changing(v),
    )


def _independent(
    closing: Array, names: Sequence[str], wanted: Sequence[str] | None
) -> tuple[list[int], list[int]]:
    """The independent and the dependent ones of the states, by pivoting of dh/dy."""
    if wanted is not None:
        return [i for i, n in enumerate(names) if n in wanted], [
            i for i, n in enumerate(names) if n not in wanted
        ]
    if not len(closing):
        return list(range(len(names))), []

    scaled = closing / np.maximum(np.linalg.norm(closing, axis=1, keepdims=True), 1e-300)
    _, upper, order = scipy.linalg.qr(scaled, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(upper))
    rank = int((sizes > _RANK * max(sizes[0], 1e-300)).sum()) if sizes.size else 0
    follow = sorted(map(int, order[:rank]))
    return [i for i in range(len(names)) if i not in follow], follow


def _across(closing: Array, free: list[int], follow: list[int], names: Sequence[str]) -> Array:
    """d(dependent states)/d(independent states) = -h_d^-1 h_i."""
    dependent = closing[:, follow]
    if np.linalg.matrix_rank(
        dependent, tol=_RANK * max(float(np.abs(closing).max(initial=0.0)), 1e-300)
    ) < len(follow):
        raise ArgumentError(
            f"linearize: the constraints do not determine {', '.join(names[i] for i in follow)} at every point of the "
            "family: linearize those points singly"
        )
    found, *_ = np.linalg.lstsq(dependent, -closing[:, free], rcond=None)
    return np.asarray(found)


def _check_rest(
    field: Field, v: Array, value: Array, slopes: Array, about: str, units: Array, rows: Array, terms: Array
) -> None:
    """Reject a point at which the kept states change, by more than a share of the terms and units of their rates."""
    model = field.model
    inside = slice(1, 1 + len(model.states))
    by_states = np.abs(slopes[:, inside])
    sizes = by_states @ units[inside]
    least = np.fmax(sizes, WEAK * sizes.max(initial=0.0))  # what moves states that should be zero is rounding
    # A rest can lie between two neighbouring numbers.
    last = _DIGITS * (by_states @ np.abs(v[inside]))
    value = np.where(np.abs(value) > last, value, 0.0)
    off = share(value, terms, np.fmax(least, rows[: len(value)]))
    worst = int(np.argmax(off)) if off.size else 0
    name = model.states[field.kept[worst]] if off.size else ""

    def text(_: int) -> str:
        rate = f"d({name})/dt = {value[worst]:.6g}"
        if about == "equilibrium":
            return (
                f"linearize: the state is not an equilibrium, {rate}: model.equilibrium finds one; "
                'about="steady" is for steady motions'
            )
        ignored = ", ".join(model.states[i] for i in field.dropped) or "none"
        if field.kept[worst] < model.n_coordinates:
            return (
                f"linearize: the motion is not steady in these variables, {rate}, and the equations depend on {name} "
                f"(ignorable coordinates: {ignored}). {TURNING}"
            )
        return (
            f"linearize: the motion is not steady, {rate} (ignorable coordinates: {ignored}): model.steady_motion "
            f"finds one. {TURNING}"
        )

    judge(off.max(initial=0.0, keepdims=True), text)


def _varied(given: Mapping[str, Any]) -> dict[str, Array]:
    """The entries that have one value for each member of a family."""
    found: dict[str, Array] = {}
    for kind, values in given.items():
        for name, value in (arguments.named(kind, values) or {}).items():
            if isinstance(value, (tuple, str)) or callable(value) or np.ndim(value) == 0:
                continue
            row = arguments.array(f"{kind}: {name}", value)
            if row.ndim != 1 or not len(row):
                raise ArgumentError(
                    f"{kind}: {name} has shape {row.shape}; a number, or an array of numbers for a family, is needed"
                )
            if found and len(row) != len(next(iter(found.values()))):
                first, other = next(iter(found.items()))
                raise ArgumentError(f"{kind}: {name} has length {len(row)}, {first} has {len(other)}")
            found[name] = row
    return found


def _member(kind: str, values: Any, i: int) -> Any:
    given = arguments.named(kind, values)
    if given is None:
        return values
    return {
        k: np.asarray(value)[i] if not isinstance(value, tuple) and np.ndim(value) == 1 else value
        for k, value in given.items()
    }


def _point(model: CompiledModel, t: float, given: Mapping[str, Any]) -> Array:
    return point(model, t, *model._prepare(t, given["state"], given["parameters"], given["inputs"]))

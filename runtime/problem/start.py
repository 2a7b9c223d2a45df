"""The start of a run: states, parameters and inputs from the user's arguments, by name or as vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError, KernelError

from .. import problem
from ..interface import arguments, assumptions
from ..interface.arguments import Array, wide
from ..interface.base_model import BaseModel
from ..interface.limits import REFUSE, WARN
from .continued import continued

_ITERATIONS = 50
_SMALL = 6e-6
"""Relative step of central differences, about the cube root of the spacing of float64 at 1."""


class InitialStates(BaseModel):
    """The checked start of a run from the user's arguments."""

    def _prepare(
        self,
        t0: float,
        initial: Any,
        parameters: Any,
        inputs: Any,
        accuracy: problem.Accuracy | None = None,
    ) -> tuple[Array, Array, problem.Inputs]:
        """Checked initial state (n,), parameters (np,) and inputs of a run, from the user's arguments."""
        accuracy = problem.STRICT if accuracy is None else accuracy
        initial, parameters, inputs = continued(self, initial, parameters, inputs)
        controls = problem.parse(inputs, self.inputs, flags=self._input_flags)
        if isinstance(initial, problem.DecidedStart):
            x0, p = initial.begin(self, t0, parameters, controls, accuracy)
            return x0, p, controls
        x0, p = self._initial(t0, initial, parameters, controls, None)
        problem.check_start(self, t0, x0, p, controls, accuracy)
        return x0, p, controls

    def _initial(
        self, t0: float, initial: Any, parameters: Any, controls: problem.Inputs, count: int | None
    ) -> tuple[Array, Array]:
        """States and parameters of a run (n,), or with `count`, of the columns of an ensemble (n, N)."""
        x0, p = self._states(t0, initial, parameters, controls, count)
        if self.contacts:
            self._check_friction(t0, x0, p, controls)
        return x0, p

    def _check_friction(self, t0: float, x0: Array, p: Array, controls: problem.Inputs) -> None:
        """Reject contacts that would drive their slip at the start: with mu < 0, or with mu |N| + c < 0.

        c is what jumps with the slip besides. mu |N| is the friction of the kernel `contacts`, with all contacts
        slipping forwards, and its limit is the sum; nothing follows from N = 0 about mu.
        """
        states = wide(x0)
        u = self._slipping(controls.first(t0, x0))
        rows = self._columns("contacts", np.array([t0]), states, wide(p), u, None, strict=False)
        for name, sign, (_, force, limits, _, normals) in zip(
            self.contacts, self._signs, rows.reshape(-1, 5, rows.shape[1])
        ):
            own = -force if sign < 0 else -force * np.sign(normals)
            wrong = np.flatnonzero((own < 0) | (limits < 0))
            if wrong.size:
                j = int(wrong[0])
                where = f" in column {j}" if len(limits) > 1 else ""
                if own[j] < 0:
                    raise ArgumentError(
                        f"contact {name}: mu = {own[j] / abs(normals[j]):.6g} is negative at the start{where}; a "
                        "coefficient of friction must be positive or zero"
                    )
                raise ArgumentError(
                    f"contact {name}: at the start{where} friction holds its slip by {own[j]:.6g}, and the other "
                    f"forces that jump with it drive it by {own[j] - limits[j]:.6g}; friction must be the larger one"
                )

    def _states(
        self, t0: float, initial: Any, parameters: Any, controls: problem.Inputs, count: int | None
    ) -> tuple[Array, Array]:
        """`_initial` without checking the contacts."""
        given = arguments.named("initial", initial)
        if given is not None and self.has_initial and not self._direct(given, parameters):
            return self._from_declared(t0, given, parameters, controls, count)
        p = self._table("parameters", parameters, self.parameters, count)
        if given is None:
            return self._table("initial", initial, self.states, count), p
        dependent = {name: given.pop(name) for name in list(given) if self._dependent(name)}
        missing = self._left_out(given, self.states)
        if missing and dependent and len(missing) + len(given) == len(self.states):
            start, _ = self._partial("initial", given, self.states, count)
            u = controls.of_time(t0, start)
            return self._found(
                np.array([t0]), wide(start), self.states, missing, dependent, lambda x: (x, wide(p)), u, count
            ), p
        if missing and set(given) <= set(self.states):
            raise self._velocities_missing(missing, given)
        x0 = self._table("initial", given, self.states, count)
        self._check_dependent(t0, dependent, x0, p, controls, count)
        return x0, p

    def _left_out(self, given: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
        """The velocities among `names` that are not given; none if a coordinate is missing too."""
        missing = [name for name in names if name not in given]
        return [] if any(self.variables[name].kind == "coordinate" for name in missing) else missing

    def _velocities_missing(self, missing: list[str], given: Mapping[str, Any]) -> ArgumentError:
        """The error for velocities that are not given, and what finds those that the constraints determine."""
        advice = ""
        if any(name.startswith(("constraint_", "holonomic_")) for name in self.residuals):
            keep = [name for name in given if self.variables[name].kind != "coordinate"]
            held = f", keep={keep}" if keep else ""
            advice = (
                f"; model.consistent(initial, parameters{held}) finds velocities that satisfy the constraints"
            )
        return ArgumentError(f"initial: missing {', '.join(missing)}{advice}")

    def _found(
        self,
        moment: Array,
        start: Array,
        names: tuple[str, ...],
        missing: list[str],
        dependent: Mapping[str, Any],
        states: Callable[[Array], tuple[Array, Array]],
        u: Array,
        count: int | None,
    ) -> Array:
        """The columns `start` (n, 1 or N) of the variables `names`; missing ones follow from given dependent ones.

        `states` computes states and parameters from such columns. Raises `ArgumentError` if that is not possible.
        """
        known = {
            name: np.atleast_1d(self._table("initial", {name: value}, (name,), count)[0])
            for name, value in dependent.items()
        }
        width = count or 1
        rows, places = [self.outputs.index(n) for n in known], [names.index(n) for n in missing]
        columns = np.array(np.broadcast_to(start, (len(names), width)))

        def values(theta: Array) -> Array:
            columns[places] = theta
            x, p = states(columns)
            return self._columns("outputs", moment, x, p, self._slipping(u), None, strict=False)[rows]

        guess = [self.variables[name].example for name in missing]
        columns[places] = solve_missing(missing, guess, known, values, width)
        return columns[:, 0].copy() if count is None else columns

    def _direct(self, given: Mapping[str, Any], parameters: Any) -> bool:
        """Whether the kernel `initial` is not needed: all states and parameters are given."""
        if set(given) != set(self.states):
            return False
        if not set(given) <= set(self.declared):
            return True
        by_name = arguments.named("parameters", parameters)
        return by_name is None or len(by_name) == len(self.parameters)

    def _check_dependent(
        self,
        t0: float,
        dependent: Mapping[str, Any],
        x0: Array,
        p: Array,
        controls: problem.Inputs,
        count: int | None,
    ) -> None:
        """Reject or warn about declared variables that contradict the states."""
        if not dependent:
            return
        moment, u = np.array([t0]), self._slipping(controls.first(t0, x0))
        try:
            rows = self._columns("outputs", moment, wide(x0), wide(p), u, None)
        except KernelError as error:
            lost = problem.at_start(self, t0, self.states, x0, p)
            if lost:
                raise ArgumentError(lost) from error
            raise
        for name, value in dependent.items():
            place = self.outputs.index(name)

            def outputs(x: Array, place: int = place) -> Array:
                return self._columns("outputs", moment, x, wide(p), u, None, strict=False)[[place]]

            given = self._table("initial", {name: value}, (name,), count)
            self._agree(name, given, rows[place], self.states, x0, outputs)

    def _from_declared(
        self, t0: float, given: dict[str, Any], parameters: Any, controls: problem.Inputs, count: int | None
    ) -> tuple[Array, Array]:
        """States and parameters from the declared variables, by the model's kernel `initial`.

        Values that follow from the others can be left out: a dependent velocity, or a parameter such as an energy or a
        cyclic momentum.
        """
        if self.along is not None:
            given = {**given, self.along: self._begin(self.along, t0, given)}
        extra = {n: given.pop(n) for n in list(given) if n not in self.declared and self._dependent(n)}
        declared = _Declared(self, t0, given, parameters, controls, count)
        missing = self._left_out(given, self.declared)
        if extra and missing and len(missing) == len(declared.left_out):
            declared.find(missing, extra)
            extra = {}
        x, p = declared.states()
        declared.check_parameters(p)
        x0, complete = (x[:, 0], p[:, 0]) if count is None else (x, p)
        dependent = extra | {name: value for name, value in given.items() if self._dependent(name)}
        self._check_dependent(t0, dependent, x0, complete, controls, count)
        return x0.copy(), complete.copy()

    def _following(
        self, t: float, declared: Mapping[str, float], p: Array, controls: problem.Inputs
    ) -> frozenset[str]:
        """The parameters that follow from the declared variables: `h` and `a_...` of the reduced forms.

        The kernel `initial` returns every other parameter unchanged.
        """
        if self._parameters_following is None:
            given = dict(declared) if self.along is None else {**declared, self.along: t}
            start, _ = self._partial("initial", given, self.declared, None)
            # Factors without a common measure: with simple ones a parameter that follows can agree by coincidence.
            other = 0.7 + (2.0 + np.sqrt(np.arange(2.0, p.size + 2.0))) * p
            u = controls.of_time(t, start)
            rows = self._columns(
                "initial", np.array([t]), wide(start), wide(other), wide(u), None, strict=False
            )
            changed = rows[len(self.states) :, 0] != other
            self._parameters_following = frozenset(n for n, new in zip(self.parameters, changed) if new)
        return self._parameters_following

    def _begin(self, along: str, t0: float, given: Mapping[str, Any]) -> float:
        """The initial value of the coordinate that is the independent variable; it must be the start of the run."""
        values = arguments.array(f"initial: {along}", given.get(along, t0))
        advice = (
            f"in the form {self.form} {along} is the independent variable, set by t_span (for a stepper, t0); leave it "
            "out or make it agree"
        )
        problem.agree(
            f"initial: {along}", values, t0, lambda: np.zeros(1), lambda *_: advice, "the start of the run,"
        )
        return t0

    def _partial(
        self, kind: str, value: Any, names: tuple[str, ...], count: int | None
    ) -> tuple[Array, list[str]]:
        """A table with NaN for names missing from a dict, and these names."""
        given = arguments.named(kind, {} if value is None else value)
        if given is None:
            return self._table(kind, value, names, count), []
        left_out = [name for name in names if name not in given]
        part = self._table(kind, given, tuple(name for name in names if name in given), count)
        table = np.full((len(names), *part.shape[1:]), np.nan)
        table[[name in given for name in names]] = part
        return table, left_out

    def _table(self, kind: str, value: Any, names: tuple[str, ...], count: int | None) -> Array:
        if count is None:
            return arguments.vector(kind, value, names)
        return arguments.matrix(kind, value, names, count)

    def _dependent(self, name: str) -> bool:
        found = self.variables.get(name)
        return (
            found is not None
            and found.kind == "declared"
            and name in self.outputs
            and name not in self.states
        )

    def _agree(
        self,
        name: str,
        given: Array,
        found: Array,
        entries: tuple[str, ...],
        start: Array,
        values: Callable[[Array], Array],
        kind: str = "initial",
    ) -> None:
        """Reject or warn about a variable that contradicts `values` of the columns `start` of `entries`."""

        def sizes() -> Array:
            moving = [i for i, n in enumerate(entries) if n != "t" and self.variables[n].kind != "coordinate"]
            columns = np.array(wide(start))

            def of(speeds: Array) -> Array:
                columns[moving] = speeds
                return values(columns)

            row: Array = term_sizes(columns[moving], of)[0]
            return row

        def advice(value: float, right: float) -> str:
            if self.along is not None and abs(value + right) <= REFUSE * abs(right):
                return (
                    f"this value belongs to the other branch of the form {self.form}: compile with branch=1 or "
                    f"branch=-1, the sign of d{self.along}/dt"
                )
            return "leave it out or make it agree"

        problem.agree(f"{kind}: {name}", given, found, sizes, advice)


class _Declared:
    """Declared variables and parameters for the kernel `initial`: NaN stands for what is left out.

    The kernel gives NaN where it needs such a value, so that nothing else has to know what depends on what.
    """

    def __init__(
        self,
        model: InitialStates,
        t0: float,
        given: Mapping[str, Any],
        parameters: Any,
        controls: problem.Inputs,
        count: int | None,
    ) -> None:
        self.model, self.t0, self.controls, self.count = model, t0, controls, count
        self.start, self.left_out = model._partial("initial", given, model.declared, count)
        for name, row in zip(model.declared, self.start):
            if name not in self.left_out:
                assumptions.check_row("initial", name, model.variables[name].flags, row)
        self.p, self.unset = model._partial("parameters", parameters, model.parameters, count)
        self.u = controls.of_time(t0, self.start)

    def at(self, columns: Array, strict: bool = False) -> tuple[Array, Array]:
        """States and parameters for columns of declared variables."""
        rows = self.model._columns(
            "initial", np.array([self.t0]), columns, wide(self.p), wide(self.u), None, strict=strict
        )
        return rows[: len(self.model.states)], rows[len(self.model.states) :]

    def find(self, missing: list[str], extra: Mapping[str, Any]) -> None:
        """Fill in the missing velocities that belong to given values of other ones."""
        model, moment = self.model, np.array([self.t0])
        self.start = model._found(
            moment, wide(self.start), model.declared, missing, extra, self.at, self.u, self.count
        )
        self.left_out = []

    def states(self) -> tuple[Array, Array]:
        """States and complete parameters, with columns. Raises `ArgumentError` for what is missing."""
        x, p = self.at(wide(self.start), strict=True)
        if self.controls.functions:  # functions of the states, which are not known until now
            self.u = self.controls.first(self.t0, x[:, 0] if self.count is None else x)
            x, p = self.at(wide(self.start), strict=True)
        if np.isnan(x).any() or np.isnan(p).any():
            self._refuse(p)
        arguments.check_finite("initial", x, self.model.states)
        return x, p

    def _refuse(self, p: Array) -> None:
        """Report what the kernel lacked: parameters come out as they went in, unless they are computed."""
        model = self.model
        lost = "" if self.left_out else problem.at_start(model, self.t0, model.declared, self.start, self.p)
        if lost:
            raise ArgumentError(lost)
        unknown = [n for n, row in zip(model.parameters, p) if n in self.unset and np.isnan(row).any()]
        missing = {"initial": self.left_out, "parameters": unknown}
        parts = [f"{kind}: missing {', '.join(names)}" for kind, names in missing.items() if names]
        if parts:
            raise ArgumentError("; ".join(parts))

    def check_parameters(self, complete: Array) -> None:
        """Reject or warn about given parameters that contradict those that follow from the declared variables."""
        model = self.model
        for k, (name, before, after) in enumerate(zip(model.parameters, wide(self.p), complete)):
            if not np.isnan(before).any():

                def follows(columns: Array, k: int = k) -> Array:
                    return self.at(columns)[1][[k]]

                model._agree(name, before, after, model.declared, self.start, follows, "parameters")


def solve_missing(
    unknown: Sequence[str],
    guess: Sequence[float],
    given: Mapping[str, Array],
    values: Callable[[Array], Array],
    width: int,
) -> Array:
    """The unknowns (k, N) for which `values` (k, N) -> (d, N) is nearest to the given rows, each (1,) or (N,).

    With independent parameters theta, or independent velocities, the declared velocities are functions
    eta_p = beta_p(t, x, theta). If eta is given in place of theta, theta is found by Gauss-Newton least squares, and
    beta(theta) - eta is checked as by `consistency`. For an affine beta one step is exact; of several solutions of a
    nonlinear one that near the example point is found.

    `guess` has their values at the example point, NaN if the example gives none; `width` is N. Raises `ArgumentError`
    if the given values do not determine the unknowns, or contradict one another.
    """
    wanted = np.array([np.broadcast_to(row, (width,)) for row in given.values()])
    names = f"{', '.join(given)} do not determine {', '.join(unknown)}"
    if len(given) < len(unknown):
        raise ArgumentError(f"initial: missing {', '.join(unknown)}; {names}")
    best = np.full((len(unknown), width), np.nan)
    left, off = np.full(wanted.shape, np.nan), np.full(wanted.shape, np.inf)
    slopes = np.full((len(wanted), len(unknown), width), np.nan)
    for start in _starts(guess):
        theta, there = _least_squares(np.repeat(start[:, None], width, axis=1), wanted, values)
        now = values(theta)
        rest = now - wanted
        ratio = problem.share(rest, np.abs(wanted) + np.abs(now) + np.abs(there * theta).sum(axis=1))
        better = ratio.max(axis=0) < off.max(axis=0)
        best, slopes = np.where(better, theta, best), np.where(better, there, slopes)
        left, off = np.where(better, rest, left), np.where(better, ratio, off)
        if not (off > WARN).any():
            break
    known = np.isfinite(best).all() and np.isfinite(slopes).all()
    if not known or (width and np.linalg.matrix_rank(_stacked(slopes)).min() < len(unknown)):
        raise ArgumentError(f"initial: {names}")

    def text(j: int) -> str:
        k = int(np.argmax(off[:, j]))
        return (
            f"initial: {list(given)[k]} = {wanted[k, j]:.6g} contradicts the other velocities: the nearest permitted "
            f"value is {wanted[k, j] + left[k, j]:.6g}"
        )

    problem.judge(off.max(axis=0), text)
    return best


def term_sizes(theta: Array, values: Callable[[Array], Array]) -> Array:
    """Sums of the magnitudes of the contributions of theta (k, N) to `values` (k, N) -> (d, N); NaN counts as 0."""
    return np.asarray(np.nansum(np.abs(_slopes(theta, values, True) * theta), axis=1))


def _starts(guess: Sequence[float]) -> list[Array]:
    example = np.array(guess, dtype=np.float64)
    return [np.where(np.isnan(example), fill, example) for fill in (0.0, 1.0, 0.3)] + [
        np.full(len(example), 1.0),
        np.full(len(example), -0.7),
    ]


def _least_squares(theta: Array, wanted: Array, values: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Gauss-Newton steps from theta (k, N); returns the result and the slopes (d, k, N) there.

    The result for one column does not depend on the others, so that a single trajectory can be rerun by itself.
    """
    slopes = _slopes(theta, values, True)
    moving = np.ones(theta.shape[1], dtype=bool)
    with np.errstate(all="ignore"):
        for i in range(_ITERATIONS):
            left = values(theta) - wanted
            moving &= np.isfinite(slopes).all(axis=(0, 1)) & np.isfinite(left).all(axis=0)
            if not moving.any():
                break
            inverse = np.linalg.pinv(_stacked(np.where(moving, slopes, 0.0)))
            step = np.zeros_like(theta)
            for d in range(len(left)):
                step += np.where(moving, inverse[:, :, d].T * left[d], 0.0)
            theta = theta - step
            moving &= (np.abs(step) > 4e-16 * (1.0 + np.abs(theta))).any(axis=0)
            # For affine values the first slopes are exact, so the next step is zero.
            if i > 0 and moving.any():
                slopes = np.where(moving, _slopes(theta, values, False), slopes)
    return theta, slopes


def _slopes(theta: Array, values: Callable[[Array], Array], wide: bool) -> Array:
    """d values / d theta (d, k, N) by central differences; for affine values a wide step is just as exact."""
    columns = []
    for i in range(len(theta)):
        h = np.ones_like(theta[i]) if wide else _SMALL * (1.0 + np.abs(theta[i]))
        above, below = theta.copy(), theta.copy()
        above[i] += h
        below[i] -= h
        columns.append((values(above) - values(below)) / (above[i] - below[i]))
    return np.stack(columns, axis=1)


def _stacked(slopes: Array) -> Array:
    return np.moveaxis(slopes, -1, 0)

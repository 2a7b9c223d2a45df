"""The result of a run: times, states, and every declared quantity by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chaplygin.errors import ArgumentError, optional

from ..interface.arguments import Array, array
from ..interface.statuses import ACCUMULATING, message_of
from ..problem import pivots
from ..problem.consistency import Accepted
from ..problem.inputs import Inputs
from ..problem.options import RunOptions
from . import plotting
from .series import Series

if TYPE_CHECKING:
    from ..interface.base_model import BaseModel
    from ..sensitivities.sensitivity import Sensitivity
    from .audit import Audit
    from .event_record import EventRecord, Mode, Paradox


class Problem(NamedTuple):
    """The initial value problem of a run, except its parameters and inputs, and the options for solving it."""

    t_span: tuple[float, float]
    x0: Array
    t_eval: Array | None
    keywords: dict[str, Any]
    """Of `RunOptions`."""
    events: Any


class Solution:
    """The result of `integrate`, as from `scipy.integrate.solve_ivp`, plus access by name.

    t (N,), y (n, N); `status` is 0 if the end was reached, 1 after a terminal event, and negative for an error of
    ``chaplygin.h``; `message` says what happened and when; `success`; `method`; nfev, njev, nlu; `sol`, the
    interpolant, with ``dense_output=True``. A failed run contains everything computed before it failed; its last row is
    the state that it has reached, at `t_reached`, also with `t_eval`.

    t_events and y_events: lists with an array for each event, (k,) and (k, n), those of the model first, then those
    given to `integrate`; the states are those before a reset. None if there are no events. At a reset or a mode change
    `t` contains the time twice, with the states before and after (with `t_eval`, only the one before).
    ``modes``: the history of the contact modes, a list of `Mode` (t_start, t_end, contacts, signs, ended_by).
    ``sensitivity``: with ``sensitivities=[...]`` the `Sensitivity` of the run, else None.
    ``paradox``: for a run that ended with status -10, the `Paradox` with the time, the state and all solutions found.

    ``sol["v"]`` is any state, declared variable, output, reaction, invariant or input over `t`, ``sol["t"]`` the times;
    a SymPy symbol can be used in place of its name.
    """

    __slots__ = (
        "_dense", "_event_record", "_inputs", "_named", "_p", "_posed", "model", "n_rejected", "n_steps", "nfev",
        "njev", "nlu", "sensitivity", "sol", "status", "t", "t_events", "t_reached", "y", "y_events",
    )  # fmt: skip

    def __init__(
        self, model: BaseModel, t: Array, y: Array, status: int, t_reached: float, p: Array, inputs: Inputs | Array,
        nfev: int, n_steps: int, n_rejected: int, sol: Any, problem: tuple[Any, ...], njev: int = 0, nlu: int = 0,
        event_record: EventRecord | None = None,
    ) -> None:  # fmt: skip
        # At most three in a statement: more would be packed into a tuple, which a short run notices.
        self.model, self.t, self.y = model, t, y
        self.status, self.t_reached, self.sol = status, t_reached, sol
        self._p, self._inputs = p, inputs
        self.nfev, self.njev, self.nlu = nfev, njev, nlu
        self.n_steps, self.n_rejected = n_steps, n_rejected
        # The entries of a `Problem`, which takes longer to make than most of a short run.
        self._posed = problem
        self._event_record = event_record
        self.t_events: list[Array] | None = None
        self.y_events: list[Array] | None = None
        if event_record is not None and (event_record.events or event_record.functions):
            self.t_events, self.y_events = event_record.events_of_all()
        self._named: Series | None = None
        self.sensitivity: Sensitivity | None = None

    @property
    def success(self) -> bool:
        """Whether the end or a terminal event was reached."""
        return self.status >= 0

    @property
    def method(self) -> str:
        """The integration method of the run."""
        name: str = Problem(*self._posed).keywords["method"]
        return name

    @property
    def message(self) -> str:
        """How the run ended, and when.

        With redundant constraints also which multipliers were computed, and where the velocities kept as states do not
        determine the others.
        """
        why = None if self._event_record is None else self._event_record.why(self.status)
        end = message_of(self.status, self.t_reached, self.model.independent, why)
        if self.model.has_redundant_constraints:
            end += "; constraints are redundant: their multipliers are those of least norm"
        lost = pivots.loss(self)
        return f"{end}; {lost}" if lost else end

    @property
    def modes(self) -> list[Mode]:
        """The history of the contact modes; empty without contacts."""
        return [] if self._event_record is None else self._event_record.history(self.t_reached)

    @property
    def paradox(self) -> Paradox | None:
        """Where a run ended with status -10, and the solutions found there; None for other runs."""
        return None if self._event_record is None else self._event_record.paradox

    @property
    def t_kinks(self) -> dict[str, Array]:
        """The times of the kinks of the model by name, with ``kinks=True``."""
        if self._event_record is None:
            return {}
        first = len(self._event_record.events)
        return {name: self._event_record.of(first + i)[0] for i, name in enumerate(self._event_record.kinks)}

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters of the run."""
        return dict(zip(self.model.parameters, self._p.tolist()))

    @property
    def start(self) -> dict[str, float]:
        """The start of the run: its declared coordinates and velocities by name, as from `Model.consistent`.

        With sensitivities these are derivatives of the nearest start on the constraints, which is this one.
        """
        problem = Problem(*self._posed)
        t0, x0 = float(problem.t_span[0]), np.asarray(problem.x0)
        u = self._inputs if isinstance(self._inputs, np.ndarray) else self.model._start(t0, x0, self._inputs)
        return self.model._named_start(t0, x0, self._p, u)

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that ``sol[name]`` knows."""
        return self.model.quantities

    def __getitem__(self, name: Any) -> Array:
        return self._series()[name]

    def __call__(self, t: Any) -> Array:
        """The states at any time of the run, (n,) for a number and (n, N) for times (N,), by the method's interpolant.

        At a reset it is the state before. A run without ``dense_output=True`` is repeated with it on the first call,
        and must give the same bits.

        Raises `ArgumentError` for times outside the run, or a run that cannot be repeated.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> sol = model.integrate((0, 10), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, rtol=1e-9)
        >>> x, x_dot = sol(0.5)
        >>> round(float(x), 6)  # cos 1
        0.540302
        """
        moments, dense = array("t", t), self.interpolant()
        low, high = float(np.min(dense.ts)), float(np.max(dense.ts))
        if moments.ndim > 1:
            raise ArgumentError(f"t has shape {moments.shape}; a number or a 1-D array is needed")
        if self.status == ACCUMULATING:  # between the last event and the limit of those that follow
            end = self.t_reached
            moments = np.where((moments - high) * (moments - end) <= 0, min(max(end, low), high), moments)
        if not ((moments >= low) & (moments <= high)).all():
            raise ArgumentError(f"t must lie inside the run, [{low:.17g}, {high:.17g}]")
        return np.asarray(dense(moments))

    def interpolant(self) -> Any:
        """`sol`, or where the run was made without it, that of the same run repeated; it is kept.

        Raises `ArgumentError` for a run that gives other numbers when it is repeated.
        """
        if self.sol is not None:
            return self.sol
        if getattr(self, "_dense", None) is None:
            repeated = self._repeat()
            same = repeated.t_reached == self.t_reached and np.array_equal(repeated.y, self.y, equal_nan=True)
            if not same:
                raise ArgumentError(
                    f"the run of {self.model.name} gave different numbers when it was repeated (does an input function "
                    "depend on more than (t, y)?): integrate with dense_output=True, which keeps what is between its "
                    "points"
                )
            self._dense = repeated.sol
        return self._dense

    def evaluate(self, name: str | None = None) -> Any:
        """One quantity over `t` by name, shape (N,), or without a name a dict of all of them.

        Raises `ArgumentError` for an unknown name and `KernelError` if a quantity cannot be computed.
        """
        return self._series().all() | {} if name is None else self[name]

    def audit(self, tolerance: float | None = None) -> Audit:
        """Check the run against Painlevé's equation, d/dt (T2 - T0 + V) = power, over each of its steps.

        The change of T2 - T0 + V over each step is compared with the Gauss-Legendre quadrature of the power (of forces,
        inputs, drives and constraints) on the interpolant. The allowed imbalance is the effect of errors as large as
        the run's own rtol and atol, times a margin; with `tolerance`, and for fixed-step methods (where it defaults to
        1e-6), it is `tolerance` times the energy scale. A run without ``dense_output=True`` is repeated with it, and
        must give the same bits. Returns an `Audit`, which is truthy if every step balances.

        Whittaker's equations are derived from the energy integral and would balance for any motion, so they are
        rejected. Errors in forces that do no work are not detected. Input functions must depend on (t, y) alone.

        Raises `ArgumentError` for a model without a power balance, or a run that cannot be repeated.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> sol = model.integrate((0, 10), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
        >>> check = sol.audit()
        >>> check.passed, check.largest < 1e-8
        (True, True)

        Source: P. Painlevé, Leçons sur l'intégration des équations de la mécanique (1895).
        """
        from .audit import audit

        return audit(self, tolerance)

    @property
    def _tolerances(self) -> tuple[float, Array]:
        """rtol and atol (n,) of the run; rtol is NaN for a fixed step."""
        options = RunOptions(**Problem(*self._posed).keywords)
        if not self.model.methods[self.method].adaptive:
            return np.nan, np.zeros(len(self.model.states))
        return options.tolerances(self.model.states)

    def _repeat(self) -> Solution:
        """The same run repeated, with its interpolant."""
        problem = Problem(*self._posed)
        integrate: Any = self.model.integrate  # type: ignore[attr-defined]
        varied = {}
        if self.sensitivity is not None:
            varied = {
                "sensitivities": self.sensitivity.names,
                "sensitivity_control": self.sensitivity.control,
            }
        found: Solution = integrate(
            problem.t_span,
            Accepted(problem.x0),
            self._p,
            self._inputs,
            t_eval=problem.t_eval,
            dense_output=True,
            events=problem.events,
            **varied,
            **problem.keywords,
        )
        return found

    def _u(self) -> Array:
        """The inputs at each point (nu, N), followed by the contact modes if the model has contacts."""
        u = self._inputs
        rows = u.at(self.t, self.y) if isinstance(u, Inputs) else np.repeat(u[:, None], len(self.t), axis=1)
        if self._event_record is None or not self._event_record.contacts:
            return rows
        return np.concatenate([rows, self._event_record.modes_of_rows(len(self.t))])

    def _series(self) -> Series:
        if self._named is None:
            self._named = Series(self.model, self.t, self.y, self._p, self._u)
        return self._named

    def plot(
        self,
        names: str | Sequence[str] | None = None,
        *,
        path: Sequence[str] | None = None,
        file: Any = None,
        ax: Any = None,
    ) -> Any:
        """Draw quantities over time, one panel each: the states (the first 24) unless `names` says otherwise.

        ``path=("x", "y")`` instead draws the second quantity over the first, with equal axis scales. Curves are drawn
        from the interpolant of the run, which is repeated for it if it was made without (see ``sol(t)``). Events that
        occurred and contact mode changes are marked. ``ax=``: Matplotlib axes to draw in, one for all names, or one for
        each; they are returned then, else the Matplotlib figure. It is written to `file` if one is given.

        Raises ArgumentError for an invalid name, file or axes, optional without the extra ``[plot]``.
        """
        if path is not None:
            if names is not None or isinstance(path, str) or len(path) != 2:
                raise ArgumentError("plot: path must be two names, and cannot be combined with names")
            return plotting.draw(self, tuple(path), file, True, ax)
        if names is None:
            return plotting.draw(self, self.model.states[: plotting.PANELS], file, False, ax)
        chosen = (names,) if isinstance(names, str) else tuple(names)
        if not chosen:
            raise ArgumentError(
                f"plot: no names; give None for the states, or some of {', '.join(self.names)}"
            )
        return plotting.draw(self, chosen, file, False, ax)

    def to_pandas(self) -> Any:
        """Everything as a `pandas.DataFrame`, a row for each point, by time. Needs the extra ``[pandas]``.

        Its `attrs` have the units, the parameters and what the run was of. At a reset a time occurs twice, before and
        after.

        Raises `MissingExtraError` without pandas.
        """
        pandas = optional("pandas", "Solution.to_pandas", "pandas")
        index = pandas.Index(self.t, name=self.model.along or "t")
        frame = pandas.DataFrame({name: self[name] for name in self.names}, index=index)
        units = {name: unit for name in self.names if (unit := self.model.units.get(name))}
        frame.attrs = {
            "model": self.model.name, "form": self.model.form, "parameters": self.parameters, "units": units,
        }  # fmt: skip
        return frame

    def to_xarray(self) -> Any:
        """Everything as an `xarray.Dataset` over t, units as attributes. Needs the extra ``[xarray]``."""
        xarray = optional("xarray", "Solution.to_xarray", "xarray")
        data = {name: ("t", self[name], self.model.attributes(name)) for name in self.names}
        attributes = {"model": self.model.name, "form": self.model.form, "digest": self.model.digest}
        return xarray.Dataset(data, coords={"t": self.t}, attrs=attributes | self.parameters)

    def _ipython_key_completions_(self) -> list[str]:
        """IPython's completions for ``sol["``."""
        return [*self.names, "t"]

    def _repr_html_(self) -> str:
        from .notebook import solution_table

        return solution_table(self)

    def __repr__(self) -> str:
        end = f"t = {self.t[0]:.6g} .. {self.t[-1]:.6g}, " if len(self.t) else ""
        return (
            f"<Solution of {self.model.name}: {self.message}; {end}{len(self.t)} points, {self.n_steps} steps, "
            f"{self.nfev} evaluations>"
        )

"""The result of a run: times, states, and every declared quantity by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError, optional

from ..interface.arguments import Array, array, plain_names
from ..interface.messages import Hinted
from ..interface.statuses import ACCUMULATING
from .run_data import Problem as Problem, RunData  # in pickles made before

if TYPE_CHECKING:
    from .audit import Audit
    from .event_record import ContactMode

audits = later("chaplygin.runtime.results.audit")
notebook = later("chaplygin.runtime.results.notebook")
open_contacts = later("chaplygin.runtime.results.open_contacts")
plotting = later("chaplygin.runtime.results.plotting")


class Solution(RunData, Hinted):
    """The result of `integrate`, as from `scipy.integrate.solve_ivp`, plus access by name.

    t (N,), y (n, N); `status` is 0 if the end was reached, 1 after a terminal event, and negative for an error of
    ``chaplygin.h``; `message` says what happened and when; `success`; `method` and the other `options` of the run;
    nfev, njev, nlu; `sol`, the interpolant, with ``dense_output=True``. A failed run contains everything computed
    before it failed; its last row is the state that it has reached, at `t_reached`, also with `t_eval`.

    t_events and y_events: lists with an array for each event, (k,) and (k, n), those of the model first, then those
    given to `integrate`; the states are those before a reset. None if there are no events. At a reset or a mode change
    `t` contains the time twice, with the states before and after (with `t_eval`, only the one before); every quantity
    has the inputs, branches and modes of its side.
    ``modes``: the history of the contact modes, a list of `ContactMode` (t_start, t_end, contacts, signs, ended_by).
    ``sensitivity``: with ``sensitivities=[...]`` the `Sensitivity` of the run, else None.
    ``paradox``: for a run that ended with status -10, the `Paradox` with the time, the state and all solutions found.

    ``sol["v"]`` is any state, declared variable, output, reaction, invariant or input over `t`, ``sol["t"]`` the times;
    a SymPy symbol can be used in place of its name.
    """

    __slots__ = ()

    def _elsewhere(self, name: str) -> str | None:
        return f"this quantity is sol[{name!r}]" if name in self.model.quantities else None

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters of the run."""
        return dict(zip(self.model.parameters, self._p.tolist()))

    @property
    def start(self) -> dict[str, float]:
        """The start of the run: its declared coordinates and velocities by name, as from `Model.consistent`.

        With sensitivities these are derivatives of the nearest start on the constraints, which is this one.
        """
        problem = self._problem
        t0, x0 = float(problem.t_span[0]), np.asarray(problem.x0)
        u = self._inputs if isinstance(self._inputs, np.ndarray) else self._inputs.first(t0, x0)
        return self.model._named_start(t0, x0, self._p, u)

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

    def evaluate(self, name: str | None = None) -> Any:
        """One quantity over `t` by name, shape (N,), or without a name a dict of all of them.

        Raises `ArgumentError` for an unknown name and `KernelError` if a quantity cannot be computed.
        """
        return self._series().all() | {} if name is None else self[name]

    @property
    def modes(self) -> list[ContactMode]:
        """The history of the contact modes; empty without contacts.

        Where a point of the run shows that a contact is open, its times follow from the interpolant, for which the run
        is repeated if it was made without ``dense_output=True``.
        """
        found: list[ContactMode] = open_contacts.with_open(self, super().modes)
        return found

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
        found: Audit = audits.audit(self, tolerance)
        return found

    def plot(
        self,
        names: str | Sequence[str] | None = None,
        *,
        path: Sequence[str] | None = None,
        equal: bool | None = None,
        file: Any = None,
        ax: Any = None,
    ) -> Any:
        """Draw quantities over time, one panel each: the states unless `names` says otherwise, 24 at most.

        ``path=("x", "y")`` instead draws the second quantity over the first, with equal axis scales where both have one
        unit, or none and are both coordinates, velocities, or outputs; `equal` says otherwise. Curves are drawn
        from the interpolant of the run, which is repeated for it if it was made without (see ``sol(t)``). Events that
        occurred and contact mode changes are marked. ``ax=``: Matplotlib axes to draw in, one for all names, or one for
        each; they are returned then, else the Matplotlib figure. It is written to `file` if one is given.

        Raises ArgumentError for an invalid name, file or axes, optional without the extra ``[plot]``.
        """
        if path is not None:
            pair = plain_names("plot: path", path)
            if names is not None or len(pair) != 2:
                raise ArgumentError("plot: path must be two names, and cannot be combined with names")
            return plotting.draw_path(self, pair, equal, file, ax)
        if equal is not None:
            raise ArgumentError("plot: equal is for path=; quantities over time have scales of their own")
        if names is None:
            return plotting.draw(self, plotting.first(self.model.states), file, ax)
        chosen = plain_names("plot: names", names)
        if not chosen:
            raise ArgumentError(
                f"plot: no names; give None for the states, or some of {', '.join(self.names)}"
            )
        return plotting.draw(self, chosen, file, ax)

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
        text: str = notebook.solution_table(self)
        return text

    def __repr__(self) -> str:
        end = f"t = {self.t[0]:.6g} .. {self.t[-1]:.6g}, " if len(self.t) else ""
        return (
            f"<Solution of {self.model.name}: {self.message}; {end}{len(self.t)} points, {self.n_steps} steps, "
            f"{self.nfev} evaluations>"
        )

"""The result of an ensemble, with its tables and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import optional

from .. import statistics
from ..interface import tables
from ..problem.consistency import held
from .ensemble_data import EnsembleData, index_of

if TYPE_CHECKING:
    from ..results.solution import Solution
    from ..statistics.pictures import Pictures

pictures = later("chaplygin.runtime.ensembles.pictures")

_HEAD = ("at the end", "mean", "std", "min", "max")


class Ensemble(EnsembleData):
    """The result of `ensemble`.

    y (n_states, n): the final state of each trajectory; with `t_eval` (n_states, n_times, n), NaN at times that a
    trajectory did not reach. t (n,): the time reached; status (n,): 0, 1 after a terminal event, or an error of
    ``chaplygin.h``; nfev, n_steps (n,). ``lanes``: how many trajectories ran side by side in a thread. ``ok`` (n,):
    True if a trajectory reached its end or a terminal event; ``failed``: the indices of the others. ``parameters``: a
    dict of numbers and arrays (n,).

    ``ens["v"]``: any declared variable, output, invariant or input, or "t", shaped as ``y[0]``; a SymPy symbol can be
    used in place of its name, and ``names`` lists all names. ``ens.evaluate()``: a dict of all of them.
    ``ens.rerun(i)``: one trajectory again, as a full `Solution`; ``ens.inputs(i)``: its inputs. ``t_events``: a
    dict with the times of each event of the model as an `EventTimes`; empty without events. ``ens.sensitivity["x",
    "m"]``: with ``sensitivities=[...]`` dx/dm of each trajectory, an `EnsembleSensitivity`, else None. ``draws``:
    what was drawn from distributions, arrays (n,) by name (a `Draws`, with their seed), or None.
    """

    def rerun(self, i: int, **changed: Any) -> Solution:
        """Run trajectory i again and return the full `Solution`. Keywords change options of `integrate`."""
        j = index_of("rerun", i, len(self))
        inputs = self._inputs.column(j)
        controls = inputs.values if inputs.constant else inputs  # vectors take the fast path in C
        options = {**vars(self._options), **changed}
        if self.sensitivity is not None:
            by, control = self.sensitivity.names, self.sensitivity.control
            options = {"sensitivities": by, "sensitivity_control": control, **options}
        if options.get("sensitivities") is not None:  # they start with the derivative by what was declared
            with held():  # the ensemble has warned
                start = self._start.given_of(j)
                found: Solution = self.model.integrate(self.t_span, *start, controls, **options)
            return found
        x0, p = self._start.of(j)
        goes_on = self.model.checked_at_start or self._start.past.any()
        begin = self._start.accepted(x0, j) if goes_on else x0
        result: Solution = self.model.integrate(self.t_span, begin, p, controls, **options)
        return result

    def inputs(self, i: int) -> dict[str, Any]:
        """The inputs of trajectory i by name, as `integrate` takes them: of rows of samples its own."""
        return self._inputs.column(index_of("inputs", i, len(self))).by_name

    def to_xarray(self) -> Any:
        """Everything as an `xarray.Dataset` over the trajectories, with `t_eval` over (t, trajectory).

        Units are attributes. Parameters that vary, the status and, without `t_eval`, the time reached are variables
        over the trajectories; the other parameters are attributes. Event times are not included. Needs the extra
        ``[xarray]``.
        """
        xarray = optional("xarray", "Ensemble.to_xarray", "xarray")
        axes = ("trajectory",) if self.t_eval is None else ("t", "trajectory")
        data: dict[str, Any] = {
            name: (axes, values, self.model.attributes(name)) for name, values in self.evaluate().items()
        }
        model = self.model
        attributes: dict[str, Any] = {"model": model.name, "form": model.form, "digest": model.digest}
        for name, value in self.parameters.items():
            if isinstance(value, np.ndarray):
                data[name] = ("trajectory", value, self.model.attributes(name))
            else:
                attributes[name] = value
        data["status"] = ("trajectory", self.status)
        coordinates: dict[str, Any] = {"trajectory": np.arange(len(self))}
        if self.t_eval is None:
            data["t"] = ("trajectory", self.t)
        else:
            coordinates["t"] = self.t_eval
        return xarray.Dataset(data, coords=coordinates, attrs=attributes)

    @property
    def plot(self) -> Pictures:
        """Pictures of the states, or of any quantity by name: ``plot()`` draws fans over the times `t_eval`, or else
        the distributions at the end; ``plot.fan()``, ``plot.histogram()``, ``plot.exceedance()``,
        ``plot.convergence()`` (of means) and ``plot.scatter()`` are of one kind. Needs the extra ``[plot]``.
        """
        found: Pictures = pictures.of_ensemble(self)
        return found

    def summary(self) -> str:
        """A text: how the trajectories ended, the indices of the first failures, and a table of the final states."""
        rows = tables.aligned([_HEAD, *self._rows()])
        return "\n".join([self._caption(), *statistics.failures(self.failed, self.status[self.failed]), rows])

    def _caption(self) -> str:
        return f"{len(self)} trajectories of {self.model.name}: {self.message}"

    def _rows(self, most: int | None = None) -> list[tuple[str, ...]]:
        """Figures of the first `most` states of the trajectories that reached the end."""
        ok, names = self.ok, self.model.states
        last = self.y if self.t_eval is None else self.y[:, -1:, :].reshape(len(names), -1)
        rows = []
        for i, name in enumerate(names[:most]):
            values = last[i][ok] if last.shape[1] else np.empty(0)
            numbers = [float(f(values)) for f in (np.mean, np.std, np.min, np.max)] if len(values) else []
            rows.append((tables.with_unit(self.model, name), *(f"{x:.6g}" for x in numbers)))
        return rows

    def __repr__(self) -> str:
        return f"<Ensemble of {len(self)} {self.model.name}: {self.message}>"

    def _repr_html_(self) -> str:
        """A table of the final states of the trajectories that reached the end."""
        rows, more = self._rows(tables.SHOWN), len(self.model.states) - tables.SHOWN
        if more > 0:
            rows.append((f"and {more} more",))
        return tables.table(self._caption(), _HEAD, rows)

    def _ipython_key_completions_(self) -> list[str]:
        """IPython's completions for ``ens["``."""
        return [*self.names, "t"]

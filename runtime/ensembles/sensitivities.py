"""Sensitivities of an ensemble: the tangents of every trajectory, integrated with it as in a single run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface.arguments import Array
from ..model.nearest import moves
from ..problem.inputs import Inputs
from ..results.named_derivatives import NamedDerivatives
from ..sensitivities.start import Onset, TangentStart, fixed_input, size_of
from ..sensitivities.variation import Variation, along, moved, varied

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..core._core import BatchCore
    from ..problem.options import RunOptions
    from .start import Start


class Starts:
    """The start of the tangents of `count` trajectories, from the `Start` and the states x0 (n, count) of these.

    `y` (n, k, 1 or count) and `seeds` (np + nu, k, 1 or count) are the derivatives of states, and of parameters and
    inputs, for each trajectory, or one for all if they are the same; `sizes` (k, ...) are those of what is varied.
    """

    def __init__(self, start: Start, x0: Array, inputs: Inputs, names: tuple[str, ...], count: int) -> None:
        self.start, self.x0, self.inputs = start, x0, inputs
        alike = start.linear and not moves(start.model, start.by_name)
        each = [self._of(j, names) for j in range(1 if alike else count)]
        self.y = np.stack([one.y for one in each], axis=-1)
        self.seeds = np.stack([one.seeds for one in each], axis=-1)
        self.sizes = self._sizes(names) if alike else np.stack([one.sizes for one in each], axis=-1)

    def _of(self, j: int, names: tuple[str, ...]) -> TangentStart:
        initial, parameters = self.start.given_of(j)
        point = Onset.at(self.start.model, self.start.t0, initial, parameters, self._point(j))
        return point.tangents(names)

    def _point(self, j: int) -> tuple[Array, Array, Inputs]:
        """The state, the parameters and the inputs of trajectory j."""
        return self.x0[:, j].copy(), column(self.start.parameters, j), self.inputs.column(j)

    def _sizes(self, names: tuple[str, ...]) -> Array:
        """Those of parameters, states and constant inputs, as in single runs."""
        model, u = self.start.model, np.atleast_2d(self.inputs.values.T).T
        places = (
            ("inputs", model.inputs, u),
            ("parameters", model.parameters, self.start.parameters),
            ("initial", model.states, self.x0),
        )
        rows = []
        for name in names:
            kind, row = next((kind, rows[known.index(name)]) for kind, known, rows in places if name in known)
            rows.append(size_of(kind, row))
        return np.array(np.broadcast_arrays(*rows))


class BatchTangents:
    """The tangents of the runs of a batch, which are those of a larger `model` with its `options`."""

    def __init__(self, model: Any, names: Any, control: bool, how: RunOptions, controls: Inputs) -> None:
        self.names, self.control = varied(model, names, how, controls), control
        self._variation = Variation.of(model, len(self.names), control)
        self.model, self.options = self._variation.model, self._variation.options(how)

    def begin(
        self, core: BatchCore, start: Start, x0: Array, inputs: Inputs, runs: NDArray[np.int64]
    ) -> None:
        """Write the start of the tangents of some runs to the table of the batch, for their states x0."""
        starts = Starts(start, x0, inputs, self.names, len(runs))
        x, variation = core.row["x"], self._variation
        states = np.empty((variation.size, len(runs)))
        variation.fill(states, starts.y * starts.sizes)
        core.table[x + variation.n : x + variation.size, runs] = states[variation.n :]
        rows = variation.rows(starts.seeds, starts.sizes)
        for i, row in enumerate(rows, core.row["p"] + len(start.parameters)):
            core.table[i, runs] = row

    def refuse(self, names: Iterable[str]) -> None:
        """Refuse new values of inputs that are varied."""
        for name in names:
            if name in self.names:
                raise fixed_input(name)

    def sensitivity(self, model: Any, core: BatchCore, t: Array) -> EnsembleSensitivity:
        """The derivatives of every run now, at its time t (count,)."""
        count, larger = len(t), self._variation
        rows = [core.table[core.row[part] :, :count] for part in ("x", "p", "u")]
        x, p, u = rows[0][: larger.size].copy(), rows[1][: len(larger.model.parameters)].copy(), rows[2]
        inputs = Inputs(model.inputs, u[: len(model.inputs)].copy(), {}, {}, model._input_flags)
        runs = Runs(model, t, x[: larger.n], p[: len(model.parameters)], inputs)
        seeds = larger.seeds(p, len(model.parameters))
        tangents = larger.tangents(x, larger.sizes(p))
        return EnsembleSensitivity(runs, self.names, tangents, seeds, self.control)


class EnsembleSensitivity(NamedDerivatives):
    """The derivatives of many runs: ``ens.sensitivity["x", "m"]`` is dx/dm of each trajectory, shaped as ``ens["x"]``.

    The first name is a state, declared variable, output, reaction, invariant or residual, the second one of `names`.
    `y` has the states' by all of them: (n_states, k, n) at the end, or with `t_eval` (n_states, k, n_times, n). NaN
    where the ensemble has NaN. At the end of a trajectory that an event ended they are total derivatives, with the
    change of its time, which is ``ens.sensitivity["t", "m"]``.
    """

    def __init__(
        self,
        runs: Runs,
        names: tuple[str, ...],
        y: Array,
        seeds: Array,
        control: bool,
        delays: Array | None = None,
    ) -> None:
        super().__init__(runs.model, names, y, control, delays)
        self._runs, self._seeds = runs, seeds

    def _of_kernel(self, kernel: str, rows: int) -> Array:
        runs, k = self._runs, len(self.names)
        if self._model.contacts and kernel == "outputs":
            raise ArgumentError(
                "sensitivity: outputs may depend on the contact modes, which an ensemble does not keep; use "
                "ens.rerun(i)"
            )
        n, *shape = runs.y.shape
        times, y = runs.t.reshape(-1, shape[-1]), runs.y.reshape(n, -1, shape[-1])
        tangents, delays = self.y.reshape(n, k, *y.shape[1:]), self.delays.reshape(k, *y.shape[1:])
        p = np.array(np.broadcast_arrays(*runs.parameters)) if len(runs.parameters) else np.empty((0, 1))
        result = np.empty((rows, k, *y.shape[1:]))
        for m, moments in enumerate(times):
            u = np.broadcast_to(runs.inputs.at(moments, y[:, m]), (len(self._model.inputs), shape[-1]))
            later = delays[:, m].any(axis=0)
            slopes = np.zeros((len(self._model.inputs), shape[-1]))
            slopes[:, later] = runs.inputs.slopes(moments[later], runs.step, runs.t0)
            seeds = moved(self._seeds, slopes, delays[:, m])
            result[:, :, m] = along(
                self._model, kernel, moments, y[:, m], p, u, tangents[:, :, m], seeds, delays[:, m]
            )
        return result.reshape(rows, k, *shape)


class Runs(NamedTuple):
    """Where the derivatives of many runs are taken: t (..., N), y (n, ..., N), rows of parameters, inputs.

    They began at t0, with steps of about the length `step`, which has the sign of the time in which they ran.
    """

    model: Any
    t: Array
    y: Array
    parameters: Sequence[Array]
    inputs: Inputs
    t0: float = 0.0
    step: float = 1.0


def column(rows: Sequence[Array], j: int) -> Array:
    """The j-th entries of rows (1,) or (N,)."""
    return np.array([row[j] if len(row) > 1 else row[0] for row in rows])

"""Sensitivities of an ensemble: the tangents of every trajectory, integrated with it as in a single run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments import Array, wide
from .derivatives import derivatives
from .errors import ArgumentError, KernelError
from .sensitivities import NamedDerivatives, Variation, direction
from .tangent_start import TangentStart, start_of, values_at

if TYPE_CHECKING:
    from .ensemble_job import EnsembleJob, EnsemblePart, Results
    from .ensemble_result import Ensemble


class EnsembleTangents:
    """The tangents of the trajectories of a part, and the part of the larger model that contains them (`Variation`).

    Each trajectory runs as it does alone. `core` runs them; `seeds` (np + nu, k, N or 1) are the derivatives of their
    parameters and inputs.
    """

    lane_set = 0

    def __init__(self, part: EnsemblePart, x0: Array) -> None:
        """`x0` has room for the start of the larger model, and contains that of the states."""
        from ._core import EnsembleCore

        job, model = part.job, part.job.model
        variation = variation_of(job)
        starts = list(_starts(part))
        self.seeds = np.stack([start.seeds for start in starts], axis=-1)
        x0[len(model.states) :] = variation.blocks(np.stack([start.y for start in starts], axis=-1))
        rows = [np.array([float(variation.table.blocks)]), *variation.blocks(self.seeds)]
        options = replace(job.options, kinks=job.options.kinks or bool(model.kinks))
        atol = job.options.tolerances(model.states)[1]
        self.atol = None
        if job.sensitivity_control:
            columns = [variation.tolerances(atol, *given) for given in zip(*_scaled(part, starts))]
            self.atol = np.stack(columns, axis=-1)
        self.job = replace(job, options=replace(options, atol=variation.tolerances(atol, starts[0], None)))
        self.x0, self.inputs, self.results = x0, part.inputs, part.results
        self.start = SimpleNamespace(parameters=[*part.start.parameters, *rows])
        self.core = EnsembleCore(variation.model, self)

    def sensitivity(self, ensemble: Ensemble) -> EnsembleSensitivity:
        """The derivatives of the ensemble of these trajectories, when they have run."""
        return EnsembleSensitivity(ensemble, self.job, self.results, self.seeds)


def variation_of(job: EnsembleJob) -> Variation:
    """The larger model of a job with sensitivities."""
    assert job.sensitivities is not None
    return Variation.of(job.model, len(job.sensitivities), job.sensitivity_control)


def _starts(part: EnsemblePart) -> Iterator[TangentStart]:
    """The start of the tangents of each trajectory, or one for all, if it does not depend on their starts."""
    job, model = part.job, part.job.model
    for j in range(1 if part.start.linear else part.count):
        initial, parameters = part.start.given_of(j)
        yield start_of(model, job.t_span[0], initial, parameters, _point(part, j), job.sensitivities)


def _scaled(
    part: EnsemblePart, starts: list[TangentStart]
) -> tuple[list[TangentStart], list[dict[str, float]]]:
    """The start of the tangents of every trajectory, and the values of all quantities there."""
    values = [values_at(part.job.model, part.job.t_span[0], *_point(part, j)) for j in range(part.count)]
    return starts * (part.count // len(starts)), values


def _point(part: EnsemblePart, j: int) -> tuple[Array, Array, Any]:
    """The state, the parameters and the inputs of trajectory j at the start."""
    p = np.array([row[j] if len(row) > 1 else row[0] for row in part.start.parameters])
    return part.x0[:, j].copy(), p, part.inputs.column(j)


class EnsembleSensitivity(NamedDerivatives):
    """The derivatives of an ensemble: ``ens.sensitivity["x", "m"]`` is dx/dm of each trajectory, shaped as ens["x"].

    The first name is a state, declared variable, output, reaction, invariant or residual, the second one of `names`.
    `y` has the states' by all of them: (n_states, k, n) at the end, or with `t_eval` (n_states, k, n_times, n). NaN
    where the ensemble has NaN.
    """

    def __init__(self, ensemble: Ensemble, job: EnsembleJob, results: Results, seeds: Array) -> None:
        y = variation_of(job).tangents(results.y)
        super().__init__(
            job.model,
            job.sensitivities or (),
            y[:, :, 0] if job.t_eval is None else y,
            job.sensitivity_control,
        )
        self._ensemble, self._seeds = ensemble, seeds

    def _of_kernel(self, kernel: str, rows: int) -> Array:
        ensemble, found, states = self._ensemble, derivatives(self._model), len(self._model.states)
        if self._model.contacts and kernel == "outputs":
            raise ArgumentError(
                "sensitivity: outputs may depend on the contact modes, which an ensemble does not keep; use "
                "ens.rerun(i)"
            )
        count = len(ensemble)
        y = ensemble.y.reshape(states, -1, count)
        tangents = self.y.reshape(states, len(self.names), -1, count)
        times = (
            wide(ensemble.t).T
            if ensemble.t_eval is None
            else np.repeat(ensemble.t_eval[:, None], count, axis=1)
        )
        result = np.full((rows, len(self.names), *times.shape), np.nan)
        for m, moments in enumerate(times):
            u = np.broadcast_to(ensemble._inputs.at(moments, y[:, m]), (len(self._model.inputs), count))
            for j in np.flatnonzero(np.isfinite(y[:, m]).all(axis=0)).tolist():
                _, p = ensemble._start.of(j)
                v = direction(tangents[:, :, m, j], self._seeds[:, :, j if self._seeds.shape[2] > 1 else 0])
                try:
                    result[:, :, m, j] = found.along(kernel, moments[j], y[:, m, j], p, u[:, j], v)
                except KernelError:  # as in the ensemble itself: it cannot be computed there
                    continue
        return result[:, :, 0] if ensemble.t_eval is None else result

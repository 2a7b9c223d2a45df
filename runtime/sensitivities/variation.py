"""A model together with its variational equations, and runs of both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chaplygin.errors import ArgumentError

from .. import core
from ..interface import arguments
from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel
from ..model.derivatives import derivatives, lanes_for
from ..problem import options
from ..problem.consistency import Accuracy
from ..problem.inputs import Inputs
from .start import Onset, TangentStart, check_inputs, checked_names


def along(
    model: Any,
    kernel: str,
    t: Array,
    y: Array,
    p: Array,
    u: Array,
    tangents: Array,
    seeds: Array,
    delays: Array,
) -> Array:
    """The derivatives of the results of a kernel, (rows, k, N), as `along_columns` has them; u may be without modes."""
    u = np.concatenate([u, np.zeros((len(model.inputs) + len(model.modes) - len(u), u.shape[1]))])
    address = derivatives(model).address("along", lanes_for(tangents.shape[1]))
    return core.along_columns(model, address, kernel, t, y, p, u, tangents, seeds, delays)


def moved(seeds: Array, slopes: Array, delays: Array) -> Array:
    """The derivatives of p and u (np + nu, k, N or 1), with those of inputs of slopes (nu, N) at delays (k, N).

    The result is for `along`, whose delays are those of the time that the equations contain.
    """
    if not slopes.any() or not delays.any():
        return seeds
    found = np.repeat(seeds, 1 if seeds.shape[2] == delays.shape[1] else delays.shape[1], axis=2)
    found[len(seeds) - len(slopes) :] += slopes[:, None] * delays
    return found


class VariedRun(NamedTuple):
    """A run with its tangents, ready to start: the larger model in its `variation`, `state`, `vector` of parameters."""

    t0: float
    variation: Variation
    start: TangentStart
    x0: Array
    p: Array
    state: Array
    vector: Array
    inputs: Inputs
    options: options.RunOptions
    past: tuple[float, ...]


def varied_run(
    model: Any,
    t0: float,
    initial: Any,
    parameters: Any,
    inputs: Any,
    names: Any,
    control: Any,
    how: options.RunOptions,
) -> VariedRun:
    """The start of a run with sensitivities from its arguments, and from options that have been checked."""
    checked(model, how)
    control = arguments.sensitivity_control(control, names)
    onset = Onset.of("sensitivities", model, t0, initial, parameters, inputs, Accuracy.of(model, how))
    start = onset.tangents(names)
    variation = Variation.of(model, len(start.names), control)
    larger = variation.options(how)
    state = variation.state(onset.x, start.y, start.sizes)
    vector = variation.vector(onset.p, start.seeds, start.sizes)
    return VariedRun(t0, variation, start, onset.x, onset.p, state, vector, onset.inputs, larger, onset.past)


def varied(model: Any, names: Any, how: options.RunOptions, controls: Inputs) -> tuple[str, ...]:
    """What runs with these options and inputs are differentiated by, checked."""
    checked(model, how)
    derivatives(model)
    check_inputs("sensitivities", controls)
    return checked_names(model, names)


def checked(model: Any, how: options.RunOptions) -> options.RunOptions:
    """The options, if there are sensitivities with them."""
    known = [name for name, method in core.methods().items() if not method.implicit]
    if how.method not in known:
        raise ArgumentError(
            f"sensitivities: method {how.method!r} does not integrate them; take one of {', '.join(known)}"
        )
    if options.corrects(model, how.project) == "correction_all":
        raise ArgumentError(
            "sensitivities: project='all' has no derivative by the start of a run; use 'constraints'"
        )
    return how


class Variation:
    """The equations of a model with `count` tangents: one larger `model`, which every driver runs.

    With `control` the errors of the tangents count in the choice of steps. The larger model has each tangent times the
    size of what it is a derivative by, so that the tolerances of the states are those of its tangents. Sizes are powers
    of two: no bit of a tangent depends on them. One that is `fed` has the changes of the inputs along the tangents as
    further inputs.
    """

    def __init__(self, model: Any, count: int, control: bool, fed: bool = False) -> None:
        self.base, self.n, self.count, self.control, self.fed = model, len(model.states), count, control, fed
        lanes = lanes_for(count)
        found = derivatives(model)
        self.table = core.VariationalTable(model, found.variational(lanes), count, fed)
        self.model = CompiledModel(self.table.capsule, owner=self.table)
        self.model._library, self.model._later = model, model._later
        self.first: int = self.table.first
        """The index of the first tangent among the states."""
        self.model._carry(
            found.variational(lanes), self.table.kernels, self.n, count, self.table.blocks, control
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Variation.of, (self.base, self.count, self.control)

    @classmethod
    def of(cls, model: Any, count: int, control: bool) -> Variation:
        """The variation of a model, made once for each number of tangents.

        With kinks tangents control in any case: the error of the state does not show that the Jacobian jumps.
        """
        known, control = derivatives(model).variations, control or bool(model.kinks)
        if (count, control) not in known:
            known[count, control] = cls(model, count, control)
        found: Variation = known[count, control]
        return found

    def place_of_input(self, i: int, j: int) -> int:
        """The place among the inputs, of a variation that is fed, of the change of input i along tangent j."""
        count, (block, lane) = len(self.base.inputs), divmod(j, self.table.lanes)
        return int(count + (block * count + i) * self.table.lanes + lane)

    @property
    def size(self) -> int:
        """The number of states with those of the tangents."""
        return len(self.model.states)

    def fill(self, states: Array, tangents: Array) -> None:
        """Write tangents (n, count, ...) to states of the larger model (size, ...), which has those of the model."""
        states[self.n :] = 0.0
        states[self.first : self.table.end] = self.blocks(tangents)

    def state(self, y: Array, tangents: Array, sizes: Array) -> Array:
        """The state of the larger model for y (n,), tangents (n, count) and the sizes of what is varied (count,)."""
        found = np.empty(self.size)
        found[: self.n] = y
        self.fill(found, tangents * sizes)
        return found

    def vector(self, p: Array, seeds: Array, sizes: Array) -> Array:
        """Its parameters for p and the derivatives of p and u by what is varied, (np + nu, count)."""
        return np.concatenate([p, *self.rows(seeds[..., None], sizes[:, None])], axis=None)

    def rows(self, seeds: Array, sizes: Array) -> list[Array]:
        """Its parameters after those of the model, (1,) or (N,), from seeds (np + nu, count, 1 or N) and sizes."""
        scaled = seeds * sizes
        filled = self.blocks(np.broadcast_to(sizes, (1, *sizes.shape)), 1.0)
        return [*self.blocks(scaled), *filled]

    def options(self, how: options.RunOptions) -> options.RunOptions:
        """The options of its runs."""
        atol = how.tolerances(self.model.states[: self.n])[1]
        whole = np.ones(self.size)
        whole[: self.n] = atol
        whole[self.first : self.table.end] = self.blocks(np.repeat(atol[:, None], self.count, axis=1), 1.0)
        return how.changed(atol=whole, kinks=how.kinks or bool(self.model.kinks))

    def blocks(self, columns: Array, fill: float = 0.0) -> Array:
        """Columns (rows, count, ...) in blocks (rows, lanes), one after the other, filled up: (width * rows, ...)."""
        table, rest = self.table, columns.shape[2:]
        filled = np.full((len(columns), table.width, *rest), fill)
        filled[:, : self.count] = columns
        blocks = filled.reshape(len(columns), table.blocks, table.lanes, *rest).swapaxes(0, 1)
        return np.ascontiguousarray(blocks).reshape(-1, *rest)

    def tangents(self, rows: Array, sizes: Array) -> Array:
        """The tangents (n, count, ...) in states of the larger model, (size, ...); sizes (count, ...)."""
        return self._columns(rows[self.first : self.table.end], self.n) / sizes

    def total(self, rows: Array, sizes: Array, ended: Any) -> tuple[Array, Array]:
        """The derivatives (n, count, ...) of last states, and those of their times (count, ...).

        They are total derivatives in the rows in which an event `ended` the run; the others are at a fixed time.
        """
        tangents, end = self.tangents(rows, sizes), self.table.end
        if end == self.size:
            return tangents, np.zeros(tangents.shape[1:])
        first = self.size - self.table.width
        delays = self._columns(rows[first:], 1)[0] / sizes
        delays = np.where(ended, delays, np.zeros_like(delays))
        return tangents + np.where(ended, rows[end : end + self.n, None] * delays, 0.0), delays

    def sizes(self, vector: Array) -> Array:
        """The sizes of what is varied (count, ...), in its parameters."""
        return vector[len(vector) - self.table.width :][: self.count]

    def seeds(self, vector: Array, p: int) -> Array:
        """The derivatives of p and u (np + nu, count) in its parameters, the first `p` of which are the model's."""
        blocks = vector[p : len(vector) - self.table.width]
        return self._columns(blocks, len(blocks) // self.table.width) / self.sizes(vector)

    def _columns(self, blocks: Array, rows: int) -> Array:
        """The columns (rows, count, ...) of which these are the blocks."""
        rest = blocks.shape[1:]
        found: Array = (
            blocks.reshape(self.table.blocks, rows, self.table.lanes, *rest)
            .swapaxes(0, 1)
            .reshape(rows, self.table.width, *rest)
        )
        return found[:, : self.count]

"""Equilibria and steady motions, by Newton's method on exact derivatives.

F = 0 for the states that are kept, h = 0, in the states that are not held and the parameters and inputs that are free.
Some equations may repeat others, so each step is the shortest that solves the linear equations, by a singular value
decomposition; it is halved until the next step of the same matrix is shorter. Where that fails, it begins again where
h = 0 near the guess, and then where the accelerations from there lead, with h = 0 after each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel
from .continuation import follow
from .field import Field, named, refuse
from .linearization import Complex, Family
from .newton import NewtonProblem, Rest, _check_assumed, _check_autonomous, _names, _start


@dataclass(frozen=True, eq=False)
class SteadyState(Rest):
    """An equilibrium or a steady motion; see `Model.equilibrium` and `Model.steady_motion`.

    Attributes
    ----------
    state, parameters, inputs : the values by name; `found[name]` is any of them, or an output of the model.
    about : "equilibrium" or "steady".
    unknowns : the names of what was solved for; `keep` and `free` as given.
    residual : the largest |F|, |h| that is left.
    """

    @cached_property
    def state(self) -> dict[str, float]:
        """The states by name."""
        return named(self.model.states, self._leaves()[0])

    @cached_property
    def parameters(self) -> dict[str, float]:
        """The parameters by name."""
        return named(self.model.parameters, self._leaves()[1])

    @cached_property
    def inputs(self) -> dict[str, float]:
        """The inputs by name."""
        return named(self.model.inputs, self._leaves()[2])

    @property
    def eigenvalues(self) -> Complex:
        """Those of its linearization."""
        return self.linearization.eigenvalues

    @property
    def stability(self) -> str:
        """ "asymptotically stable", "unstable", or "neutral": the linear equations do not decide."""
        return self.linearization.stability

    def continuation(self, along: Any, to: float, *, step: float = 0.02, max_points: int = 2000) -> Branch:
        """The branch of solutions along a parameter, an input or a state in `keep`, up to the value `to`; see `Branch`.

        Pseudo-arclength continuation: the branch is followed around folds. It ends where `along` reaches `to`, or its
        value at the start again, or after `max_points`. `step` is the longest step, in units of the change of `along`.
        Folds, Hopf points and zero eigenvalues (branch points) are located. Raises `ArgumentError`.
        """
        name, points, special = follow(self, along, to, step, max_points)
        return Branch(name, tuple(points), tuple(SpecialPoint(*found) for found in special))

    def __getitem__(self, name: Any) -> float:
        key = arguments.plain_name(name)
        for values in (self.state, self.parameters, self.inputs):
            if key in values:
                return values[key]
        y, p, u = self._leaves()
        found = self.model.evaluate(self.t, y, p, u)
        if key not in found:
            raise arguments.unknown_quantity(name, self.model.name, tuple(found))
        return float(found[key])

    def __repr__(self) -> str:
        what = "equilibrium" if self.about == "equilibrium" else "steady motion"
        values = ", ".join(f"{name} = {round(self[name], 12) + 0.0:.6g}" for name in self.unknowns)
        try:
            stability = self.stability
        except ArgumentError:  # at a kink
            stability = "without linear equations"
        return f"<{what} of {self.model.name}: {values}; {stability}>"


def steady_state(
    model: CompiledModel,
    about: str,
    guess: Any,
    parameters: Any,
    inputs: Any,
    keep: Sequence[str],
    free: Sequence[str],
    t: float,
) -> SteadyState:
    """See `Model.equilibrium` and `Model.steady_motion`; `about` is "equilibrium" or "steady"."""
    refuse(model)
    keep = _names("keep", keep, model.states)
    free = _names("free", free, (*model.parameters, *model.inputs))
    what = "equilibrium" if about == "equilibrium" else "steady_motion"
    v = _start(model, arguments.number("t", t), guess, parameters, inputs)
    _check_assumed(model, "parameters", v, [n for n in model.parameters if n not in free])
    problem = NewtonProblem(Field(model, v, about), what, keep, free, v)
    v = problem.solve(v)
    problem.refuse_family(v)
    values, _ = problem.at(v)
    _check_autonomous(problem, v)
    _check_assumed(model, what, v, problem.unknowns)
    return SteadyState(
        model,
        about,
        float(v[0]),
        v,
        problem.unknowns,
        tuple(keep),
        tuple(free),
        float(np.abs(values).max(initial=0.0)),
    )


class SpecialPoint(NamedTuple):
    """A point of a branch, its parameter's value, and its kind.

    "fold", "branch point" (an eigenvalue passes through zero), "Hopf" (a complex pair crosses the imaginary axis), or
    "Hamiltonian Hopf" (two pairs on the axis meet and leave it to both sides: flutter without damping).
    """

    kind: str
    value: float
    point: SteadyState


@dataclass(frozen=True, eq=False)
class Branch:
    """Equilibria or steady motions along a parameter; see `SteadyState.continuation`.

    Attributes
    ----------
    along : the parameter, input or held state that varies.
    points : the solutions, in their order along the branch; `branch[name]` is any quantity at all of them.
    special : the folds, Hopf points and branch points, in the same order; see `SpecialPoint`.
    """

    along: str
    points: tuple[SteadyState, ...]
    special: tuple[SpecialPoint, ...]

    @cached_property
    def linearizations(self) -> Family:
        """The linear equations along the branch, whose `plot` is the root locus."""
        model = self.points[0].model
        return Family(
            tuple(p.linearization for p in self.points), {self.along: self[self.along]}, model.units
        )

    def __getitem__(self, name: Any) -> Array:
        return np.array([p[name] for p in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        found = ", ".join(f"{s.kind} at {s.value:.10g}" for s in self.special) or "no special points"
        values = self[self.along]
        return (
            f"<branch of {len(self)} points, {self.along} from {values[0]:.6g} to {values[-1]:.6g}: {found}>"
        )

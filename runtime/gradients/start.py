"""The start of a run as a function of what it is differentiated by: parameters, initial values and inputs by name."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array, wide
from ..model.derivatives import derivatives
from ..sensitivities.start import Onset, check_constant, check_differentiable, is_integer


class GradientStart(Onset):
    """The start of a run, and the derivatives by it of what follows."""

    @property
    def initial_names(self) -> tuple[str, ...]:
        """The initial values: those entries that decide on something."""
        left_out = () if self.declared is None else (self.model.independent, *self._followers)
        return tuple(name for name in self.entries if name not in left_out)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameters without those that follow from the initial values."""
        return tuple(name for name in self.model.parameters if name not in self._followers)

    @cached_property
    def _followers(self) -> tuple[str, ...]:
        """Parameters and dependent velocities that the kernel "initial" does not read."""
        if self.declared is None:
            return ()
        model, found = self.model, []
        known = np.nan_to_num(self.declared), self.p
        u = wide(np.concatenate([self.u, np.zeros(len(model.modes))]))
        for row, names in enumerate((model.declared, model.parameters)):
            for i, name in enumerate(names):
                if row == 0 and model.variables[name].kind == "coordinate":
                    continue
                columns = [wide(each.copy()) for each in known]
                columns[row][i] = np.nan
                after = model._columns("initial", np.array([self.t]), *columns, u, None, False)
                if not np.isnan(after).any():
                    found.append(name)
        return tuple(found)

    def chosen(self, what: str, by: Any) -> tuple[str, ...]:
        """The names in `by`, checked; None: all parameters, then all initial values, without integers."""
        known = (*self.parameter_names, *self.initial_names)
        if by is None:
            return tuple(name for name in known if not is_integer(self.model, name))
        names = arguments.plain_names("by", by)
        known = (*known, *self.model.inputs)
        for name in names:
            if name in self.model.inputs:
                check_constant(what, self.inputs, name)
            check_differentiable(what, self.model, name)
            if name in known:
                continue
            if name in self.model.parameters or name in self.model.declared:
                raise ArgumentError(
                    f"{what}: {name} follows from the others; what a start is made of is {', '.join(known)}"
                )
            raise arguments.unknown_entry(what, [name], known)
        if len(set(names)) < len(names) or not names:
            raise ArgumentError(f"{what} = {names}; one name or several different ones are needed")
        return names

    def back(self, by_x: Array, by_p: Array, by_u: Array) -> dict[str, float]:
        """The derivatives by every name of a start, from those by the states, the parameters and the inputs."""
        model = self.model
        by_initial = by_x
        if self.move is not None:
            by_initial, rest = self.move.back(by_x)
            by_p, by_u = by_p + rest[: len(by_p)], by_u + rest[len(by_p) :]
        if self.declared is not None:
            weights = np.concatenate([by_x, by_p])
            known = np.nan_to_num(self.declared)
            found = derivatives(model).adjoint("initial", self.t, known, self.p, self.u, weights)
            _, by_initial, by_p, more = np.split(found, np.cumsum([1, len(known), len(self.p)]))
            by_u = by_u + more
        if self.unit is not None:
            by_initial = by_initial @ self.unit(model, tuple(self.entries))
        return {
            **dict(zip(self.entries, map(float, by_initial))),
            **dict(zip(model.parameters, map(float, by_p))),
            **dict(zip(model.inputs, map(float, by_u))),
        }

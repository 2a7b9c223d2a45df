"""SymPy's own accelerations of its mechanical models, and how far those of `from_sympy` are from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp
import sympy.physics.mechanics as me

t = me.dynamicsymbols._t


def method_of(model: Any) -> Any:
    """The KanesMethod or LagrangesMethod inside a model whose equations are formed."""
    if isinstance(model, me.JointsMethod):
        return model.method
    return model.eom_method if isinstance(model, me.System) else model


def formed(model: Any) -> Any:
    """The same, with the equations formed by SymPy."""
    if isinstance(model, (me.System, me.JointsMethod)):
        model.form_eoms()
    elif isinstance(model, me.KanesMethod):
        model.kanes_equations(model._bodylist, model._forcelist)
    else:
        model.form_lagranges_equations()
    return method_of(model)


def states_of(model: Any) -> dict[Any, Any]:
    """The states of the muscles of a `System`, with their rates."""
    muscles = [a for a in getattr(model, "actuators", ()) if hasattr(a, "rhs")]
    return {f: e for muscle in muscles for f, e in zip(muscle.x, muscle.rhs(), strict=True)}


class Oracle:
    """SymPy's own equations of a formed KanesMethod or LagrangesMethod, as numbers."""

    def __init__(self, method: Any, states: Mapping[Any, Any] | None = None) -> None:
        """`states` are first-order states of the model with their rates."""
        lagrange = isinstance(method, me.LagrangesMethod)
        q, qd = list(method.q), [x.diff(t) for x in method.q]
        u = qd if lagrange else list(method.u)
        mass, force = method.mass_matrix_full, method.forcing_full
        if lagrange:
            rows, offset = (
                sp.linear_eq_to_matrix(list(method.coneqs), u) if method.coneqs else (sp.zeros(0, 0),) * 2
            )
        else:
            rows, offset = (method._k_nh, -method._f_nh) if method._k_nh else (sp.zeros(0, 0),) * 2
            auxiliary = [*method._uaux, *(v.diff(t) for v in method._uaux)]
            at_rest = dict.fromkeys(auxiliary, sp.Integer(0))
            mass, force, rows, offset = (m.xreplace(at_rest) for m in (mass, force, rows, offset))
        self.first_order = dict(states or {})
        rates = sp.Matrix([e.doit() for e in self.first_order.values()])
        rates = rates if lagrange else rates.xreplace(dict(method.kindiffdict()))
        found = me.find_dynamicsymbols(mass.row_join(force)) | {*self.first_order}
        found |= me.find_dynamicsymbols(sp.Matrix([*rates, *rows, *offset]))
        found -= {*q, *qd, *u}
        found -= {v.diff(t) for v in u}
        rank = {"f": 0, "f_dot": 1, "f_ddot": 2}
        self.inputs = sorted(found, key=lambda f: (rank.get(input_name(f), 3), str(f)))
        constants = set().union(*(m.free_symbols for m in (mass, force, rows, rates))) - {t}
        self.constants = sorted(constants, key=str)
        self.q, self.u, self.dependent = q, u, rows.rows
        given = [q, u, self.constants, self.inputs, t]
        self._equations = sp.lambdify(given, [mass, force, rates], cse=True)
        self._constraints = sp.lambdify(given, [rows, offset], cse=True)

    def numbers(self, seed: int, constants: Mapping[str, float] | None = None) -> tuple[Any, ...]:
        """Random coordinates, permitted speeds, constants where none are given, inputs and time."""
        rng = np.random.default_rng(seed)
        q, u = rng.uniform(0.2, 0.7, len(self.q)), rng.uniform(-1, 1, len(self.u))
        p = rng.uniform(0.5, 1.5, len(self.constants))
        if constants is not None:
            p = np.array([constants[str(s)] for s in self.constants])
        inputs, time = rng.uniform(-1, 1, len(self.inputs)), float(rng.uniform(0, 2))
        return q, self.states(q, u, p, inputs, time), p, inputs, time

    def states(self, q: Any, u: Any, p: Any, inputs: Any, time: float) -> Any:
        """The nearest speeds that satisfy the constraints."""
        if not self.dependent:
            return u
        rows, offset = (np.array(part, float) for part in self._constraints(q, u, p, inputs, time))
        return u - np.linalg.lstsq(rows, rows @ u - offset.ravel(), rcond=None)[0]

    def accelerations(self, q: Any, u: Any, p: Any, inputs: Any, time: float) -> dict[str, float]:
        """du/dt by the name of the speed, and the rates of the first-order states."""
        mass, force, rates = (np.array(part, float) for part in self._equations(q, u, p, inputs, time))
        found = np.linalg.solve(mass, force.ravel())[len(self.q) :][: len(self.u)]
        moving = zip([*self.u, *self.first_order], [*found, *rates.ravel()], strict=True)
        return {name_of(v): float(a) for v, a in moving}


def difference(
    model: Any, oracle: Oracle, states: int = 20, constants: Mapping[str, float] | None = None
) -> float:
    """The largest difference of a compiled model from SymPy's accelerations, relative to their size."""
    worst = 0.0
    for seed in range(states):
        q, u, p, inputs, time = oracle.numbers(seed, constants)
        known = dict(zip(map(name_of, [*oracle.q, *oracle.u]), [*q, *u], strict=True))
        fixed = dict(zip(map(str, oracle.constants), p, strict=True))
        driven = dict(zip(map(input_name, oracle.inputs), inputs, strict=True))
        known |= {name_of(f): driven[name_of(f)] for f in oracle.first_order}
        rates = model.rhs(
            time,
            [known[n] for n in model.states],
            [fixed.get(n, 1.0) for n in model.parameters],
            [driven.get(n, 0.0) for n in model.inputs],
        )
        expected = oracle.accelerations(q, u, p, inputs, time)
        size = max(map(abs, expected.values()))
        compared = [(expected[n], r) for n, r in zip(model.states, rates, strict=True) if n in expected]
        assert len(compared) == len(model.states) - len(oracle.q)
        errors = [abs(a - b) / max(size, 1.0) for a, b in compared]
        assert np.isfinite(errors).all()
        worst = max(worst, *errors)
    return worst


def input_name(f: Any) -> str:
    """The name of an input: f, f_dot or f_ddot."""
    if isinstance(f, sp.Derivative):
        return f"{f.args[0].func.__name__}_{'d' * int(f.args[1][1])}ot"
    return str(f.func.__name__)


def name_of(v: Any) -> str:
    """The name of a coordinate or speed among the states."""
    return f"{v.args[0].func.__name__}_dot" if isinstance(v, sp.Derivative) else str(v.func.__name__)

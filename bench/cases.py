"""The benchmark cases: catalogue systems, compiled and as the same equations in plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from sizes import scaled

import chaplygin as cg

Array = NDArray[np.float64]
Field = Callable[[float, Any], Any]

TOLERANCE = 1e-9
T_END = scaled(100.0, 10.0)

_REFERENCE = Path(__file__).resolve().parent.parent / "tests" / "data" / "reference_states.json"


@dataclass(frozen=True)
class Case:
    """A catalogue system in one form, ready to run both ways.

    State vectors follow ``model.states`` on both sides; parameters and the initial state are the catalogue's.
    """

    name: str
    form: str
    n: int | None = None

    @cached_property
    def entry(self) -> Any:
        return cg.example(self.name, **({} if self.n is None else {"n": self.n}))

    @cached_property
    def equations(self) -> Any:
        return self.entry.system.equations(self.form)

    @cached_property
    def model(self) -> Any:
        return self.entry.system.compile(self.form, wait=True)

    @property
    def key(self) -> str:
        return self.name if self.n is None else f"{self.name}_{self.n}"

    @cached_property
    def _start(self) -> Any:
        """A run of negligible length: it converts the declared states and parameters to those of the form."""
        begin = float(self.entry.initial.get(self.clock, 0.0))
        return self.model.integrate(
            (begin, begin + 1e-9), initial=self.entry.initial, parameters=self.entry.parameters
        )

    @property
    def clock(self) -> str:
        """The independent variable: time, or Whittaker's coordinate."""
        return "t" if self.equations.independent is None else str(self.equations.independent)

    @cached_property
    def parameters(self) -> Array:
        return np.array([self._start.parameters[name] for name in self.model.parameters])

    @cached_property
    def initial(self) -> Array:
        return np.array(self._start.y[:, 0])

    def run(
        self, t_end: float = T_END, method: str = "dop853", tolerance: float = TOLERANCE, **more: Any
    ) -> Any:
        return self.model.integrate(
            (0.0, t_end),
            initial=self.entry.initial,
            parameters=self.entry.parameters,
            method=method,
            rtol=tolerance,
            atol=tolerance,
            **more,
        )

    def error_at_10(self, state: Any) -> float:
        """The largest deviation of a state vector at t = 10 from the 20-digit reference; NaN without a reference."""
        references = json.loads(_REFERENCE.read_text())
        if self.key not in references:
            return float("nan")
        expected = references[self.key]["end"]["10"]["state"]
        exact = dict(zip(references[self.key]["state"], (float(value) for value in expected), strict=True))
        renamed = {"phidot(theta1)": "omega", "theta2": "v"}
        exact = {renamed.get(name, name): value for name, value in exact.items()}
        pairs = [(value, exact[name]) for name, value in zip(self.model.states, state) if name in exact]
        return max(abs(float(value) - known) for value, known in pairs)

    # The same equations in Python --------------------------------------------------------------------------------

    @cached_property
    def _symbols(self) -> list[sp.Symbol]:
        names = (self.clock, *self.model.states, *self.model.parameters)
        return [sp.Symbol(name, real=True) for name in names]

    def _expressions(self) -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
        """dx/dt, M and f in plain symbols."""
        named = {symbol.name: symbol for symbol in self._symbols}
        matrices = (self.equations.kinematics, self.equations.mass_matrix, self.equations.forcing)
        renamed = []
        for matrix in matrices:
            swap = {symbol: named[symbol.name] for symbol in matrix.free_symbols if symbol.name in named}
            renamed.append(matrix.xreplace(swap))
        return renamed[0], renamed[1], renamed[2]

    @cached_property
    def explicit(self) -> list[sp.Expr]:
        """The right-hand side as explicit expressions; only practical for few velocities."""
        rates, mass, forcing = self._expressions()
        return [*rates, *mass.LUsolve(forcing)]

    def python_field(self, modules: str = "math") -> Field:
        """f(t, y) by ``sympy.lambdify`` with common subexpressions.

        With ``modules`` "math" it takes one state and returns a list (an array if M has to be solved numerically);
        with "numpy" it takes shape (n,) or (n, N) and returns the same shape.
        """
        states, p = len(self.model.states), self.parameters.tolist()
        k = self.equations.mass_matrix.shape[0]
        if k <= 3:
            compiled = sp.lambdify(self._symbols, self.explicit, modules=modules, cse=True)
            if modules == "math":
                return lambda t, y: compiled(t, *y, *p)

            def explicit(t: float, y: Array) -> Array:
                return np.array(np.broadcast_arrays(*compiled(t, *y, *p)))

            return explicit
        rates, mass, forcing = self._expressions()
        n = states - k
        both = sp.lambdify(self._symbols, [list(rates), list(mass), list(forcing)], modules=modules, cse=True)
        if modules == "math":

            def one(t: float, y: Any) -> Array:
                x_dot, m, f = both(t, *y, *p)
                return np.concatenate([x_dot, np.linalg.solve(np.reshape(m, (k, k)), f)])

            return one

        def many(t: float, y: Array) -> Array:
            x_dot, m, f = both(t, *y, *p)
            shape = y.shape[1:]
            matrices = np.stack([np.broadcast_to(entry, shape) for entry in m], -1).reshape(*shape, k, k)
            right = np.stack([np.broadcast_to(entry, shape) for entry in f], -1)[..., None]
            out = np.empty_like(y)
            for i in range(n):
                out[i] = x_dot[i]
            out[n:] = np.moveaxis(np.linalg.solve(matrices, right)[..., 0], -1, 0)
            return out

        return many


SLEIGH = Case("chaplygin_sleigh", "maggi")
TOP = Case("heavy_top", "poincare")
CHAIN = Case("n_link_pendulum", "lagrange", 5)
CASES = scaled((SLEIGH, TOP, CHAIN), (SLEIGH,))
# Every form, on systems small enough for SymPy to solve for the accelerations explicitly.
EVERY_FORM = scaled(
    (
        *(
            Case(name, form)
            for name in ("chaplygin_sleigh", "heavy_top", "double_pendulum")
            for form in cg.example(name).forms
        ),
        Case("gyrostat", "routh"),
        CHAIN,
    ),
    (SLEIGH,),
)


@cache
def chain(n: int) -> Case:
    """The planar chain of ``n`` links."""
    return Case("n_link_pendulum", "lagrange", n)


def rk4_plain(field: Field, y: list[float], h: float, steps: int) -> list[float]:
    """Runge-Kutta with fixed steps in plain Python lists."""
    t = 0.0
    for _ in range(steps):
        k1 = field(t, y)
        k2 = field(t + h / 2, [a + h / 2 * b for a, b in zip(y, k1)])
        k3 = field(t + h / 2, [a + h / 2 * b for a, b in zip(y, k2)])
        k4 = field(t + h, [a + h * b for a, b in zip(y, k3)])
        y = [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4)]
        t += h
    return y


def rk4_numpy(field: Field, y: Array, h: float, steps: int) -> Array:
    """The same over arrays (n, N): all trajectories at once."""
    t = 0.0
    for _ in range(steps):
        k1 = field(t, y)
        k2 = field(t + h / 2, y + h / 2 * k1)
        k3 = field(t + h / 2, y + h / 2 * k2)
        k4 = field(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
    return y

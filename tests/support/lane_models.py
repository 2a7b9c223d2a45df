"""Models for the tests of lanes, the cases to run them in, and the comparisons."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import sympy as sp
from dense_chain import dense_chain
from plane_systems import sleigh

import chaplygin as cg
from chaplygin.runtime import Model

N = 21


@functools.cache
def torque_sleigh() -> Model:
    """A sleigh driven by a couple: sines, and an input."""
    return sleigh("torque_sleigh", forces={cg.velocities("omega"): cg.inputs("tau")}).compile("maggi")


@functools.cache
def selects() -> Model:
    """Two masses under forces with branches, absolute values and elementary functions."""
    x, y = cg.coordinates("x y")
    v, w = cg.velocities("v w")
    k, c = cg.parameters("k c", positive=True)
    F = cg.inputs("F")
    spring = sp.Piecewise((x, x < 0), (x**3, x < 1), (sp.atan2(x, 1 + y**2) + sp.Max(x, y), True))
    valley = sp.exp(-(y**2)) * sp.sin(5 * y) + sp.sqrt(1 + x**2) * y
    system = cg.System(
        "selects",
        kinematics={x: v, y: w},
        kinetic=(v**2 + w**2) / 2,
        forces={v: F - k * spring - c * sp.Abs(v) * v, w: -valley - sp.Min(w, c) - sp.log(1 + w**2)},
        example={x: 0.3, y: 0.2, v: 0.1, w: 0.4, k: 2, c: 0.1, F: 0.2},
    )
    return system.compile("poincare")


@functools.cache
def perils() -> Model:
    """A mass matrix that is singular at y = pi/2, and z'' = c z'^2 - k^2 z, which blows up or is fast."""
    x, y, z = cg.coordinates("x y z")
    v, w, r = cg.velocities("v w r")
    c, k = cg.parameters("c k")
    system = cg.System(
        "perils",
        kinematics={x: v, y: w, z: r},
        kinetic=(v**2 + w**2 + 2 * v * w * sp.sin(y) + r**2) / 2,
        forces={r: c * r**2 - k**2 * z},
        example={x: 0, y: 0.2, z: 0.1, v: 0.1, w: 0.1, r: 0.1, c: 0, k: 1},
    )
    return system.compile("poincare")


def shipped(name: str) -> Model:
    found: Model = import_module(f"chaplygin.generated.{name}").model
    return found


@functools.cache
def chain(n: int) -> Model:
    return shipped("n_link_pendulum_5") if n == 5 else dense_chain(n).system.compile()


@dataclass
class Case:
    """Arguments for `ensemble`; arrays vary from one trajectory to the next."""

    model: Model
    initial: dict[str, Any]
    parameters: dict[str, Any]
    inputs: dict[str, Any] = field(default_factory=dict)
    t_end: float = 1.0

    def column(self, i: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Arguments for `integrate` for one trajectory."""
        parts = self.initial, self.parameters, self.inputs
        return tuple(
            {
                name: float(value[i]) if isinstance(value, np.ndarray) else some_rows(value, i)
                for name, value in part.items()
            }
            for part in parts
        )  # type: ignore[return-value]

    def __iter__(self) -> Any:
        return iter((self.initial, self.parameters, self.inputs))


def spread(values: dict[str, float], width: float, n: int = N, seed: int = 1) -> dict[str, Any]:
    """Every value with its own random offset in each trajectory."""
    random = np.random.default_rng(seed)
    return {name: value + width * (random.random(n) - 0.5) for name, value in values.items()}


def catalogue(
    name: str, width: float = 0.3, t_end: float = 1.0, model: Model | None = None, **size: int
) -> Case:
    """A system of the catalogue with scattered initial states and every second parameter scattered."""
    entry = cg.example(name, **size)
    model = model or shipped(name)
    initial = {
        s: v for s, v in entry.initial.items() if s in (model.declared if model.has_initial else model.states)
    }
    parameters: dict[str, Any] = {s: v for s, v in entry.parameters.items() if s in model.parameters}
    for i, (key, value) in enumerate(parameters.items()):
        if i % 2 == 0:
            parameters[key] = value * (1 + 0.1 * np.random.default_rng(i).random(N))
    return Case(model, spread(initial, width), parameters, {}, t_end)


@functools.cache
def case(name: str) -> Case:
    """The named case."""
    if name == "selects":
        start = spread({"x": 0.3, "y": 0.2, "v": 0.5, "w": 0.4}, 2.0)
        return Case(
            selects(), start, {"k": np.linspace(1, 3, N), "c": 0.1}, {"F": np.linspace(-0.5, 0.5, N)}, 3.0
        )
    if name.startswith("sleigh with"):
        tau = {
            "a number": 0.1,
            "numbers": np.linspace(0, 1, N),
            "steps": ([0.3, 1.0, 1.0, 1.7], [0.1, 0.5, -0.5, 0.2]),
            "lines": ([-0.2, 0.5, 1.3, 9.0], [0.1, 0.5, 0.4, 0.0], "linear"),
            "a function": lambda t, y: 0.1 * t - 0.2 * y[3],
        }[name.removeprefix("sleigh with ")]
        start = {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": np.linspace(-2, 2, N), "v": 1.0}
        return Case(
            torque_sleigh(), start, {"m": 1.0, "a": 0.2, "J": np.linspace(0.4, 0.6, N)}, {"tau": tau}, 2.0
        )
    if name.startswith("chain"):
        n = int(name.removeprefix("chain "))
        return catalogue("n_link_pendulum", 0.5, 0.4, chain(n), n=n)
    # A state on the sphere or on the constraint surface stays consistent only if it is not scattered.
    width = {"rolling_ring": 0.05, "fluid_cavity": 0.1, "kovalevskaya_top": 0.05}.get(name, 0.3)
    return catalogue(name, width)


def some_rows(value: Any, which: Any) -> Any:
    """Of samples that have a row of values for each trajectory these rows; anything else as it is."""
    rows = isinstance(value, tuple) and np.ndim(value[1]) == 2
    return (value[0], value[1][which], *value[2:]) if rows else value


# ---- comparisons ----


def bits(array: Any) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def assert_same(a: Any, b: Any) -> None:
    """Two ensembles agree in every bit and count."""
    for name in ("y", "t", "status", "nfev", "n_steps"):
        assert bits(getattr(a, name)) == bits(getattr(b, name)), name


def assert_single(ens: Any, given: Case, i: int, span: tuple[float, float], **options: Any) -> None:
    """Trajectory i agrees bit for bit with a separate run."""
    initial, parameters, inputs = given.column(i)
    for sol in (
        given.model.integrate(span, initial, parameters, inputs, t_eval=ens.t_eval, **options),
        ens.rerun(i, t_eval=ens.t_eval),
    ):
        assert sol.status == ens.status[i]
        assert bits(sol.t_reached) == bits(ens.t[i])
        assert (sol.nfev, sol.n_steps) == (ens.nfev[i], ens.n_steps[i])
        if ens.t_eval is not None:
            most = min(len(sol.t), len(ens.t_eval))
            there = int(
                (sol.t[:most] == ens.t_eval[:most]).sum()
            )  # a failed run also has the state that it has reached, where it may be asked for: at its start
            if sol.status < 0 and there == len(sol.t) and np.isnan(ens.y[:, there - 1, i]).all():
                there -= 1
            assert len(sol.t) - there <= (sol.status < 0)
            assert bits(sol.y[:, :there]) == bits(ens.y[:, :there, i])
            assert np.isnan(ens.y[:, there:, i]).all()
        else:
            assert bits(sol.y[:, -1]) == bits(ens.y[:, i])
        if sol.status < 0:
            assert bits(sol.t[-1]) == bits(sol.t_reached)

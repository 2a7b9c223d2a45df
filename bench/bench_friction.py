"""Hybrid systems: the published run 2 of the Painlevé-Klein example, t = 0..2.5, and ensembles, at rtol = atol = 1e-9.

Both sliders slide and stop, one of them reverses, then both rest: three mode changes. The compiled model is compared
with the same program in Python: the equations of every mode by ``sympy.lambdify`` with the parameter values
substituted, ``scipy.integrate.solve_ivp`` with terminal events from one mode change to the next, and the transition
rules in between. The error is the largest deviation of the three times from the reference.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from cases import TOLERANCE
from scipy.integrate import solve_ivp
from sizes import ROUNDS, scaled
from turns import Contender, Ratio

import chaplygin as cg
from chaplygin.runtime.core._core import widest_lanes

T_END = 2.5
RUN = "k=1 nu=1 eps=.1 delta0=.12"
AT_ONCE = scaled(100, 1)
"""Compiled runs per timing."""

_DATA = Path(__file__).resolve().parent.parent / "tests" / "data" / "painleve_klein.json"
EXPECTED = next(run["t"] for run in json.loads(_DATA.read_text())["runs"] if run["name"] == RUN)

Modes = tuple[int, int]


class Program:
    """The hybrid system in Python: a right-hand side for each pair of modes, and the loads on the sliders."""

    def __init__(self, parameters: dict[str, float]) -> None:
        names = sp.symbols("x1 x2 v1 v2")
        x1, x2, v1, v2 = names
        p = {name: sp.Float(value) for name, value in parameters.items()}
        length = sp.sqrt((x1 - x2) ** 2 + p["d"] ** 2)
        cosine, sine = (x1 - x2) / length, p["d"] / length
        tension = p["K"] * (length - p["l"]) + p["C"] * cosine * (v1 - v2)
        self.pull = (p["X1"] - tension * cosine, p["X2"] + tension * cosine)
        normal = (tension * sine - p["Y1"], -p["Y2"] - tension * sine)
        self.limit = tuple(p[f"mu{i + 1}"] * abs(normal[i]) for i in (0, 1))
        self.normals = sp.lambdify(names, normal, modules="math", cse=True)
        self.velocities, self.masses, self.names = (v1, v2), (p["m1"], p["m2"]), names
        loads = [*self.pull, *self.limit]
        self.loads = sp.lambdify(names, loads, modules="math", cse=True)
        self.fields = {(a, b): self._field((a, b)) for a in (-1, 0, 1) for b in (-1, 0, 1)}

    def _field(self, modes: Modes) -> Callable[[float, Any], Any]:
        rates = [
            (self.pull[i] - s * self.limit[i]) / self.masses[i] if s else sp.Integer(0)
            for i, s in enumerate(modes)
        ]
        rhs = sp.lambdify(self.names, [*self.velocities, *rates], modules="math", cse=True)
        return lambda t, y: rhs(*y.tolist())

    def watched(self, modes: Modes) -> list[Callable[[float, Any], float]]:
        """Events: a sliding slider stops, a sticking one breaks away; the friction of both has a kink at N = 0."""

        def stop(i: int) -> Callable[[float, Any], float]:
            return lambda t, y: y[2 + i]

        def tear(i: int) -> Callable[[float, Any], float]:
            def excess(t: float, y: Any) -> float:
                loads = self.loads(*y.tolist())
                return abs(loads[i]) - loads[2 + i]

            return excess

        def kink(i: int) -> Callable[[float, Any], float]:
            return lambda t, y: self.normals(*y.tolist())[i]

        found = [stop(i) if modes[i] else tear(i) for i in (0, 1)]
        for i, function in enumerate(found):
            function.direction = -modes[i] if modes[i] else 1  # type: ignore[attr-defined]
        found += [kink(0), kink(1)]
        for function in found:
            function.terminal = True  # type: ignore[attr-defined]
        return found

    def after(self, i: int, y: Any) -> int:
        """The mode of slider i, now at rest: it sticks, or slides in the direction of the load."""
        loads = self.loads(*y.tolist())
        if abs(loads[i]) <= loads[2 + i]:
            return 0
        return 1 if loads[i] > 0 else -1

    def run(self, start: list[float], tolerance: float, method: str) -> list[float]:
        """The times of the mode changes."""
        t, y, modes, times = 0.0, np.array(start), (1, 1), []
        while t < T_END:
            sol = solve_ivp(
                self.fields[modes],
                (t, T_END),
                y,
                method,
                events=self.watched(modes),
                rtol=tolerance,
                atol=tolerance,
            )
            t, y = float(sol.t[-1]), sol.y[:, -1].copy()
            if sol.status != 1:
                break
            i = next(i for i, found in enumerate(sol.t_events) if len(found))
            if i > 1:
                continue
            y[2 + i] = 0.0
            new = self.after(i, y)
            modes = (new, modes[1]) if i == 0 else (modes[0], new)
            times.append(t)
        return times


def deviation(times: list[float]) -> float:
    """The largest error of the times; raises ValueError unless all mode changes were found."""
    if len(times) != len(EXPECTED):
        raise ValueError(f"found {len(times)} mode changes, expected {len(EXPECTED)}")
    return max(abs(a - b) for a, b in zip(times, EXPECTED, strict=True))


def test_published_run(turns: Any) -> None:
    entry = cg.example("painleve_klein")
    model = entry.system.compile("lagrange", wait=True)
    start = [entry.initial[name] for name in ("x1", "x2", "x1_dot", "x2_dot")]

    def ours() -> Any:
        return model.integrate(
            (0.0, T_END),
            initial=entry.initial,
            parameters=entry.parameters,
            rtol=TOLERANCE,
            atol=TOLERANCE,
        )

    def repeated() -> None:
        for _ in range(AT_ONCE):
            ours()

    python = Program(entry.parameters)
    error = deviation([mode.t_start for mode in ours().modes[1:]])
    one = Contender("chaplygin dop853 1e-9", repeated, AT_ONCE, error)
    peers = []
    for method in ("DOP853", "RK45", "LSODA"):
        error = deviation(python.run(start, TOLERANCE, method))
        peers.append(
            Contender(f"solve_ivp {method} 1e-9", lambda m=method: python.run(start, TOLERANCE, m), 1, error)
        )
    ratios = [Ratio(f"hybrid run 2, speedup over {peer.row}", one, peer, 100.0) for peer in peers]
    turns("hybrid run: Painlevé-Klein, published run 2", [one, *peers], ratios, rounds=ROUNDS)


def _side_by_side(turns: Any, name: str, run: Callable[[int], Any], error: Callable[[Any], float]) -> None:
    """The widest lanes against one lane, on one core."""
    width = widest_lanes()
    count = len(run(1).status)
    wide, single = (
        Contender(
            f"chaplygin, {lanes} lane{'s' * (lanes > 1)}", lambda k=lanes: run(k), count, error(run(lanes))
        )
        for lanes in (width, 1)
    )
    ratio = Ratio(f"{name}, speedup of {width} lanes over one", wide, single, 2.0)
    turns(f"hybrid ensemble: {name}", [wide, single], [ratio], rounds=ROUNDS)


def test_bouncing_balls(turns: Any) -> None:
    """Balls dropped from different heights, t = 0..3; the error is that of the first four bounces."""
    entry = cg.example("bouncing_ball")
    model = entry.system.compile(wait=True)
    heights = np.linspace(0.9, 1.3, scaled(100_000, 200))
    given = {"x": heights, "x_dot": 0.0}, entry.parameters

    def run(lanes: int) -> Any:
        how = {"rtol": TOLERANCE, "atol": TOLERANCE, "lanes": lanes, "threads": 1}
        return cg.ensemble(model, (0, 3), *given, n=len(heights), **how)

    def error(ens: Any) -> float:
        e, found = entry.parameters["e"], ens.t_events["bounce"]
        flights = 1 + 2 * np.concatenate([[0.0], np.cumsum(e ** np.arange(1, 4))])
        falls = np.sqrt(2 * heights / entry.parameters["g"])
        return max(float(np.abs(found[i][:4] - falls[i] * flights).max()) for i in range(0, len(falls), 97))

    _side_by_side(turns, "bouncing balls", run, error)


def test_sliders(turns: Any) -> None:
    """Painlevé-Klein runs from different velocities of slider 1; the error is the deviation from tighter tolerances."""
    entry = cg.example("painleve_klein")
    model = entry.system.compile("lagrange", wait=True)
    count = scaled(20_000, 100)
    initial = entry.initial | {"x1_dot": entry.initial["x1_dot"] * np.linspace(0.8, 1.2, count)}

    def ensemble(tolerance: float, lanes: int) -> Any:
        how = {"rtol": tolerance, "atol": tolerance, "lanes": lanes, "threads": 1}
        return cg.ensemble(model, (0, T_END), initial, entry.parameters, n=count, **how)

    reference = ensemble(1e-12, 1).y
    _side_by_side(
        turns,
        "sliders",
        lambda lanes: ensemble(TOLERANCE, lanes),
        lambda ens: float(np.median(np.abs(ens.y - reference).max(axis=0))),
    )

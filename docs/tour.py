"""The tour, run by `make run`: the Chaplygin sleigh from its declaration to ten thousand native runs.

Writes the emitted C to out/chaplygin_sleigh and the figures to out/sleigh.png and out/ensemble.png.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import chaplygin as cg
from chaplygin.cli.bench import Field, best, lambdified
from chaplygin.cli.printing import duration, progress, table
from chaplygin.codegen.views.text import brackets, equation_lines
from chaplygin.runtime.ensembles.executors import cores

Array = NDArray[np.float64]

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out"
REFERENCE = ROOT / "tests" / "data" / "reference_states.json"
T_END = 10.0
TOLERANCE = 1e-9
COUNT = 10_000


def rk4(field: Field, y: Sequence[float], t0: float, h: float, steps: int) -> list[float]:
    """The classical Runge-Kutta method in plain Python, over lists of floats."""
    y = list(y)
    for i in range(steps):
        t = t0 + i * h
        k1 = field(t, y)
        k2 = field(t + h / 2, [a + h / 2 * b for a, b in zip(y, k1)])
        k3 = field(t + h / 2, [a + h / 2 * b for a, b in zip(y, k2)])
        k4 = field(t + h, [a + h * b for a, b in zip(y, k3)])
        y = [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4)]
    return y


def main() -> None:
    OUT.mkdir(exist_ok=True)
    begin = time.perf_counter()
    sleigh = cg.example("chaplygin_sleigh")
    equations = declared_and_derived(sleigh)
    emitted_c(sleigh)
    model = compiled(sleigh)
    one_run(sleigh, model)
    speed(sleigh, equations, model)
    picture(sleigh, model)
    many_runs(sleigh, model)
    print(f"\nThe tour took {time.perf_counter() - begin:.1f} s. Next: chaplygin --help, and README.md.")


def heading(text: str) -> None:
    print(f"\n== {text} ==\n", flush=True)


def shown(path: Path) -> str:
    """A path relative to the current directory."""
    return os.path.relpath(path)


def declared_and_derived(sleigh: Any) -> Any:
    heading("The Chaplygin sleigh, declared: a body on a blade that cannot slip sideways")
    system = sleigh.system
    print(f"T = {system.kinetic},   constraint: {system.constraints[0]} = 0")
    print("parameters " + ", ".join(f"{name} = {value}" for name, value in sleigh.parameters.items()))
    print("\nStructure constants c_ab^i of the vector fields of (omega, v, w), [X_a, X_b] = c_ab^i X_i:\n")
    print("\n".join(f"  {line}" for line in brackets(system)))
    heading("Maggi's equations, derived")
    begin = time.perf_counter()
    equations = system.equations("maggi")
    operations = equations.operations
    seconds = time.perf_counter() - begin
    print("\n".join(f"  {line}" for line in equation_lines(equations.nodes)))
    print(
        f"\n{operations['rhs']} operations in the compiled right-hand side; derived in {duration(seconds)}."
    )
    for name, expression in equations.invariants.items():
        print(f"Invariant found: {name} = {expression}   ({equations.invariant_status[name]})")
    return equations


def emitted_c(sleigh: Any) -> None:
    heading("The emitted C")
    folder = OUT / sleigh.name
    paths = sleigh.system.emit("maggi", folder)
    core = next(path for path in paths if path.name.endswith("_core.c"))
    print(f"{shown(folder)}: {', '.join(path.name for path in paths)}\n")
    text = core.read_text(encoding="utf-8")
    kernel = text[text.index("/* rhs:") :]
    print(kernel[: kernel.index("\n}\n") + 2])


def compiled(sleigh: Any) -> Any:
    heading("Compiled")
    begin = time.perf_counter()
    with progress("compiling"):
        model = sleigh.system.compile("maggi", wait=True)  # compile everything: runs are timed below
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    sleigh.system.compile("maggi")
    print(
        f"{duration(first)} from declaration to loaded module; {duration(time.perf_counter() - begin)} when repeated."
    )
    return model


def one_run(sleigh: Any, model: Any) -> None:
    heading(
        f"One run, t = 0 .. {T_END:g}, dop853, rtol = atol = 1e-12, against the closed form (Gudermannian)"
    )
    options = {"initial": sleigh.initial, "parameters": sleigh.parameters, "rtol": 1e-12, "atol": 1e-12}
    solution = model.integrate((0, T_END), **options)
    exact = sleigh.closed_form(T_END)
    rows = [("", "run", "closed form", "error")]
    for name in model.states:
        end = solution[name][-1]
        rows.append((name, f"{end:.15f}", f"{exact[name]:.15f}", f"{abs(end - exact[name]):.1e}"))
    print(table(rows, right=[1, 2, 3]))
    print()
    for name in (*model.invariants, *model.residuals):
        values = solution[name]
        print(
            f"  drift of {name}: {np.abs(values - values[0]).max():.1e}   ({model.variables[name].description})"
        )
    seconds = best(lambda: model.integrate((0, T_END), **options))
    print(f"\n{solution.n_steps} steps, {solution.nfev} evaluations, {duration(seconds)}")


def speed(sleigh: Any, equations: Any, model: Any) -> None:
    heading(f"Speed: one run, t = 0 .. {T_END:g}, against the same equations and method in pure Python")
    rows = [("", "compiled", "error", "pure Python", "error", "factor")]
    exact = sleigh.closed_form(T_END)
    rows += compared(sleigh, equations, model, np.array([exact[name] for name in model.states]), 2000)
    top = cg.example("heavy_top")
    with progress("compiling the heavy top"):
        top_equations, top_model = top.system.equations("poincare"), top.system.compile("poincare", wait=True)
    rows += compared(top, top_equations, top_model, reference("heavy_top", top_model), 10_000)
    print(table(rows, right=range(1, 6)))
    print(
        "\nPure Python: SciPy's DOP853, and a plain RK4 loop, both with SymPy's lambdify. Errors: the largest"
    )
    print(
        "deviation of the final state from the closed form, or for the heavy top from a reference with 34 digits."
    )


def reference(name: str, model: Any) -> Array:
    found = json.loads(REFERENCE.read_text(encoding="utf-8"))[name]
    state = dict(zip(found["state"], map(float, found["end"]["10"]["state"]), strict=True))
    return np.array([state.get(s, np.nan) for s in model.states])


def compared(entry: Any, equations: Any, model: Any, exact: Array, steps: int) -> list[tuple[str, ...]]:
    """Rows for an adaptive and a fixed-step method: compiled, in Python, and the speedup."""
    y0 = np.array([entry.initial[name] for name in model.states])
    p = np.array([entry.parameters[name] for name in model.parameters])
    field, h = lambdified(equations, p.tolist()), T_END / steps
    tight = {"rtol": TOLERANCE, "atol": TOLERANCE}
    runs: list[tuple[str, Callable[[], Array], Callable[[], Array]]] = [
        (
            f"dop853, {TOLERANCE:g}",
            lambda: model.integrate((0, T_END), y0, p, **tight).y[:, -1],
            lambda: solve_ivp(lambda t, y: field(t, y.tolist()), (0, T_END), y0, method="DOP853", **tight).y[
                :, -1
            ],
        ),
        (
            f"rk4, {steps:,} steps",
            lambda: model.integrate((0, T_END), y0, p, method="rk4", step=h).y[:, -1],
            lambda: np.array(rk4(field, y0.tolist(), 0.0, h, steps)),
        ),
    ]
    rows = []
    for label, native, python in runs:
        with progress(f"timing {entry.name}, {label}"):
            fast, slow = best(native), best(python)
        errors = [f"{np.nanmax(np.abs(run() - exact)):.1e}" for run in (native, python)]
        name = f"{entry.name}, {label}"
        rows.append((name, duration(fast), errors[0], duration(slow), errors[1], f"{slow / fast:,.0f}"))
    return rows


def draw_path(plane: Any, sleigh: Any, times: Any, x: Any, y: Any, phi: Any) -> None:
    """Draw the path of the blade point, coloured by time, with the blade and the centre of mass."""
    from matplotlib.collections import LineCollection

    zero = int(np.searchsorted(times, 0.0))
    points = np.column_stack([x, y])
    path = LineCollection(np.stack([points[:-1], points[1:]], axis=1), cmap="viridis", linewidth=2.2)
    path.set_array(times[:-1])
    plane.add_collection(path)
    a, b = sleigh.parameters["a"], sleigh.parameters["b"]
    for i in range(0, len(times), 40):
        along = np.array([np.cos(phi[i]), np.sin(phi[i])])
        across = np.array([-along[1], along[0]])
        ends = points[i] + np.outer([-0.22, 0.22], along)
        mass = points[i] + a * along + b * across
        plane.plot(*ends.T, color="0.15", linewidth=2.4, solid_capstyle="round", zorder=3)
        plane.plot(*zip(points[i], mass), color="0.6", linewidth=0.8, zorder=2)
        plane.plot(*mass, "o", color="tab:red", markersize=4, zorder=4)
    plane.plot(x[zero], y[zero], "o", markersize=11, markerfacecolor="none", markeredgecolor="k", zorder=5)
    plane.annotate("t = 0", points[zero], xytext=(12, -14), textcoords="offset points")
    plane.plot([], [], color="0.15", linewidth=2.4, label="blade")
    plane.plot([], [], "o", color="tab:red", markersize=4, label="centre of mass")
    plane.legend(loc="best", frameon=False)
    plane.set(xlabel="x [m]", ylabel="y [m]", title="Path of the blade point", aspect="equal")
    plane.margins(0.06)
    plane.autoscale_view()
    plane.figure.colorbar(path, ax=plane, label="t [s]", shrink=0.75)


def picture(sleigh: Any, model: Any) -> None:
    """Plot the path of the sleigh, its direction compared with the closed form, and its energy drift."""
    from matplotlib.figure import Figure

    span = (-6.0, T_END)
    times = np.linspace(*span, 641)
    # Backward and forward from the initial state: the sleigh turns around once and ends with its mass ahead.
    how = {"initial": sleigh.initial, "parameters": sleigh.parameters, "rtol": 1e-12, "atol": 1e-12}
    past = model.integrate((0, span[0]), t_eval=times[times < 0][::-1], **how)
    future = model.integrate((0, span[1]), t_eval=times[times >= 0], **how)
    values = {name: np.concatenate([past[name][::-1], future[name]]) for name in (*model.states, "energy")}
    known = times[::8]  # fewer points: x and y in closed form need quadratures
    exact = sleigh.closed_form(known)
    phi = values["phi"]

    figure = Figure(figsize=(11, 5.6), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1.1, 1])
    plane = figure.add_subplot(grid[:, 0])
    draw_path(plane, sleigh, times, values["x"], values["y"], phi)

    angle = figure.add_subplot(grid[0, 1])
    angle.plot(known, exact["phi"], color="tab:blue", linewidth=1.4, label="closed form")
    angle.plot(times[::16], phi[::16], "o", color="tab:orange", markersize=3.5, label="compiled run")
    error = np.abs(phi[::8] - exact["phi"]).max()
    angle.set(ylabel="φ [rad]", title=f"Direction of the blade; largest error {error:.1e}")
    angle.legend(loc="best", frameon=False)
    angle.tick_params(labelbottom=False)

    drift = figure.add_subplot(grid[1, 1], sharex=angle)
    start = values["energy"][np.searchsorted(times, 0.0)]
    drift.plot(
        times,
        1e13 * (values["energy"] / start - 1),
        color="tab:green",
        linewidth=0.8,
        alpha=0.45,
        label="between steps",
    )
    for t_end in span:
        steps = model.integrate((0, t_end), **how)
        label = "at the steps" if t_end == T_END else None
        drift.plot(steps.t, 1e13 * (steps["energy"] / start - 1), ".", color="darkgreen", label=label)
    drift.legend(loc="best", frameon=False)
    drift.axhline(0, color="0.7", linewidth=0.8, zorder=0)
    drift.set(xlabel="t [s]", ylabel="(E − E(0)) / E(0)   [10⁻¹³]", title="Relative drift of the energy")
    for panel in (plane, angle, drift):
        panel.grid(visible=True, alpha=0.25)
    figure.savefig(OUT / "sleigh.png", dpi=140)
    heading("A picture")
    print(f"{shown(OUT / 'sleigh.png')}: path, direction against the closed form, drift of the energy")


def many_runs(sleigh: Any, model: Any) -> None:
    heading(f"{COUNT:,} sleighs with scattered initial states, one compiled model, {cores()} cores")
    random = np.random.default_rng(1)
    initial = {
        "phi": random.uniform(-np.pi, np.pi, COUNT),
        "x": random.normal(0, 1, COUNT),
        "y": random.normal(0, 1, COUNT),
        "omega": random.choice([-1.0, 1.0], COUNT) * random.uniform(0.1, 2.0, COUNT),
        "v": random.normal(0, 1, COUNT),
    }
    options = {"rtol": TOLERANCE, "atol": TOLERANCE, "progress": False}
    result, seconds = None, []
    begin = time.perf_counter()
    cg.ensemble(
        model, (0, 1e-3), initial, sleigh.parameters, n=COUNT, **options
    )  # compiles the lanes if they are not cached
    preparation = time.perf_counter() - begin
    for _ in range(3):
        begin = time.perf_counter()
        result = cg.ensemble(model, (0, T_END), initial, sleigh.parameters, n=COUNT, **options)
        seconds.append(time.perf_counter() - begin)
    assert result is not None
    exact = closed_form(sleigh.parameters, initial, T_END)
    errors = np.max([np.abs(result[name] - exact[name]) for name in model.states], axis=0)
    rate = f"{COUNT / min(seconds):,.0f} trajectories per second"
    print(
        f"{result.message}; prepared in {duration(preparation)}, integrated in {duration(min(seconds))}: {rate}"
    )
    print(f"error against the closed form: median {np.median(errors):.1e}, largest {errors.max():.1e}")
    drift = np.abs(result["energy"] - energy(sleigh.parameters, initial))
    print(f"drift of the energy: largest {drift.max():.1e}")
    ahead = int(np.sum(result["v"] > 0))
    print(
        f"{ahead:,} of them move with the mass ahead of the blade at the end, as every sleigh does in the limit"
    )
    scattered_picture(model, initial, sleigh.parameters, errors)


def energy(p: dict[str, float], initial: dict[str, Array]) -> Array:
    omega, v = initial["omega"], initial["v"]
    return ((v - p["b"] * omega) ** 2 + (p["a"] ** 2 + p["k"] ** 2) * omega**2) / 2


def closed_form(p: dict[str, float], initial: dict[str, Array], t: float) -> dict[str, Array]:
    """Chaplygin's solution for all initial states at once; x and y by Gauss quadrature on short panels.

    tau = tau_0 + e a sqrt(2h) t / s^2, phi = phi_0 + s (gd(tau) - gd(tau_0)) / a, s^2 = a^2 + k^2, e = sgn(omega).
    """
    a, b, s = p["a"], p["b"], np.hypot(p["a"], p["k"])
    sign, root = np.sign(initial["omega"]), np.sqrt(2 * energy(p, initial))
    start = np.arcsinh((initial["v"] / initial["omega"] - b) / s)
    rate = sign * a * root / s**2

    def at(moment: Any) -> tuple[Array, Array, Array]:
        tau = start + rate * moment
        turned = 2 * (np.arctan(np.tanh(tau / 2)) - np.arctan(np.tanh(start / 2)))
        omega = sign * root / (s * np.cosh(tau))
        return initial["phi"] + s * turned / a, omega, sign * root * (b / (s * np.cosh(tau)) + np.tanh(tau))

    nodes, weights = np.polynomial.legendre.leggauss(20)
    panels = max(8, int(np.ceil(np.abs(rate).max() * t)))
    path = np.zeros(len(start), dtype=complex)
    for i in range(panels):
        for node, weight in zip(nodes, weights, strict=True):
            phi, _, v = at(t * (i + (node + 1) / 2) / panels)
            path += weight * t / (2 * panels) * v * np.exp(1j * phi)
    phi, omega, v = at(t)
    return {"phi": phi, "omega": omega, "v": v, "x": initial["x"] + path.real, "y": initial["y"] + path.imag}


def scattered_picture(model: Any, initial: dict[str, Array], p: dict[str, float], errors: Array) -> None:
    """Plot some of the paths, and a histogram of all errors."""
    from matplotlib.figure import Figure

    shown_runs = 150
    few = {name: values[:shown_runs] for name, values in initial.items()}
    times = np.linspace(0, T_END, 201)
    few["x"] = few["y"] = np.zeros(shown_runs)
    paths = cg.ensemble(model, (0, T_END), few, p, n=shown_runs, t_eval=times, progress=False)
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    plane, histogram = figure.subplots(1, 2, width_ratios=[1.1, 1])
    for i in range(shown_runs):
        colour = "tab:blue" if few["omega"][i] > 0 else "tab:orange"
        plane.plot(paths["x"][:, i], paths["y"][:, i], color=colour, linewidth=0.7, alpha=0.6)
    plane.plot([], [], color="tab:blue", label="turning left")
    plane.plot([], [], color="tab:orange", label="turning right")
    plane.legend(loc="upper right", frameon=False)
    plane.set(
        xlabel="x [m]",
        ylabel="y [m]",
        title=f"{shown_runs} of {COUNT:,} sleighs, drawn from a common starting point",
        aspect="equal",
    )
    plane.grid(visible=True, alpha=0.25)
    bins = np.geomspace(errors.min(), errors.max(), 60)
    histogram.hist(errors, bins=bins, color="tab:green", alpha=0.8)
    histogram.set(xscale="log", xlabel="error of the final state", ylabel="number of sleighs")
    histogram.set_title(f"Against the closed form, rtol = atol = {TOLERANCE:g}")
    histogram.grid(visible=True, alpha=0.25)
    figure.savefig(OUT / "ensemble.png", dpi=140)
    print(f"{shown(OUT / 'ensemble.png')}: some of the paths, and the errors of all runs")


if __name__ == "__main__":
    main()

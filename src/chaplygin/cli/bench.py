"""`chaplygin bench`: compiled models timed against the same equations in pure Python; `bench/` has far more."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.systems import examples

from .printing import duration, print_json, progress, table
from .subject import find

if TYPE_CHECKING:
    from chaplygin.api.equations import Equations

sp = later("sympy")
choose = later("chaplygin.codegen.forms.choose")
scipy = later("scipy")

Field = Callable[[float, Any], list[float]]
TOLERANCE = 1e-9
DENSE = 8
"""Number of velocities from which M theta' = f is solved numerically: the explicit expressions get too long."""


def lambdified(equations: Equations, parameters: Sequence[float]) -> Field:
    """f(t, y) in plain Python, made by SymPy's `lambdify` from M theta' = f with common subexpressions eliminated.

    y has length n, in the order of `equations.states`; f returns a list. `parameters` are in the order of the system's.

    >>> from chaplygin.systems import example
    >>> system = example("harmonic_oscillator").system
    >>> lambdified(system.equations("lagrange"), [2.0, 8.0])(0.0, [1.0, 0.5])
    [0.5, -4.0]
    """
    system = equations.system
    symbols = [*system.coordinates, *equations.velocities, *system.parameters]
    rates, mass, forcing = equations.kinematics, equations.mass_matrix, equations.forcing
    values = [float(p) for p in parameters]
    k, n = len(equations.velocities), len(system.coordinates)
    if k < DENSE:
        explicit = sp.lambdify(symbols, [*rates, *mass.LUsolve(forcing)], modules="math", cse=True)

        def field(t: float, y: Any) -> list[float]:
            found: list[float] = explicit(*y, *values)
            return found

        return field
    terms = sp.lambdify(symbols, [*rates, *mass, *forcing], modules="math", cse=True)

    def solved(t: float, y: Any) -> list[float]:
        row = terms(*y, *values)
        matrix = np.reshape(row[n : n + k * k], (k, k))
        return [*row[:n], *np.linalg.solve(matrix, np.array(row[n + k * k :])).tolist()]

    return solved


def best(function: Callable[[], object], seconds: float = 0.3) -> float:
    """The shortest time of one call, over calls that together take about `seconds` (at least one call)."""
    spent, shortest = 0.0, float("inf")
    while spent < seconds:
        begin = time.perf_counter()
        function()
        elapsed = time.perf_counter() - begin
        spent, shortest = spent + elapsed, min(shortest, elapsed)
    return shortest


def bench(arguments: Namespace) -> int:
    """`chaplygin bench`."""
    head = ("system", "derive", "compile", "rhs", "compiled", "error", "SciPy", "error", "factor")
    facts = [_measured(text) for text in arguments.systems or examples()]
    if arguments.json:
        print_json({"tolerance": TOLERANCE, "systems": facts})
        return 0
    rows = [_row(found) for found in facts]
    print(
        f"One run over the catalogue's time span, dop853, rtol = atol = {TOLERANCE:g}: compiled, and SciPy's DOP853\n"
        "with the same equations through lambdify. Times are the best of several; cached models are only loaded.\n"
    )
    print(table([head, *rows], indent="", right=range(1, 9)))
    return 0


def _row(facts: dict[str, Any]) -> tuple[str, ...]:
    latency = [duration(facts[key]) for key in ("derive_seconds", "compile_seconds", "rhs_seconds")]
    fast, slow = facts["compiled_seconds"], facts["scipy_seconds"]
    runs = [duration(fast), f"{facts['compiled_error']:.1e}", duration(slow), f"{facts['scipy_error']:.1e}"]
    return (facts["system"], *latency, *runs, f"{slow / fast:,.0f}")


def _measured(text: str) -> dict[str, Any]:
    with progress(f"deriving {text}"):
        found = find(text)
        begin = time.perf_counter()
        equations = found.system.equations(choose.fitting(found.system))
        equations.program  # noqa: B018  derived and lowered here, to be timed
        derived = time.perf_counter() - begin
    with progress(f"compiling {text}", compiling=True):
        begin = time.perf_counter()
        model = found.system.compile(equations.form, wait=True)
        compiled = time.perf_counter() - begin
    y0 = np.array([found.initial[name] for name in model.states])
    p = np.array([found.parameters[name] for name in model.parameters])
    span = found.t_span

    def native(tolerance: float = TOLERANCE) -> Any:
        return model.integrate(span, y0, p, rtol=tolerance, atol=tolerance)

    with progress(f"timing {text}"):
        fast = best(native)
        one = best(lambda: [model.rhs(0.0, y0, p) for _ in range(1000)]) / 1000
        field = lambdified(equations, p.tolist())

        def python() -> Any:
            return scipy.integrate.solve_ivp(
                lambda t, y: field(t, y.tolist()), span, y0, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE
            )

        slow = best(python)
    known = found.exact(span[1])
    reference = native(1e-13).y[:, -1] if known is None else np.array([known[name] for name in model.states])
    errors = [float(np.abs(run().y[:, -1] - reference).max()) for run in (native, python)]
    return {
        "system": found.name,
        "form": equations.form,
        "derive_seconds": derived,
        "compile_seconds": compiled,
        "rhs_seconds": one,
        "compiled_seconds": fast,
        "compiled_error": errors[0],
        "scipy_seconds": slow,
        "scipy_error": errors[1],
    }

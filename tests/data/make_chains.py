"""Recompute the reference states of the two chains in reference_states.json: ``python
tests/data/make_chains.py``.

Gragg-Bulirsch-Stoer extrapolation, 40 digits and 1e-30 per step, of the equations from SymPy's KanesMethod. It
takes minutes, prints JSON and writes no file. The other systems' states in that file come from the same method in
another program, with 34 digits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mpmath import mp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import oracles

Field = Callable[[Any], Any]


def extrapolated_step(field: Field, y: Any, start: Any, step: Any, columns: int) -> tuple[Any, Any]:
    """One step with substeps 2, 4, ..., 2 columns: the state and an estimate of its error."""
    table: list[Any] = []
    for row in range(1, columns + 1):
        substeps = 2 * row
        h = step / substeps
        before, here = y, y + h * start
        for _ in range(substeps - 1):
            before, here = here, before + 2 * h * field(here)
        line = [(before + here + h * field(here)) / 2]
        for j, above in enumerate(table, 1):
            ratio = mp.mpf(row) / (row - j)
            line.append(line[-1] + (line[-1] - above) / (ratio**2 - 1))
        table = line
    return table[-1], mp.norm(table[-1] - table[-2], mp.inf)


def integrate(field: Field, y: Any, t_end: Any, tolerance: Any, columns: int = 14) -> tuple[Any, Any]:
    """The state at ``t_end`` and the sum of the local error estimates."""
    t, step, total = mp.zero, mp.mpf("0.1"), mp.zero
    while t < t_end:
        step = min(step, t_end - t)
        after, error = extrapolated_step(field, y, field(y), step, columns)
        factor = mp.mpf("0.8") * (tolerance / max(error, tolerance * mp.mpf("1e-6"))) ** (
            mp.one / (2 * columns - 1)
        )
        if error <= tolerance:
            t, y, total = t + step, after, total + error
        step *= min(mp.mpf(2), max(mp.mpf("0.2"), factor))
    return y, total


def reference(oracle: oracles.Oracle, parameters: dict[str, str], initial: dict[str, str]) -> dict[str, Any]:
    """One entry of reference_states.json."""
    system = oracle.linear_system("mpmath")
    p = [mp.mpf(parameters[name]) for name in oracle.parameters]

    def field(y: Any) -> Any:
        matrix, forcing = system(*y, *p)
        return mp.lu_solve(matrix, forcing)

    y, t, error, end = mp.matrix([mp.mpf(initial[name]) for name in oracle.states]), mp.zero, mp.zero, {}
    for stop in (1, 10):
        y, added = integrate(field, y, stop - t, mp.mpf("1e-30"))
        t, error = mp.mpf(stop), error + added
        end[str(stop)] = {"state": [mp.nstr(value, 20) for value in y], "gbs_err": mp.nstr(error, 2)}
    return {
        "params": parameters,
        "state": list(oracle.states),
        "initial": [initial[name] for name in oracle.states],
        "end": end,
    }


def main() -> None:
    mp.dps = 40  # enough to keep rounding well below the tolerance, or step control would chase it
    five = oracles.chain_by_kane(("m",) * 5, ("l",) * 5)
    two = oracles.chain_by_kane(("m1", "m2"), ("l1", "l2"))
    entries = {
        "double_pendulum": reference(
            two,
            {"m1": "1", "m2": "0.7", "l1": "1", "l2": "0.6", "g": "9.81"},
            {"theta1": "1.2", "theta2": "-0.4", "theta1_dot": "0", "theta2_dot": "0.5"},
        ),
        "n_link_pendulum_5": reference(
            five,
            {"m": "1", "l": "1", "g": "9.81"},
            {f"theta{i}": "0.5" for i in range(1, 6)} | {f"theta{i}_dot": "0" for i in range(1, 6)},
        ),
    }
    print(json.dumps(entries, indent=1))


if __name__ == "__main__":
    main()

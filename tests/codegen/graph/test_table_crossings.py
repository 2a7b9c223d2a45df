"""Tables drawn at random in systems drawn at random: every kind of run has the values of SciPy, and the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from test_tables import spline_of, tensor

import chaplygin as cg

END = 1.5
TIGHT = {"rtol": 1e-12, "atol": 1e-12, "method": "vern9"}


def drawn(rng: Any) -> tuple[cg.Interpolant, Any, Any, bool]:
    """A table, its values, SciPy's function of (t, x, v) and whether its first argument is the time."""
    kind, several = rng.choice(["linear", "cubic", "pchip"]), rng.random() < 0.3
    at_run = kind != "pchip" and rng.random() < 0.6
    kind = "cubic" if several and kind == "pchip" else kind
    outside = rng.choice(["hold", "polynomial"])
    knots = []
    for _ in range(1 + several):
        even = np.linspace(-2.5, 2.5, int(rng.integers(5, 14)))
        bent = even + rng.uniform(-0.3, 0.3, len(even)) * (even[1] - even[0])
        knots.append(even if rng.random() < 0.5 else bent)
    values = rng.normal(size=tuple(map(len, knots)))
    names = dict(zip("ab", knots, strict=False))
    options = {"kind": str(kind), "outside": str(outside), "knots": True}
    table = cg.Interpolant("f", names, None if at_run else values, **options)
    degree = 3 if kind == "cubic" else 1
    spline = tensor(knots, values, degree) if several else spline_of(str(kind), knots[0], values)
    timed = rng.random() < 0.3

    def reference(t: float, x: float, v: float) -> float:
        at = [t if timed else x, v][: 1 + several]
        held = [
            np.clip(a, row[0], row[-1]) if outside == "hold" else a for a, row in zip(at, knots, strict=True)
        ]
        return float(spline(np.array([held]))[0] if several else spline(held[0]))

    return table, values if at_run else None, reference, timed


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(40))
def test_all_runs_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, values, reference, timed = drawn(rng)
    x, y, z = cg.coordinates("x y z")
    v, g = cg.rate(x), cg.parameters("g")
    arguments = [cg.time if timed else x, v][: len(table.arguments)]
    extra: dict[str, Any] = {"coordinates": [x, y], "potential": 3 * x**2 / 2 + g * y}
    start, form = {"x": 0.4, "x_dot": 0.3, "y": 1.0, "y_dot": 0.0}, "lagrange"
    kinetic, beside = v**2 / 2 + cg.rate(y) ** 2 / 2, rng.choice(["event", "contact", "loop", "nothing"])
    if beside == "event":
        extra["events"] = [cg.Event(y, direction=-1, reset={cg.rate(y): -cg.rate(y) * 9 / 10}, name="floor")]
    elif beside == "contact":
        extra["contacts"] = [cg.Coulomb("table", slip=cg.rate(y), normal=g, mu=sp.Rational(1, 5))]
    elif beside == "loop":
        extra |= {"coordinates": [x, y, z], "holonomic": [y**2 + z**2 - 1]}
        kinetic += cg.rate(z) ** 2 / 2
        start |= {"z": 0.0, "z_dot": 0.5}
        form = "multipliers"
    system = cg.System("drawn", kinetic=kinetic, forces={v: table(*arguments)}, **extra)
    model = system.compile(form)
    given: dict[str, Any] = {} if values is None else {"interpolants": {"f": values}}
    numbers, span = {"g": 9.81}, (0.0, END)
    wanted = solve_ivp(
        lambda t, s: [s[1], reference(t, *s) - 3 * s[0]], span, [0.4, 0.3], "DOP853", rtol=1e-13, atol=1e-14
    ).y[:, -1]

    names = ["x", "x_dot"]
    at_knots = model.integrate(span, start, numbers, kinks=True, **given, **TIGHT)
    assert at_knots.success
    assert np.abs([at_knots[name][-1] for name in names] - wanted).max() < 1e-9
    alone = model.integrate(span, start, numbers, **given, **TIGHT)
    ends = [alone[name][-1] for name in names]
    assert np.abs(ends - wanted).max() < 1e-8  # steps over knots lose some digits
    starts = {**start, "x": np.array([0.4, 0.1, -0.2, 0.4, 0.3, 0.4])}
    for threads, lanes in ((1, 1), (2, 4)):
        how = {"threads": threads, "lanes": lanes, **given, **TIGHT}
        ens = cg.ensemble(model, span, starts, numbers, **how)
        assert (ens["x"][[0, 3, 5]] == ends[0]).all()
        study = cg.study(model, span, starts, numbers, collect={"end": cg.final("x")}, **how)
        assert np.array_equal(np.ravel(study.results["end"]["x"]), ens["x"])
    stepper = model.stepper(start, numbers, **given, **TIGHT)
    stepper.advance(END)
    assert [stepper.y[model.states.index(name)] for name in names] == ends
    if beside in ("event", "contact"):
        return  # not with the backend in Python
    python, state = system.compile(form, backend="python"), alone.y[:, 0]
    p = numbers | ({} if values is None else dict(zip(map(str, table.values), np.ravel(values), strict=True)))
    assert np.allclose(python.rhs(0.3, state, p), model.rhs(0.3, state, p), rtol=1e-12, atol=1e-12)

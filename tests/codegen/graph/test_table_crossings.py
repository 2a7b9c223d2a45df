"""Tables drawn at random in systems drawn at random: every kind of run has the values of SciPy, and the same bits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp
from c_bundles import Exported
from fmus import Fmu
from scipy.integrate import solve_ivp
from test_tables import spline_of, tensor

import chaplygin as cg

END = 1.5
TIGHT = {"rtol": 1e-12, "atol": 1e-12, "method": "vern9"}


def drawn(rng: Any) -> tuple[cg.Interpolant, Any, Any, bool]:
    """A table, its values, SciPy's function of (t, x, v) and whether its first argument is the time."""
    kind, several = rng.choice(["linear", "cubic", "pchip"]), int(rng.choice(3, p=[0.6, 0.2, 0.2]))
    at_run = kind != "pchip" and rng.random() < 0.6
    kind = "cubic" if several and kind == "pchip" else kind
    outside = rng.choice(["hold", "polynomial"])
    knots = []
    for _ in range(1 + several):
        even = np.linspace(-2.5, 2.5, int(rng.integers(5, 14 - 3 * several)))
        bent = even + rng.uniform(-0.3, 0.3, len(even)) * (even[1] - even[0])
        knots.append(even if rng.random() < 0.5 else bent)
    values = rng.normal(size=tuple(map(len, knots)))
    names = dict(zip("abc", knots, strict=False))
    options = {"kind": str(kind), "outside": str(outside), "knots": True}
    table = cg.Interpolant("f", names, None if at_run else values, **options)
    degree = 3 if kind == "cubic" else 1
    spline = tensor(knots, values, degree) if several else spline_of(str(kind), knots[0], values)
    timed = rng.random() < 0.3

    def reference(t: float, x: float, v: float) -> float:
        at = [t if timed else x, v, x - v][: 1 + several]
        held = [
            np.clip(a, row[0], row[-1]) if outside == "hold" else a for a, row in zip(at, knots, strict=True)
        ]
        return float(spline(np.array([held]))[0] if several else spline(held[0]))

    return table, values if at_run else None, reference, timed


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(40))
def test_all_runs_agree(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    table, values, reference, timed = drawn(rng)
    x, y, z = cg.coordinates("x y z")
    v, g = cg.rate(x), cg.parameters("g")
    arguments = [cg.time if timed else x, v, x - v][: len(table.arguments)]
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

    def by_scipy(x0: float) -> Any:
        field = lambda t, s: [s[1], reference(t, *s) - 3 * s[0]]  # noqa: E731
        return solve_ivp(field, span, [x0, 0.3], "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]

    wanted = by_scipy(0.4)
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
    if beside not in ("event", "contact"):
        batch = model.batch(starts, numbers, **given, **TIGHT)
        batch.advance(END)
        assert np.array_equal(batch["x"], ens["x"])
    p = numbers | dict(zip(map(str, table.values), np.ravel(values), strict=False))
    if beside != "loop":
        by = ["x", *map(str, table.values[:1])]
        found = model.integrate(span, start, numbers, sensitivities=by, **given, **TIGHT).sensitivity
        slope = (by_scipy(0.4 + 1e-4) - by_scipy(0.4 - 1e-4)) / 2e-4
        assert np.abs([found[name, "x"][-1] for name in names] - slope).max() < 1e-5
        if beside == "nothing":
            gradient = model.gradient(cg.final("x"), span, start, p, by=by, kinks=True, **TIGHT)
            assert np.abs([gradient[name] - found["x", name][-1] for name in by]).max() < 1e-7
    export = rng.choice(["fmu", "bundle", "neither"])
    if export == "fmu":
        fmu = Fmu.of(model, tmp_path, "3.0", initial=start, parameters=p)
        simulated = fmu.simulated("CoSimulation", END, 1e-10)
        assert np.abs([simulated[name][-1] for name in names] - wanted).max() < 1e-6
    elif export == "bundle":
        bundle = Exported(SimpleNamespace(initial=start, parameters=p), model, tmp_path / "c", "vern9")
        model.export_c(bundle.folder, ["vern9"], initial=start, parameters=p)
        assert bundle.printed(bundle.built("gcc")) == bundle.stepped()
    if beside in ("event", "contact"):
        return  # not with the backend in Python
    python, state = system.compile(form, backend="python"), alone.y[:, 0]
    assert np.allclose(python.rhs(0.3, state, p), model.rhs(0.3, state, p), rtol=1e-12, atol=1e-12)

"""The commands that run models: run and ensemble."""

from __future__ import annotations

import math
import os
import sys
import time
from argparse import Namespace
from typing import Any

from .commands import progress, table
from .subject import Subject, SubjectError, find, form_options

__all__ = ["ensemble", "prepared", "run"]

TIGHT = 1e-13
"""Tolerances of the run that others are compared with where no closed form is known."""
PARTED = 1e-3


def prepared(arguments: Namespace) -> tuple[Subject, Any, dict[str, Any], str, float]:
    """The subject, its compiled model, the options of `integrate` asked for, the name of what runs on, and the seconds
    that all of it took."""
    begin = time.perf_counter()
    found = find(arguments.system, arguments.n)
    form, options = form_options(found.system, arguments.form, arguments.option)
    found = found.changed(arguments.set)
    with progress(f"compiling {found.label} ({form})", compiling=True):
        model = found.system.compile(form, wait=True, **options)
    t0, t_end, axis = found.t_span[0], arguments.t_end, "t"
    if "t" in model.states:  # a coordinate takes the place of the time
        axis = str(found.system.equations(form, **options).independent)
        if t_end is None:
            raise SubjectError(f"{form} runs along {axis}, not along the time: give its end by --t-end")
        t0 = found.initial.get(axis, 0.0)
    t_end = found.t_span[1] if t_end is None else t_end
    how: dict[str, Any] = {
        "method": arguments.method,
        "rtol": arguments.rtol,
        "atol": arguments.rtol if arguments.atol is None else arguments.atol,
    }
    if arguments.step is not None:
        how["step"] = arguments.step
    what = {
        "t_span": (t0, t_end),
        "parameters": found.parameters,
        "inputs": found.inputs or None,
    }
    return found, model, {**what, **how}, axis, time.perf_counter() - begin


def run(arguments: Namespace) -> int:
    """`chaplygin run SYSTEM`."""
    found, model, options, axis, preparation = prepared(arguments)
    t0, t_end = options["t_span"]
    begin = time.perf_counter()
    solution = model.integrate(initial=found.initial, **options)
    seconds = time.perf_counter() - begin
    if seconds < 0.2:  # the first run also warms up
        seconds = min(_timed(model, found, options) for _ in range(3))
    how = f"step = {options['step']:g}" if "step" in options else f"rtol = {options['rtol']:g}"
    print(f"{found.label}, form {model.form}, {options['method']}, {how}, {axis} = {t0:g} .. {t_end:g}")
    print(solution.message)
    if not solution.success:
        return 1
    print(f"\n{_end_states(found, model, solution, options, not arguments.no_check)}")
    print(f"\n{_drifts(found, model, solution)}")
    audited = _audited(solution)
    if audited:
        print(audited)
    rejected = f", {solution.n_rejected} rejected" if solution.n_rejected else ""
    print(f"\n{solution.n_steps} steps{rejected}, {solution.nfev} evaluations")
    print(f"prepared in {_duration(preparation)}, integrated in {_duration(seconds)}")
    if arguments.plot:
        _plot(found, model, options, arguments.plot)
    return 0


def _timed(model: Any, found: Subject, options: dict[str, Any]) -> float:
    begin = time.perf_counter()
    model.integrate(initial=found.initial, **options)
    return time.perf_counter() - begin


def _end_states(found: Subject, model: Any, solution: Any, options: dict[str, Any], check: bool) -> str:
    """The end state beside the closed form, else beside a run with the tightest tolerances."""
    names = [*model.states, *(name for name in model.declared if name in model.outputs)]
    ends = {name: float(solution[name][-1]) for name in names}
    against, known = "closed form", None
    if check:
        with progress("computing the closed form" if found.solve else f"running at rtol = {TIGHT:g}"):
            known = _exact(found, float(solution["t"][-1]))
            if known is None:
                against, known = f"at rtol = {TIGHT:g}", _tight(found, model, options)
    unit = model.units
    if known is None:
        plain = [("state", "at the end", ""), *((n, f"{v:.15g}", unit.get(n, "")) for n, v in ends.items())]
        return table(plain, right=[1])
    rows = [("state", "at the end", against, "difference", "")]
    for name, value in ends.items():
        beside = [f"{known[name]:.15g}", f"{value - known[name]:.1e}"] if name in known else ["", ""]
        rows.append((name, f"{value:.15g}", beside[0], beside[1], unit.get(name, "")))
    text = table(rows, right=[1, 2, 3])
    parted = max((abs(ends[n] - known[n]) for n in known if n in ends), default=0.0)
    if against != "closed form" and parted > PARTED:
        text += "\n  (the two runs have parted: a chaotic motion loses its digits, its invariants do not)"
    return text


def _exact(found: Subject, t: float) -> dict[str, float] | None:
    try:
        return found.exact(t)
    except ValueError:  # a closed form that does not hold for these numbers
        return None


def _tight(found: Subject, model: Any, options: dict[str, Any]) -> dict[str, float] | None:
    tight = {key: value for key, value in options.items() if key != "step"}
    tight |= {"method": "dop853", "rtol": TIGHT, "atol": TIGHT, "max_steps": 1_000_000}
    reference = model.integrate(initial=found.initial, **tight)
    return {n: float(reference[n][-1]) for n in model.states} if reference.success else None


def _drifts(found: Subject, model: Any, solution: Any) -> str:
    """The largest change of every invariant, residual, and conserved output along the run."""
    rows = [("conserved", "at the start", "largest drift", "")]
    conserved = tuple(name for name in found.conserved if name in model.outputs)
    for name in (*model.invariants, *model.residuals, *conserved):
        values = solution[name]
        start = float(values[0])
        variable = model.variables[name]
        if variable.kind == "residual":
            rows.append((name, "0", f"{float(abs(values).max()):.1e}", "constraint residual"))
        else:
            drift = float(abs(values - start).max())
            rows.append((name, f"{start:.15g}", f"{drift:.1e}", variable.description or variable.kind))
    return table(rows, right=[1, 2]) if len(rows) > 1 else "  nothing is known to be conserved"


def _audited(solution: Any) -> str:
    """Energy against power over every step, where the model has both."""
    from chaplygin.runtime.errors import ChaplyginError

    try:
        audit = solution.audit()
    except ChaplyginError:
        return ""
    verdict = "passed" if audit.passed else f"FAILED in {audit.failures} steps"
    return f"  audit of {audit.quantity} against power: {verdict}, largest imbalance of a step {audit.largest:.1e}"


def _plot(found: Subject, model: Any, options: dict[str, Any], file: str) -> None:
    import numpy as np

    t0, t_end = options["t_span"]
    solution = model.integrate(initial=found.initial, t_eval=np.linspace(t0, t_end, 1001), **options)
    try:
        solution.plot(file=file)
    except ValueError as error:  # Matplotlib's word for a format it does not know
        raise SubjectError(f"--plot {file}: {error}") from None
    print(f"plot: {os.fspath(file)}")


def ensemble(arguments: Namespace) -> int:
    """`chaplygin ensemble SYSTEM -n N`."""
    import numpy as np

    import chaplygin as cg
    from chaplygin.runtime.lanes import lane_set, one_at_a_time

    found, model, options, _, preparation = prepared(arguments)
    count = arguments.count
    if count < 1:
        raise SubjectError(f"-n {count}: at least one trajectory is needed")
    if not (math.isfinite(arguments.spread) and arguments.spread >= 0):
        raise SubjectError(f"--spread {arguments.spread:g}: a number >= 0 is needed")
    random = np.random.default_rng(arguments.seed)
    # Dependent velocities are left out where the states give them; other states follow from all declared values.
    plain = set(model.states) <= set(found.initial)
    tables: dict[str, dict[str, Any]] = {
        "initial": {n: v for n, v in found.initial.items() if n in model.states or not plain},
        "parameters": dict(found.parameters),
    }
    names = _scattered(arguments.scatter, found, tables)
    for name in names:
        home = tables["initial"] if name in tables["initial"] else tables["parameters"]
        spread = arguments.spread * max(1.0, abs(home[name]))
        home[name] = home[name] + spread * random.standard_normal(count)
    options["parameters"] = tables["parameters"]
    begin = time.perf_counter()
    with progress(f"compiling lanes of {found.label}", compiling=True):
        # What `cg.ensemble` would compile: it finds it then.
        lane_set(model, None, count, one_at_a_time(model, options["method"], {}, False))
    preparation += time.perf_counter() - begin
    begin = time.perf_counter()
    result = cg.ensemble(
        model,
        n=count,
        initial=tables["initial"],
        t_eval=np.array(options["t_span"]),
        threads=arguments.threads,
        progress=sys.stderr.isatty(),
        **options,
    )
    seconds = time.perf_counter() - begin
    print(f"{count:,} trajectories of {found.label}, form {model.form}; scattered: {', '.join(names)}")
    rate = f"{count / seconds:,.0f} trajectories per second"
    print(
        f"{result.message}; prepared in {_duration(preparation)}, integrated in {_duration(seconds)}: {rate}\n"
    )
    good = result.status >= 0
    rows = [("at the end", "mean", "std", "min", "max")]
    for name in model.states:
        values = result[name][-1][good]
        if len(values):
            rows.append((name, *(f"{f(values):.6g}" for f in (np.mean, np.std, np.min, np.max))))
    print(table(rows, right=[1, 2, 3, 4]))
    print(f"\n{_ensemble_drifts(found, model, result, good)}")
    return 0 if result.success else 1


def _scattered(wanted: str | None, found: Subject, tables: dict[str, dict[str, Any]]) -> list[str]:
    """What is scattered: the independent velocities unless names are given."""
    if wanted is None:
        system = found.system
        free = system.equations("maggi").velocities if system.constraints else system.velocities
        return [s.name for s in (system.independent or free) if s.name in tables["initial"]]
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    known = {**tables["initial"], **tables["parameters"]}
    for name in names:
        if name not in known:
            raise SubjectError(
                f"--scatter {name}: {found.label} has no such state or parameter; it has {', '.join(known)}"
            )
    return names


def _ensemble_drifts(found: Subject, model: Any, result: Any, good: Any) -> str:
    """The largest drift of every invariant between the two ends, over all trajectories."""
    rows = [("conserved", "largest drift")]
    conserved = (name for name in found.conserved if name in model.outputs)
    for name in (*model.invariants, *model.residuals, *conserved):
        start, end = result[name]
        drift = abs(end - start)[good]
        rows.append((name, f"{drift.max():.1e}" if len(drift) else "-"))
    return table(rows, right=[1]) if len(rows) > 1 else "  nothing is known to be conserved"


def _duration(seconds: float) -> str:
    """Three digits with the unit that fits.

    >>> _duration(0.0000123)
    '12.3 µs'
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"

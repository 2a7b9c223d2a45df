"""The commands that run models: `run`, `ensemble` and `study`."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import chaplygin as cg
from chaplygin.errors import ChaplyginError, FormError
from chaplygin.runtime import statistics, studies
from chaplygin.runtime.model import lanes
from chaplygin.runtime.model.derivatives import require_compiled
from chaplygin.runtime.problem.option_table import OPTIONS
from chaplygin.runtime.problem.options import RunOptions
from chaplygin.runtime.results.plotting import check_file, plane_of

from .bench import best
from .printing import duration, print_json, progress, table
from .subject import Subject, SubjectError, compiled, execute, find, form_options, meant, where

TIGHT = 1e-13
"""Tolerances of the reference run when no closed form is known."""
PARTED = 1e-3
CLOSED = "closed form"


def prepared(arguments: Namespace) -> tuple[Subject, Any, dict[str, Any], str, float]:
    """The subject, its compiled model, the requested options of `integrate`, the name of the independent variable, and
    the seconds that preparation took."""
    begin = time.perf_counter()
    found = find(arguments.system, arguments.n)
    form, options = form_options(found.system, arguments.form, arguments.option)
    found = found.changed(arguments.set)
    found.require_numbers(form)
    with progress(f"compiling {found.name} ({form})", compiling=True):
        model = compiled(found.system, form, options)
    t0, t_end, axis = found.t_span[0], arguments.t_end, "t"
    if "t" in model.states:  # a coordinate is the independent variable
        axis = str(found.system.equations(form, **options).independent)
        if t_end is None:
            raise SubjectError(
                f"{form} integrates over {axis}, not over time: give the final {axis} with --t-end"
            )
        t0 = found.initial.get(axis, 0.0)
    t_end = found.t_span[1] if t_end is None else t_end
    how: dict[str, Any] = {"rtol": OPTIONS["rtol"].default, **_options(vars(arguments))}
    how.setdefault("atol", how["rtol"])
    how.setdefault("method", model.default_method(how["rtol"], how["atol"]))
    what = {"t_span": (t0, t_end), "parameters": found.parameters, "inputs": found.inputs or None}
    return found, model, {**what, **how}, axis, time.perf_counter() - begin


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """What is given of the options of runs."""
    return {name: given[name] for name in OPTIONS if name in given}


def run(arguments: Namespace) -> int:
    """`chaplygin run SYSTEM`."""
    for file in (arguments.plot, arguments.path):
        if file:
            check_file(file)
    found, model, options, axis, preparation = prepared(arguments)
    plane = _plane(model, found, arguments.path_of) if arguments.path else None
    begin = time.perf_counter()
    solution = model.integrate(initial=found.initial, **options)
    seconds = time.perf_counter() - begin
    if seconds < 0.2:  # the first run includes warm-up
        seconds = best(lambda: model.integrate(initial=found.initial, **options))
    against, known = "", None
    if solution.success and not arguments.no_check:
        against, known = _reference(found, model, solution, options)
    drifts = _drifts(found, model, solution) if solution.success else []
    audit = _audit(solution) if solution.success else None
    report = _RunReport(found, solution, options, axis, against, known, drifts, audit, preparation, seconds)
    if arguments.json:
        print_json(_run_facts(report))
    else:
        _print_run(report)
    if not solution.success:
        return 1
    for file, axes in ((arguments.plot, None), (arguments.path, plane)):
        if file:
            _picture(found, model, options, file, axes, arguments.json)
    return 0


@dataclass(frozen=True)
class _RunReport:
    """What `run` tells of a run."""

    found: Subject
    solution: Any
    options: dict[str, Any]
    axis: str
    against: str  # what `known`, the values at the end, come from
    known: dict[str, float] | None
    drifts: list[Drift]
    audit: Any
    preparation: float  # seconds
    integration: float


def _print_run(run: _RunReport) -> None:
    found, solution, options = run.found, run.solution, run.options
    model, (t0, t_end) = solution.model, options["t_span"]
    how = f"step = {options['step']:g}" if "step" in options else f"rtol = {options['rtol']:g}"
    print(f"{found.name}, form {model.form}, {options['method']}, {how}, {run.axis} = {t0:g} .. {t_end:g}")
    print(solution.message)
    if not solution.success:
        return
    print(f"\n{_end_states(model, solution, run.against, run.known)}")
    rows = [("conserved", "at the start", "largest drift", "")]
    rows += [
        (d.name, "0" if d.residual else f"{d.start:.15g}", f"{d.largest:.1e}", d.text) for d in run.drifts
    ]
    shown = table(rows, right=[1, 2]) if run.drifts else "  no conserved quantities are known"
    print(f"\n{shown}")
    if run.audit is not None:
        verdict = "passed" if run.audit.passed else f"FAILED in {run.audit.failures} steps"
        print(
            f"  audit of {run.audit.quantity} against power: {verdict}, largest imbalance in a step "
            f"{run.audit.largest:.1e}"
        )
    rejected = f", {solution.n_rejected} rejected" if solution.n_rejected else ""
    print(
        f"\n{solution.n_steps} steps{rejected}, {solution.nfev} evaluations\n"
        f"prepared in {duration(run.preparation)}, integrated in {duration(run.integration)}"
    )


def _run_facts(run: _RunReport) -> dict[str, Any]:
    """What `run --json` prints."""
    solution, options, audit = run.solution, run.options, run.audit
    model = solution.model
    facts: dict[str, Any] = {
        "system": run.found.name,
        "form": model.form,
        "along": run.axis,
        "span": list(options["t_span"]),
        **_options(options),
        "status": solution.status,
        "success": solution.success,
        "message": solution.message,
        "steps": solution.n_steps,
        "rejected": solution.n_rejected,
        "evaluations": solution.nfev,
        "preparation_seconds": run.preparation,
        "integration_seconds": run.integration,
    }
    if solution.t_events is not None:
        facts["events"] = {name: list(t) for name, t in zip(model.events, solution.t_events)}
    if solution.modes:
        facts["modes"] = [
            {"from": m.t_start, "to": m.t_end, "contacts": dict(m.contacts)} for m in solution.modes
        ]
    if solution.success:
        facts["end"] = _ends(model, solution)
        facts["reference"] = None if run.known is None else {"from": run.against, "values": run.known}
        facts["conserved"] = {
            d.name: {"start": d.start, "largest_drift": d.largest, "residual": d.residual} for d in run.drifts
        }
    if audit is not None:
        facts["audit"] = {"quantity": audit.quantity, "passed": audit.passed, "largest": audit.largest}
    return facts


def _ends(model: Any, solution: Any) -> dict[str, float]:
    names = [*model.states, *(name for name in model.declared if name in model.outputs)]
    return {name: float(solution[name][-1]) for name in names}


def _reference(
    found: Subject, model: Any, solution: Any, options: dict[str, Any]
) -> tuple[str, dict[str, float] | None]:
    """Name and values of the reference: the closed form at the end, else the end of a run with tight tolerances."""
    with progress("computing the closed form" if found.solve else f"running at rtol = {TIGHT:g}"):
        known = found.exact(float(solution["t"][-1]))
        if known is not None:
            return CLOSED, known
        tight = {key: value for key, value in options.items() if key != "step"}
        tight |= {
            "method": model.default_method(TIGHT, TIGHT),
            "rtol": TIGHT,
            "atol": TIGHT,
            "max_steps": 1_000_000,
        }
        end = model.integrate(initial=found.initial, **tight)
    known = {n: float(end[n][-1]) for n in model.states} if end.success else None
    return f"at rtol = {TIGHT:g}", known


def _end_states(model: Any, solution: Any, against: str, known: dict[str, float] | None) -> str:
    """A table of the final state and the reference it is compared with."""
    ends, unit = _ends(model, solution), model.units
    if known is None:
        plain = [("state", "at the end", ""), *((n, f"{v:.15g}", unit.get(n, "")) for n, v in ends.items())]
        return table(plain, right=[1])
    rows = [("state", "at the end", against, "difference", "")]
    for name, value in ends.items():
        beside = [f"{known[name]:.15g}", f"{value - known[name]:.1e}"] if name in known else ["", ""]
        rows.append((name, f"{value:.15g}", beside[0], beside[1], unit.get(name, "")))
    apart = {n: abs(ends[n] - known[n]) for n in known if n in ends}
    if against != CLOSED and max(apart.values(), default=0.0) > PARTED:
        name = max(apart, key=lambda n: apart[n])
        return (
            f"  no digits of the state at the end are known: a run {against} differs by {apart[name]:.1g} in {name}."
            "\n  Chaotic motion forgets its start but keeps its invariants; a smaller --t-end has a state to show"
        )
    return table(rows, right=[1, 2, 3])


class Drift(NamedTuple):
    """The largest change of a conserved quantity during a run; for a residual, its largest value."""

    name: str
    start: float
    largest: float
    residual: bool
    text: str


def _drifts(found: Subject, model: Any, solution: Any) -> list[Drift]:
    """The drift of every invariant, residual and conserved output."""
    drifts = []
    for name in _conserved(found, model):
        values, variable = solution[name], model.variables[name]
        start = float(values[0])
        if variable.kind == "residual":
            drifts.append(Drift(name, start, float(abs(values).max()), True, "constraint residual"))
        else:
            largest = float(abs(values - start).max())
            drifts.append(Drift(name, start, largest, False, variable.description or variable.kind))
    return drifts


def _conserved(found: Subject, model: Any) -> list[str]:
    return [*model.invariants, *model.residuals, *(name for name in found.conserved if name in model.outputs)]


def _audit(solution: Any) -> Any:
    """The audit of energy against power; None if the model does not have both."""
    try:
        return solution.audit()
    except ChaplyginError:
        return None


def _plane(model: Any, found: Subject, names: str | None) -> tuple[str, str]:
    """The two quantities of a path plot."""
    if names is None:
        plane = plane_of(model)
        if plane is None:
            raise SubjectError(
                f"--path: {found.name} has no coordinates x and y; name two quantities with --path-of, "
                f"e.g. --path-of {','.join(model.states[:2])}"
            )
        return plane
    given = [name.strip() for name in names.split(",")]
    if len(given) != 2 or not set(given) <= set(model.quantities):
        raise SubjectError(
            f"--path-of {names}: give two of {', '.join(model.quantities)}, separated by a comma"
        )
    return given[0], given[1]


def _picture(
    found: Subject, model: Any, options: dict[str, Any], file: str, plane: tuple[str, str] | None, quiet: bool
) -> None:
    t0, t_end = options["t_span"]
    solution = model.integrate(initial=found.initial, t_eval=np.linspace(t0, t_end, 1001), **options)
    solution.plot(path=plane, file=file)
    if not quiet:
        print(f"plot: {os.fspath(file)}")


def ensemble(arguments: Namespace) -> int:
    """`chaplygin ensemble SYSTEM -n N`."""
    count = arguments.count
    if count < 1:
        raise SubjectError(f"-n {count}: must be at least 1")
    found, model, options, axis, preparation = prepared(arguments)
    require_compiled("ensemble", model)
    t0, t_end = options["t_span"]
    if t_end == t0:
        raise SubjectError(f"--t-end {t_end:g}: the trajectories start there; give a different end")
    _require_memory(count, len(model.states))
    initial, options["parameters"], names = _scattered(arguments, found, model, axis)
    begin = time.perf_counter()
    with progress(f"compiling lanes of {found.name}", compiling=True):
        # `cg.ensemble` would compile this itself; now it finds it.
        how = RunOptions(**_options(options))
        lanes.lane_set(model, how.method, None, count, lanes.one_at_a_time(model, how, {}))
    integrate = cg.ensemble  # import it before the clock starts
    preparation += time.perf_counter() - begin
    begin = time.perf_counter()
    result = integrate(
        model,
        n=count,
        initial=initial,
        t_eval=np.array(options["t_span"]),
        threads=arguments.threads,
        progress=sys.stderr.isatty(),
        **options,
    )
    seconds = time.perf_counter() - begin
    facts = _ensemble_facts(found, result, names, preparation, seconds)
    if arguments.json:
        print_json(facts)
    else:
        _print_ensemble(facts)
    return 0 if result.success else 1


def _ensemble_facts(
    found: Subject, result: Any, names: list[str], preparation: float, seconds: float
) -> dict[str, Any]:
    """What `ensemble --json` prints."""
    model, good = result.model, result.status >= 0
    drifts = {}
    for name in _conserved(found, model):
        start, end = result[name]
        drift = abs(end - start)[good]
        drifts[name] = float(drift.max()) if len(drift) else math.nan
    summary: dict[str, Any] = {"mean": np.mean, "std": np.std, "min": np.min, "max": np.max}
    ends = {name: result[name][-1][good] for name in model.states}
    return {
        "system": found.name,
        "form": model.form,
        "trajectories": len(good),
        "scattered": names,
        "failed": int((~good).sum()),
        "message": result.message,
        "preparation_seconds": preparation,
        "integration_seconds": seconds,
        "trajectories_per_second": len(good) / seconds,
        "end": {
            name: {what: float(f(values)) for what, f in summary.items()}
            for name, values in ends.items()
            if len(values)
        },
        "largest_drift": drifts,
    }


def _print_ensemble(facts: dict[str, Any]) -> None:
    print(
        f"{facts['trajectories']:,} trajectories of {facts['system']}, form {facts['form']}; scattered: "
        f"{', '.join(facts['scattered'])}"
    )
    prepared, integrated = duration(facts["preparation_seconds"]), duration(facts["integration_seconds"])
    rate = f"{facts['trajectories_per_second']:,.0f} trajectories per second"
    print(f"{facts['message']}; prepared in {prepared}, integrated in {integrated}: {rate}\n")
    rows = [("at the end", "mean", "std", "min", "max")]
    rows += [(name, *(f"{v:.6g}" for v in row.values())) for name, row in facts["end"].items()]
    print(table(rows, right=[1, 2, 3, 4]))
    drifts = facts["largest_drift"]
    kept = [("conserved", "largest drift"), *((n, f"{d:.1e}" if d == d else "-") for n, d in drifts.items())]
    shown = table(kept, right=[1]) if drifts else "  no conserved quantities are known"
    print(f"\n{shown}")


def _require_memory(count: int, states: int) -> None:
    """Raise SubjectError unless the states of all trajectories at both ends fit into memory."""
    needed = 8.0 * count * (3 * states + 8)
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        there = 2**36
    if needed > there:
        raise SubjectError(
            f"-n {count}: needs {needed / 1e9:,.0f} GB of memory, but only {there / 1e9:,.0f} GB are installed; "
            f"{int(count * there / needed / 2):,} trajectories fit"
        )


def _scattered(
    arguments: Namespace, found: Subject, model: Any, axis: str
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The initial state and the parameters with some of them scattered, and the names of these."""
    count, spread = arguments.count, arguments.spread
    if not (math.isfinite(spread) and spread >= 0):
        raise SubjectError(f"--spread {spread:g}: must be a number >= 0")
    random = np.random.default_rng(arguments.seed)
    # If all states are declared, dependent velocities are left out; otherwise all declared values give the states.
    plain = set(model.states) <= set(found.initial)
    initial: dict[str, Any] = {n: v for n, v in found.initial.items() if n in model.states or not plain}
    parameters: dict[str, Any] = dict(found.parameters)
    names = _to_scatter(arguments.scatter, found, initial, axis)
    for name in names:
        home = initial if name in initial else parameters
        size = spread * max(1.0, abs(home[name]))
        home[name] = home[name] + size * random.standard_normal(count)
    return initial, parameters, names


def _to_scatter(wanted: str | None, found: Subject, initial: dict[str, Any], axis: str) -> list[str]:
    """The names to scatter: the independent velocities unless names are given.

    Where a coordinate takes the place of the time, its own rate is left out: a value near zero, or of the other sign,
    never gets to the end.
    """
    if wanted is None:
        system = found.system
        free = system.independent or system.velocities
        if system.constraints and not system.independent:
            try:
                free = system.equations("maggi").velocities
            except FormError:
                raise SubjectError(
                    f"{found.name} has no form that distinguishes independent from dependent velocities: name what to "
                    "scatter with --scatter"
                ) from None
        own = {s.name for x, e in system.kinematics.items() if x.name == axis for s in e.free_symbols}
        names = [s.name for s in free if s.name in initial and s.name not in own]
        if not names and own:
            raise SubjectError(
                f"{found.name} has no velocity to scatter beside that of {axis}: name what to "
                "scatter with --scatter"
            )
        return names
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    known = {**initial, **found.parameters}
    for name in names:
        if name not in known:
            raise SubjectError(
                f"--scatter {name}: {found.name} has no such state or parameter{meant(name, known)}; "
                f"it has {', '.join(known)}"
            )
    return names


def study(arguments: Namespace) -> int:
    """`chaplygin study FILE:NAME`."""
    path, _, name = arguments.study.rpartition(":")
    if not path.endswith(".py") or not name:
        raise SubjectError(f"{arguments.study}: give path/to/file.py:name")
    module = execute(Path(path))
    if not hasattr(module, name):
        raise SubjectError(f"{path}: has no {name!r}")
    given = getattr(module, name)
    try:
        given = given() if callable(given) else given
    except cg.ChaplyginError:
        raise
    except Exception as error:
        raise SubjectError(f"{path}:{name}() failed: {where(error, Path(path))}") from error
    if not isinstance(given, Mapping) or "model" not in given or not {"collect", "until"} & given.keys():
        raise SubjectError(
            f"{path}:{name} must be a dict of the arguments of cg.study, with model and with collect or until, or a "
            "function that returns one"
        )
    more = {"out": arguments.output, "workers": arguments.workers, "threads": arguments.threads}
    chosen = {key: value for key, value in more.items() if value is not None}
    with warnings.catch_warnings():  # the command says so itself, in its own words
        warnings.filterwarnings("ignore", "study interrupted", RuntimeWarning)
        result = cg.study(**{"progress": sys.stderr.isatty(), **given, **chosen})
    if arguments.json:
        print_json(_facts(result))
    else:
        print(result.summary())
    if result.interrupted:
        kept = "" if {**given, **chosen}.get("out") else "without -o FOLDER nothing is kept; with it, "
        print(f"chaplygin: {kept}the same command runs the rest", file=sys.stderr)
    return 0 if not len(result.failed) and not result.interrupted else 1


def _facts(result: Any) -> dict[str, Any]:
    """What ``--json`` prints: counts, and every result but those of single trajectories, of which it says the shape."""
    return {
        "trajectories": len(result),
        "done": result.done,
        "failed": result.failed.tolist(),
        "redrawn": result.redrawn,
        "precise": result.precise,
        "interrupted": result.interrupted,
        "results": {name: _figures(entry) for name, entry in result.results.items()},
    }


def _figures(entry: Any) -> Any:
    shown: dict[type, tuple[str, ...]] = {
        statistics.MomentsResult: ("count", "mean", "std", "error", "minimum", "maximum", "covariance"),
        statistics.Quantiles: ("q", "values"),
        statistics.Probability: ("p", "count", "n"),
        statistics.Histogram: ("edges", "counts", "below", "above"),
    }
    if isinstance(entry, studies.Extreme):
        entry = {"value": entry.value, "t": entry.t}
    if isinstance(entry, dict):
        return {name: list(np.shape(rows)) for name, rows in entry.items()}
    if type(entry) not in shown:
        return [len(entry)]
    found = {name: getattr(entry, name) for name in shown[type(entry)]}
    if isinstance(entry, statistics.Probability):
        found["interval"] = np.array(entry.interval())
    return {name: _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    """Arrays as lists."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value

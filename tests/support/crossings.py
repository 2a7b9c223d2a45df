"""How features meet: one small system with the closed forms of its parts, run in every pair of ways.

`meet(a, b)` declares the parts that two features ask for (`crossing_parts`), runs them in the way that both ask for,
and compares with the closed forms. docs/crossings.md is written from what it finds, by `crossings_page`.
"""

from __future__ import annotations

import functools
import math
import pickle
import re
import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from crossing_parts import (
    ACTION,
    CURVE,
    END,
    HELD,
    LIFT,
    NOISE,
    NUMBERS,
    PARTS,
    RAMP,
    ROWS,
    SCALES,
    SEED,
    declared,
    driven,
    moved,
)  # fmt: skip

import chaplygin as cg

# ---- what a feature asks for ----

ENVIRONMENTS = ("gym", "env")
"""Hosts whose numbers are float32."""

Change = Callable[["Trial"], "Trial"]


@dataclass(frozen=True)
class Trial:
    """One way to declare, compile and run the system."""

    parts: frozenset[str] = frozenset({"spring"})
    form: str | None = None
    compiled: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    force: Any = None
    motion: Any = None
    """Of the input with rates: samples, or numbers by name."""
    many: Mapping[str, Any] = field(default_factory=dict)
    """Options of an ensemble; empty: a single run."""
    host: str = "run"
    derivative: str | None = None
    kept: frozenset[str] = frozenset()
    """Of "snapshot", "pickle", "loaded"."""

    def system(self) -> cg.System:
        return _declared(self.parts, STYLES.get(self.form, "masses"))

    @property
    def model(self) -> Any:
        return compiled(self.parts, self.form, tuple(sorted(self.compiled.items())), "loaded" in self.kept)

    @property
    def tolerance(self) -> float:
        return 1e-3 if self.host == "float" else 1e-5 if self.host in ENVIRONMENTS else 2e-7

    def numbers(self, rest: bool = False) -> dict[str, float]:
        changed = {"g": 0.0, "slope": 0.0, "hold": 3.0} if rest else {}
        return {name: v for name, v in {**NUMBERS, **changed}.items() if name in self.model.parameters}

    def start(self, rest: bool = False) -> dict[str, float]:
        found = {name: value for part in self.parts for name, value in PARTS[part].start.items()}
        if rest:
            found |= {name: 0.0 for name in found if name.endswith("_dot") or name in ("q", "omega", "s")}
        names = set(self.model.declared)
        return {name: value for name, value in found.items() if name in names}

    def inputs(self) -> dict[str, Any]:
        found = {"F": 0.6 if self.force is None else self.force} if "drive" in self.parts else {}
        if "rated" in self.parts:
            found |= {"R": self.motion} if self.motion is CURVE else self.motion
        return found

    @property
    def seeded(self) -> dict[str, Any]:
        """What decides the paths of noise."""
        return {"seed": SEED} if self.force is NOISE else {}

    def expected(self, t: float, run: int = 0) -> dict[str, float]:
        """The coordinates at t, in one of several runs."""
        found = {name: value for part in self.parts for name, value in PARTS[part].motion(t).items()}
        if "drive" in self.parts:
            found["d"] = driven(self.force, t, run)
        if "rated" in self.parts:
            found["r"] = moved(self.motion, t)
        if self.form in ("routh", "whittaker"):
            del found["c"]  # it drops out, or takes the place of the time
        return found


_declared = functools.cache(declared)
STYLES = {"recursive": "bodies", "given": "kinematics"}
"""How the system of a form is declared, if not by its masses."""


@functools.cache
def compiled(
    parts: frozenset[str], form: str | None, options: tuple[tuple[str, Any], ...], loaded: bool
) -> Any:
    """The model, compiled once for all trials that need it."""
    if loaded:
        return cg.load_model(compiled(parts, form, options, False).owner.__file__)
    return _declared(parts, STYLES.get(form, "masses")).compile(form, **dict(options))


def _part(name: str) -> Change:
    return lambda trial: replace(trial, parts=trial.parts | {name})


def _form(name: str) -> Change:
    needs = {"routh": {"free"}, "whittaker": {"free"}}
    constrained = ("maggi", "nonholonomic", "hamel", "multipliers")
    parts = {"skate"} if name in constrained else needs.get(name, set())
    options = {"along": "c"} if name == "whittaker" else {}
    return lambda trial: replace(
        trial, form=name, parts=trial.parts | parts, compiled={**trial.compiled, **options}
    )


def _method(name: str) -> Change:
    options = {"step": 1e-3} if name == "rk4" else {}
    methods = {"methods": ("taylor",)} if name == "taylor" else {}
    return lambda trial: replace(
        trial, run={**trial.run, "method": name, **options}, compiled={**trial.compiled, **methods}
    )


def _input(force: Any) -> Change:
    return lambda trial: replace(trial, parts=trial.parts | {"drive"}, force=force)


def _rated(motion: Any) -> Change:
    return lambda trial: replace(trial, parts=trial.parts | {"rated"}, motion=motion)


def _run(**options: Any) -> Change:
    return lambda trial: replace(trial, run={**trial.run, **options})


def _many(**options: Any) -> Change:
    return lambda trial: replace(trial, many={"threads": 1, "lanes": 1, **trial.many, **options})


def _host(name: str) -> Change:
    return lambda trial: replace(trial, host=name)


def _derivative(name: str) -> Change:
    return lambda trial: replace(trial, derivative=name)


def _kept(name: str) -> Change:
    return lambda trial: replace(trial, kept=trial.kept | {name})


def time_itself(t: float, y: Any = None) -> float:
    """An input that is a function."""
    return t


@dataclass(frozen=True)
class Feature:
    """A row and a column of the table. Two of one `kind` exclude each other, unless it is None."""

    name: str
    kind: str | None
    change: Change


FORMS = "lagrange poincare multipliers maggi nonholonomic hamel chetaev recursive routh whittaker".split()
METHODS = ("tsit5", "vern7", "vern9", "dop853", "rk4", "taylor", "rodas5p", "auto")
FEATURES = {
    f.name: f
    for f in (
        *(Feature(name, "form", _form(name)) for name in FORMS),
        Feature("kinematics alone", "form", _form("given")),
        *(Feature(name, "method", _method(name)) for name in METHODS),
        Feature("lanes", None, _many(lanes=2)),
        Feature("threads", None, _many(threads=2)),
        Feature("events", None, _part("ball")),
        Feature("contacts", None, _part("block")),
        Feature("closed loops", None, _part("circle")),
        Feature("tables", None, _part("tabled")),
        Feature("tables: given values", None, _part("given")),
        Feature("project=None", "project", _run(project=None)),
        Feature('project="all"', "project", _run(project="all")),
        Feature("input: number", "input", _input(None)),
        Feature("input: held", "input", _input(HELD)),
        Feature("input: linear", "input", _input((*RAMP, "linear"))),
        Feature("input: rows", "input", lambda trial: _input(ROWS)(_many()(trial))),
        Feature("input: noise", "input", _input(NOISE)),
        Feature("input: function", "input", _input(time_itself)),
        Feature("rates: numbers", "input", _rated(LIFT)),
        Feature("rates: spline", "input", _rated(CURVE)),
        Feature("stepper", "host", _host("stepper")),
        Feature("batch", "host", _host("batch")),
        Feature("gym", "host", lambda trial: _part("action")(_host("gym")(trial))),
        Feature("gym, one", "host", lambda trial: _part("action")(_host("env")(trial))),
        Feature("study", "host", _host("study")),
        Feature("FMU", "host", _host("fmu")),
        Feature("C bundle", "host", _host("bundle")),
        Feature("float", "host", _host("float")),
        Feature("sensitivities", "derivative", _derivative("sensitivities")),
        Feature("gradient", "derivative", _derivative("gradient")),
        Feature("linearization", "derivative", _derivative("linearization")),
        Feature("periodic", "derivative", _derivative("periodic")),
        Feature("snapshot", None, _kept("snapshot")),
        Feature("pickle", None, _kept("pickle")),
        Feature("loaded model", None, _kept("loaded")),
    )
}


# ---- runs ----


class Met(NamedTuple):
    """How two features meet: `sign` is "+" (works), "." (no call takes both) or "-" (refused)."""

    sign: str
    call: str = ""
    """The function that refuses."""
    message: str = ""


CALL = re.compile(
    r"\b(compile|load_model|integrate|stepper|batch|ensemble|study|VectorEnv|Env|export_fmu|export_c|gradient|linearize|periodic|dumps)\("
)
"""The calls that may refuse."""


def meet(*names: str) -> Met:
    """`attempt`, with a refusal by the first call that can refuse as a result; any other error is raised."""
    try:
        return Met("+" if attempt(*names) else ".")
    except cg.ChaplyginError as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next(f.line or "" for f in reversed(frames) if f.filename == __file__)
        found = CALL.search(line)
        if found is None:
            raise AssertionError(f"{' x '.join(names)}: refused too late, by {line}: {error}") from error
        return Met("-", found[1], re.sub(r"\bparts_\w+", "SYSTEM", str(error)))


def attempt(*names: str) -> bool:
    """Run what these features ask for together and compare with the closed forms.

    False if they cannot meet, since no call takes both. Raises what a call raises, and AssertionError for a wrong
    number.
    """
    features = [FEATURES[name] for name in names]
    kinds = [f.kind for f in features if f.kind is not None]
    if len(set(kinds)) < len(kinds):
        return False
    trial = Trial()
    for feature in features:
        trial = feature.change(trial)
    if not _asked(trial):
        return False
    if trial.derivative is not None:
        DERIVATIVES[trial.derivative](trial)
    elif trial.many and trial.host == "run":
        _ensemble(trial)
    else:
        HOSTS[trial.host](trial)
    return True


def _asked(trial: Trial) -> bool:
    """Whether some call takes all of it."""
    shipped = trial.host in ("fmu", "bundle", "float")
    single = trial.derivative in ("gradient", "linearization", "periodic")
    if single and (trial.host != "run" or trial.many or "snapshot" in trial.kept):
        return False
    if trial.derivative == "linearization" and trial.run:
        return False
    if trial.derivative == "sensitivities" and (shipped or trial.host in ENVIRONMENTS):
        return False
    if trial.many and (
        shipped or trial.host in ("stepper", "env") or ("snapshot" in trial.kept and trial.host == "run")
    ):
        return False
    if shipped and ("project" in trial.run or "pickle" in trial.kept):
        return False
    return not ("snapshot" in trial.kept and trial.host in (*ENVIRONMENTS, "study"))


def close(trial: Trial, found: Callable[[str], Any], factor: float = 1.0, run: int = 0) -> None:
    """Compare coordinates at the end with the closed forms."""
    for name, value in trial.expected(END, run).items():
        error = abs(float(found(name)) - factor * value)
        assert error < trial.tolerance, f"{name} = {float(found(name))!r} instead of {factor * value!r}"


def again(trial: Trial, result: Any) -> Any:
    """The result, or with "pickle" what comes out of its pickle."""
    return pickle.loads(pickle.dumps(result)) if "pickle" in trial.kept else result


def _given(trial: Trial) -> tuple[Any, Any, Any]:
    return trial.start(), trial.numbers(), trial.inputs()


def _alone(trial: Trial) -> None:
    if "snapshot" in trial.kept:
        _stepper(trial)
        return
    sol = again(trial, trial.model.integrate((0, END), *_given(trial), **trial.run, **trial.seeded))
    assert sol.success, sol.message
    close(trial, lambda name: sol[name][-1])


def _advanced(trial: Trial, run: Any) -> Any:
    """A stepper or a batch brought to END in three steps, and with "snapshot" once more from the first."""
    run.advance(0.3)
    run = again(trial, run)
    saved = run.save() if "snapshot" in trial.kept else None
    run.advance_by(0.3)
    run.advance(END)
    if saved is not None:
        end = run.y.tobytes()
        run.restore(saved)
        run.advance(0.6)
        run.advance(END)
        assert run.y.tobytes() == end
    return run


def _stepper(trial: Trial, **more: Any) -> Any:
    run = trial.model.stepper(*_given(trial), **trial.run, **trial.seeded, **more)
    run = _advanced(trial, run)
    close(trial, lambda name: run[name])
    return run


def _starts(trial: Trial) -> dict[str, Any]:
    return {**trial.start(), "q": np.array(SCALES)}


def _each(trial: Trial, q: Any, others: Callable[[str], Any]) -> None:
    """Compare several runs: the spring's by scale, one of the others' that all have in common."""
    want = trial.expected(END)["q"] * np.array(SCALES)
    assert np.abs(np.asarray(q, float) - want).max() < trial.tolerance, f"q = {q} instead of {want}"
    found = {name: others(name) for name in trial.expected(END) if name != "q"}
    for i in range(len(SCALES)):
        row = {"q": want[0], **{name: values[i] for name, values in found.items()}}
        close(trial, row.__getitem__, run=i)


def _for_all(trial: Trial) -> dict[str, Any]:
    """The arguments of calls for several runs."""
    given = {"initial": _starts(trial), "parameters": trial.numbers(), "inputs": trial.inputs()}
    return {**given, **trial.many, **trial.run, **trial.seeded}


def _ensemble(trial: Trial, **more: Any) -> Any:
    many = again(trial, cg.ensemble(trial.model, (0, END), progress=False, **_for_all(trial), **more))
    assert many.success, many.status
    _each(trial, many["q"], lambda name: many[name])
    return many


def _batch(trial: Trial, **more: Any) -> Any:
    batch = _advanced(trial, trial.model.batch(n=len(SCALES), **_for_all(trial), **more))
    assert not len(batch.failed)
    _each(trial, batch["q"], lambda name: batch[name])
    return batch


def _task(trial: Trial) -> dict[str, Any]:
    """What an environment of reinforcement learning is made with."""
    return {
        "dt": END / 4,
        "actions": {"A": (-1, 1)},
        "observations": sorted(trial.expected(END)),
        "reward": "q",
        "initial": trial.start(),
        "parameters": trial.numbers(),
        "inputs": trial.inputs(),
        **trial.run,
    }


def _stepped(trial: Trial, env: Any, *count: int) -> tuple[Any, Any]:
    """What is seen of an environment at the end, and its last reward."""
    env = again(trial, env)
    env.reset(seed=0)
    for _ in range(4):
        seen, reward, *_ = env.step(np.full((*count, 1), ACTION, np.float32))
    return seen, reward


def _gym(trial: Trial) -> None:
    import chaplygin.gym

    task = _task(trial)
    env = chaplygin.gym.VectorEnv(trial.model, len(SCALES), **task, **trial.many)
    seen, reward = _stepped(trial, env, len(SCALES))
    close(trial, lambda name: seen[-1][task["observations"].index(name)], run=len(SCALES) - 1)
    assert abs(reward[0] - math.cos(2 * END)) < trial.tolerance


def _env(trial: Trial) -> None:
    import chaplygin.gym

    task = _task(trial)
    env = chaplygin.gym.Env(trial.model, **task)
    seen, reward = _stepped(trial, env)
    close(trial, lambda name: seen[task["observations"].index(name)])
    assert abs(reward - trial.expected(END)["q"]) < trial.tolerance


def _study(trial: Trial, **more: Any) -> None:
    collect = {"end": cg.final(*sorted(trial.expected(END)))}
    study = cg.study(trial.model, (0, END), collect=collect, progress=False, **_for_all(trial), **more)
    end = again(trial, study).results["end"]
    _each(trial, end["q"], lambda name: end[name])


def _fmu(trial: Trial) -> None:
    import fmpy
    from fmus import Fmu

    model = trial.model
    with tempfile.TemporaryDirectory() as folder:
        start = {"initial": trial.start(), "parameters": trial.numbers(), "inputs": trial.inputs()}
        path = str(model.export_fmu(Path(folder) / "parts.fmu", **start))
        fmpy.extract(path, f"{folder}/unpacked")
        fmu = Fmu(None, model, path, f"{folder}/unpacked", "3.0")
        with fmu.instance("CoSimulation", start=False) as instance:
            for name in ("method", "step"):
                put = instance.setString if name == "method" else instance.setFloat64
                if name in trial.run:
                    put(fmu.references([f"solver.{name}"]), [trial.run[name]])
            instance.enterInitializationMode(tolerance=1e-9)
            instance.exitInitializationMode()

            def rest() -> list[float]:
                for i in range(5, 10):
                    instance.doStep(END * i / 10, END / 10)
                names = sorted(trial.expected(END))
                return list(instance.getFloat64(fmu.references(names)))

            for i in range(5):
                instance.doStep(END * i / 10, END / 10)
            saved = instance.getFMUState() if "snapshot" in trial.kept else None
            found = rest()
            if saved is not None:
                instance.setFMUState(saved)
                assert rest() == found
                instance.freeFMUState(saved)
            close(trial, dict(zip(sorted(trial.expected(END)), found)).__getitem__)


def _bundle(trial: Trial, scalar: str = "double") -> None:
    """The example of a bundle saves its run, and repeats the second half; it adds to inputs 0.0045 on an average."""
    from c_bundles import Exported

    method = trial.run.get("method", "dop853")
    with tempfile.TemporaryDirectory() as folder:
        model = trial.model
        start = {"initial": trial.start(), "parameters": trial.numbers(), "inputs": trial.inputs()}
        place = model.export_c(Path(folder) / "bundle", (method,), scalar, **start)
        made = Exported(None, model, place, method)
        printed = made.printed(made.built("gcc", "-O1")).splitlines()
    found = {name: float(value) for name, value in (line.split(" = ") for line in printed)}
    if "r" in found:  # R'' is 0.0045 larger too
        found["r"] -= 0.0045 * END**2 / 2
        assert abs(found["r"] - moved(trial.motion, END)) < 1e-4
        found["r"] = moved(trial.motion, END)
    if "d" in found:
        found["d"] -= 0.0045 * END**2 / 2
        assert abs(found["d"] - driven(trial.force, END)) < 1e-4
        found["d"] = driven(trial.force, END)
    close(trial, found.__getitem__)


def _slope(t: float) -> float:
    """dq/dk of cos(sqrt(k) t)."""
    w = math.sqrt(NUMBERS["k"])
    return -t * math.sin(w * t) / (2 * w)


def _sensitivities(trial: Trial) -> None:
    names = ["k"]
    if trial.many and trial.host == "run":
        found = _ensemble(trial, sensitivities=names).sensitivity["q", "k"] / SCALES
    elif trial.host == "batch":
        found = _batch(trial, sensitivities=names).sensitivity["q", "k"] / SCALES
    elif trial.host == "study":
        _study(trial, sensitivities=names)
        return
    elif trial.host == "stepper" or "snapshot" in trial.kept:
        found = _stepper(trial, sensitivities=names).sensitivity["q", "k"]
    else:
        sol = trial.model.integrate(
            (0, END), *_given(trial), sensitivities=names, **trial.run, **trial.seeded
        )
        sol = again(trial, sol)
        assert sol.success, sol.message
        found = sol.sensitivity["q", "k"][-1]
    assert np.abs(found - _slope(END)).max() < 1e-6, f"dq/dk = {found} instead of {_slope(END)}"


def _gradient(trial: Trial) -> None:
    found = trial.model.gradient(cg.final("q"), (0, END), *_given(trial), by=["k"], **trial.run)
    found = again(trial, found)
    assert abs(found.value - math.cos(2 * END)) < trial.tolerance
    assert abs(found["k"] - _slope(END)) < 1e-6, f"dq/dk = {found['k']} instead of {_slope(END)}"


def _at_rest(trial: Trial) -> dict[str, Any]:
    """Everything rests in the field of `hold`, and inputs are 0 in the way in which they are given."""
    inputs: dict[str, Any] = trial.inputs()
    if "rated" in trial.parts:
        inputs = {"R": 0.0} if trial.motion is LIFT else {"R": (CURVE[0], [0.0] * 4, "cubic")}
    elif inputs:
        force = inputs["F"]
        if force is NOISE:
            return {"parameters": trial.numbers(rest=True), "inputs": inputs}
        zero = (
            (lambda t, y: 0.0)
            if callable(force)
            else ([0.0, 9.0], [0.0, 0.0], *force[2:])
            if trial.force
            else 0.0
        )
        inputs = {"F": zero}
    return {"parameters": trial.numbers(rest=True), "inputs": inputs}


STIFF = math.sqrt(7.0)
"""The frequency of the spring together with `hold`."""


def _linearization(trial: Trial) -> None:
    found = trial.model.linearize(state=trial.start(rest=True), t=0, **_at_rest(trial))
    values = again(trial, found).eigenvalues
    assert np.abs(values - 1j * STIFF).min() < 1e-9, values


def _periodic(trial: Trial) -> None:
    start = {**trial.start(rest=True), "q": 1.0}
    period = 2 * math.pi / STIFF
    guess = period * (
        1.0 if trial.force or trial.motion is CURVE else 1.01
    )  # it is not searched for where an input varies
    orbit = trial.model.periodic(start, guess, **_at_rest(trial), **trial.run)
    assert abs(again(trial, orbit).period - period) < 1e-8, orbit


HOSTS: Mapping[str, Callable[[Trial], Any]] = {
    "run": _alone, "stepper": _stepper, "batch": _batch, "gym": _gym, "env": _env, "study": _study, "fmu": _fmu,
    "bundle": _bundle, "float": lambda trial: _bundle(trial, "float"),
}  # fmt: skip
DERIVATIVES: Mapping[str, Callable[[Trial], None]] = {
    "sensitivities": _sensitivities, "gradient": _gradient, "linearization": _linearization, "periodic": _periodic,
}  # fmt: skip
